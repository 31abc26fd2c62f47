"""The visible text of HTML as headings, paragraphs, list items and tables. Used for pages, mails and book chapters."""

import re
from collections.abc import Iterator
from typing import Any

from ..errors import ExtractionFailed
from .charsets import decode
from .flow import Piece, table

HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "nav", "ol", "option", "p", "pre",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul",
}  # fmt: skip
TYPES = {"li": "list_item", "pre": "code", "blockquote": "quote"}
UNSEEN = {"script", "style", "noscript", "template", "head", "svg", "iframe", "object", "select", "textarea"}
LONGEST_CELL = 500
"""A table with a longer cell is there for the layout: its content is read as paragraphs."""

CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
XML_CHARSET = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})""")
# lxml refuses a str that names its own encoding.
XML_LINE = re.compile(r"^\s*<\?xml[^>]*\?>")


def decode_html(data: bytes, charset: str = "auto") -> tuple[str, str, str]:
    """(text, encoding, complaint) of an HTML file: mark, what it says of itself, else as `charsets.decode` guesses."""
    declared = XML_CHARSET.search(data[:1024]) or CHARSET.search(data[:4096])
    if charset == "auto" and declared is not None:
        name = declared[1].decode()
        try:
            return data.decode(name), name.lower(), ""
        except (LookupError, UnicodeDecodeError):
            pass  # it says wrong
    return decode(data, charset)


def parse(html: str) -> Any:
    """The lxml tree of a page; None when there is nothing in it. Raises ExtractionFailed "too_deep"."""
    if not html.strip():
        return None
    # Without huge_tree whatever follows an attribute of 10 MB (a picture in the page) would be left out in silence.
    root, whole = _tree(html, huge_tree=True)
    if not whole:
        raise ExtractionFailed("too_deep", "the elements of the page are nested so deeply that it cannot be read whole")
    return root


def is_usual(html: str) -> bool:
    """Whether a parser with the usual limits reads all of the page; one that does not stops in silence."""
    return _tree(html)[1]


def _tree(html: str, **options: Any) -> tuple[Any, bool]:
    """The tree, and whether it is that of the whole page."""
    from lxml import etree

    parser = etree.HTMLParser(remove_comments=False, no_network=True, **options)
    try:
        # Characters that XML does not have: lxml would cut the text at them.
        root = etree.fromstring(XML_LINE.sub("", html.replace("\0", "\ufffd")), parser)
    except etree.XMLSyntaxError:
        if _is_whole(parser):
            raise
        root = None
    return root, _is_whole(parser)


def _is_whole(parser: Any) -> bool:
    from lxml import etree

    return all(error.level != etree.ErrorLevels.FATAL for error in parser.error_log)


def title_of(root: Any) -> str:
    found = root.find(".//title") if root is not None else None
    return " ".join("".join(found.itertext()).split()) if found is not None else ""


def pieces(root: Any) -> Iterator[Piece]:
    """The pieces of a tree in order. Does not recurse, however deep the tree is."""
    from lxml import etree

    if root is None:
        return
    collected = _Collected()
    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start":
            if element.tag in UNSEEN:
                walk.skip_subtree()
            elif element.tag == "table" and (rows := _data_rows(element)) is not None:
                yield from collected.flush()
                found = table(rows)
                if found is not None:
                    yield found
                walk.skip_subtree()
            else:
                if element.tag in BLOCKS or element.tag in HEADINGS:
                    yield from collected.flush()
                collected.start(element)
                collected.add(element.text)
            continue
        if event == "end":
            if element.tag in BLOCKS or element.tag in HEADINGS:
                yield from collected.flush()
            collected.end(element)
        if element is not root:
            collected.add(element.tail)
    yield from collected.flush()


class _Collected:
    """The text since the last block began, and which kind of block that is."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[tuple[Any, str]] = []

    def start(self, element: Any) -> None:
        if element.tag in HEADINGS or element.tag in TYPES:
            self._open.append((element, element.tag))
        elif element.tag == "br":
            self._parts.append("\n")

    def end(self, element: Any) -> None:
        if self._open and self._open[-1][0] is element:
            self._open.pop()

    def add(self, text: str | None) -> None:
        if text:
            kept = self._open and self._open[-1][1] == "pre"
            self._parts.append(text if kept else re.sub(r"[ \t\r\n\f\u00a0]+", " ", text))

    def flush(self) -> Iterator[Piece]:
        text = "".join(self._parts)
        self._parts.clear()
        tag = self._open[-1][1] if self._open else ""
        if tag != "pre":
            text = "\n".join(line for line in (" ".join(part.split()) for part in text.split("\n")) if line)
        if text.strip():
            shown = f"- {text}" if tag == "li" else text
            yield Piece(TYPES.get(tag, "heading" if tag in HEADINGS else "paragraph"), shown, HEADINGS.get(tag, 0))


def _data_rows(element: Any) -> list[list[str]] | None:
    """The cells of a table that holds data; None for one that only arranges the page."""
    if element.get("role") == "presentation" or element.find(".//table") is not None:
        return None
    rows = [[_cell_text(cell) for cell in row.iter("td", "th")] for row in element.iter("tr")]
    rows = [row for row in rows if any(row)]
    if len(rows) < 2 or max(map(len, rows)) < 2 or any(len(cell) > LONGEST_CELL for row in rows for cell in row):
        return None
    return rows


def _cell_text(cell: Any) -> str:
    return " ".join(" ".join(cell.itertext()).split())
