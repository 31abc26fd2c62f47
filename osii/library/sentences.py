"""The sentences of a document's text, each with its exact place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sentencex import segment

AT_ONCE = 4000
"""The segmenter's time grows with the square of what it is given at once."""
_BLOCK = re.compile(r"[^\n\f]+")
_BULLET = re.compile(r"\s*(?:[-*+•–‣◦▪·]|#{1,6}|\(?\d{1,3}[.)])\s+")
_QUOTED = re.compile(r"\s*(?:>\s*)+")
_QUOTE_MARKS = re.compile(r"\n\s*(?:>\s*)+")
_TABLE = re.compile(r".*\|.*\||.*\S \| \S")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``text[start:end]`` of the document, white space at the ends left out."""

    start: int
    end: int
    text: str

    @property
    def line(self) -> str:
        """In one line, without what marks quoted lines."""
        return " ".join(_QUOTE_MARKS.sub(" ", self.text).split())


def sentences(text: str, language: str) -> Iterator[Sentence]:
    """In order. Headings, table rows and lines without letters are left out; hard-wrapped lines are joined."""
    for start, end in _blocks(text):
        for at in range(start, end, AT_ONCE):
            piece = text[at : min(at + AT_ONCE, end)]
            place = 0
            for found in segment(language if language != "und" else "en", piece):
                begin = piece.index(found, place)
                place = begin + len(found)
                body = found.strip()
                if len(_LETTER.findall(body)) < 3:
                    continue
                first = at + begin + found.index(body)
                yield Sentence(first, first + len(body), body)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs and list items. A line that ends without a stop and is long goes on in the next one."""
    open_at = last_end = -1
    quoted = False
    for match in _BLOCK.finditer(text):
        line = match.group()
        silent = not line.strip() or line.lstrip().startswith("#") or _TABLE.match(line) is not None
        bullet = _BULLET.match(line) or _QUOTED.match(line)
        goes_on = (
            open_at >= 0
            and not silent
            and (bullet is None or (quoted and ">" in bullet.group()))
            and match.start() == last_end + 1
            and text[last_end - 1 : last_end] not in ".!?:。！？"
        )
        if open_at >= 0 and not goes_on:
            yield open_at, last_end
            open_at = -1
        if silent:
            continue
        if open_at < 0:
            open_at = match.start() + (bullet.end() if bullet else 0)
        last_end, quoted = match.end(), bullet is not None and ">" in bullet.group()
    if open_at >= 0:
        yield open_at, last_end
