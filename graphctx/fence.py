"""The fence around a steer's block, and what is hidden of a text that holds one.

Whoever reads a transcript recognises an injected block by this fence and takes nothing in it for evidence; so no
text inside a block may open or close one. A block comes back in many forms: a tool escapes it for JSON or HTML, a
model changes its case or its spaces, a log keeps only its end. In doubt more is hidden, never less.
"""

import re
from collections.abc import Iterable, Sequence

NAME = "osii-context"
MASK = "\N{LIGHT SHADE}"

# Invisible characters, and the blanks that JSON, HTML and addresses write in place of blanks.
_UNSEEN = "[\u00ad\u200b-\u200f\u2060\ufeff]"
_GAP = rf"(?:\s|{_UNSEEN}|\\++[nrt]|&nbsp;|&#0*(?:32|9|10|13);|%(?:25)*+(?:20|0a|09))*+"
# The look-behind lets a match begin only where a run of backslashes begins: else a long run takes quadratic time.
_OPENS = r"(?:[<＜﹤]|&(?:amp;)*+(?:lt|#0*60|#x0*3c);?|(?<!\\)\\++(?:u00|x|u\{)3c\}?|%(?:25)*+3c)"
_SLASH = r"(?:\\*+[/／]|&(?:amp;)*+(?:sol|#0*47|#x0*2f);?|\\++(?:u00|x)2f|%(?:25)*+2f)"
_ENDS = r"(?:[>＞﹥]|&(?:amp;)*+(?:gt|#0*62|#x0*3e);?|\\++(?:u00|x|u\{)3e\}?|%(?:25)*+3e)"
_WORD = f"{_UNSEEN}*+".join("[-_\u2010-\u2015\u2212\ufe63\uff0d]" if letter == "-" else letter for letter in NAME)
_TAG = re.compile(
    rf"{_OPENS}{_GAP}(?P<close>{_SLASH}{_GAP})?+{_WORD}(?!\w)(?:(?(close){_GAP}{_ENDS}|(?!)))?", re.IGNORECASE
)
_OPENER = re.compile(r"[<＜﹤&\\%]")
"""What every tag begins with: most texts have none of it, and looking for it is many times as fast as for a tag."""
_BEGINS_TAG = re.compile(rf"{_OPENS}(?={_GAP}(?:{_SLASH}{_GAP})?+{_WORD})", re.IGNORECASE)


def one_line(text: str) -> str:
    """The text as one line that cannot open or close the fence: blanks collapsed, control characters blanks too."""
    without_controls = "".join(" " if char < " " or "\x7f" <= char <= "\x9f" else char for char in text)
    return _BEGINS_TAG.sub("‹", " ".join(without_controls.split()))


def masked(texts: Iterable[str]) -> list[str]:
    """Texts that follow each other, with every block replaced character by character, so that spans stay right.

    A block that is not closed reaches through the texts that follow; an end without a beginning hides what stands
    before it in its text.
    """
    depth = 0
    hidden = []
    for text in texts:
        spans, depth = _blocks(text, depth)
        hidden.append(cover(text, spans, MASK))
    return hidden


def _blocks(text: str, depth: int) -> tuple[list[tuple[int, int]], int]:
    """The spans of the blocks in a text that begins ``depth`` blocks deep, and how deep it ends."""
    spans: list[tuple[int, int]] = []
    start = 0
    for tag in _TAG.finditer(text) if _OPENER.search(text) else ():
        if tag["close"] is None:
            start = start if depth else tag.start()
            depth += 1
            continue
        depth = max(depth - 1, 0)
        if not depth:
            spans.append((start, tag.end()))
            start = tag.end()
    if depth:
        spans.append((start, len(text)))
    return spans, depth


def cover(text: str, spans: Sequence[tuple[int, int]], mask: str) -> str:
    """The text with each span replaced by as many ``mask`` characters."""
    pieces = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            pieces += [text[at : max(at, start)], mask * (end - max(at, start))]
            at = end
    return "".join([*pieces, text[at:]])
