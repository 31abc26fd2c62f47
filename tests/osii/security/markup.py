"""Finding markup that came from a text: a payload that tries every way out, and a reader that says where it got out."""

from collections.abc import Iterator
from html.parser import HTMLParser

LONG = "javascript:\"'></script><xss onxss=1>"
"""As an address it runs, in an attribute it ends it, in a script it ends it, in a text it makes an element."""
SHORT = "\"'><xss onxss>"
_ADDRESSES = {"href", "src", "action", "formaction", "data", "xlink:href", "srcdoc", "hx-get", "hx-post", "poster"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "xss":
            self.found.append("an element")
        for name, value in attrs:
            if name == "onxss" or (name.startswith("on") and name != "once"):
                self.found.append(f"<{tag} {name}>")
            if name in _ADDRESSES and (value or "").strip().lower().startswith(
                ("javascript:", "vbscript:", "data:text")
            ):
                self.found.append(f"<{tag} {name}={(value or '')[:40]}>")
            if name in {"style", "srcdoc"}:
                self.found.append(f"<{tag} {name}>")

    handle_startendtag = handle_starttag


def escaped_from(html: str) -> Iterator[str]:
    """Where a payload became markup; each line of the answer names one."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    yield from reader.found
    if "<xss" in html.lower():
        yield "an unescaped payload"
