"""PDF through PDFium: opening it, and the lines of its text layer with their places."""

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ExtractionFailed
from .flow import Box, Piece

# PDFium's mark for a hyphen that only stands there because a line ends.
SOFT_HYPHENS = ("\ufffe", "\x02")
FEW_CHARS = 20
"""A page with an image and fewer characters is a scanned one: scanners stamp a number or a name on it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text as it is printed; ``bbox`` where it is known."""

    text: str
    bbox: Box | None


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The document. Raises ExtractionFailed: encrypted, damaged, no_text."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD or "password" in str(error).lower():
            raise ExtractionFailed("encrypted", "the PDF asks for a password: save it without one") from None
        raise ExtractionFailed("damaged", f"the PDF cannot be read: {error}") from None
    try:
        if not len(document):
            raise ExtractionFailed("no_text", "the PDF has no pages")
        yield document
    finally:
        document.close()


def text_lines(page: Any) -> list[Line]:
    """The lines of the text layer in reading order."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    try:
        text = textpage.get_text_range()
        # Places are counted in PDFium's characters: known where these are the text's own.
        place = _places(page, textpage.raw, raw) if len(text) == textpage.count_chars() else None
        lines, offset = [], 0
        for printed in text.split("\r\n"):
            visible = printed.strip()
            begin = offset + len(printed) - len(printed.lstrip())
            lines.append(Line(printed.rstrip(), place(begin, len(visible)) if place and visible else None))
            offset += len(printed) + 2
        return lines
    finally:
        textpage.close()


def _places(page: Any, textpage: Any, raw: Any) -> Any:
    """A function from (first character, how many) to their box on the page as it is shown."""
    left, bottom, right, top = page.get_cropbox()
    width, height = (right - left) or 1.0, (top - bottom) or 1.0
    turned = page.get_rotation()
    sides = [ctypes.c_double() for _ in range(4)]

    def place(begin: int, count: int) -> Box | None:
        boxes = []
        for number in range(raw.FPDFText_CountRects(textpage, begin, count)):
            # PDFium gives left, top, right, bottom.
            if raw.FPDFText_GetRect(textpage, number, *(ctypes.byref(side) for side in sides)):
                x0, y0, x1, y1 = (side.value for side in sides)
                boxes.append(((x0 - left) / width, (top - y0) / height, (x1 - left) / width, (top - y1) / height))
        return _turned(united(boxes), turned) if boxes else None

    return place


def _turned(box: Box, degrees: int) -> Box:
    """The box on a page that is shown turned clockwise."""
    x0, y0, x1, y1 = box
    match degrees:
        case 90:
            return (1 - y1, x0, 1 - y0, x1)
        case 180:
            return (1 - x1, 1 - y1, 1 - x0, 1 - y0)
        case 270:
            return (y0, 1 - x1, y1, 1 - x0)
    return box


def united(boxes: Sequence[Box]) -> Box:
    """The smallest box around all, inside of the page."""
    sides = (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
    left, top, right, bottom = (min(1.0, max(0.0, side)) for side in sides)
    return left, top, right, bottom


def paragraphs(lines: Sequence[Line]) -> list[Piece]:
    """Lines that stand close together as one paragraph; words that a line end broke in two are put together."""
    groups: list[list[Line]] = []
    previous: Line | None = None
    for line in lines:
        if not line.text.strip():
            previous = None
            continue
        if previous is None or _apart(previous, line):
            groups.append([])
        groups[-1].append(line)
        previous = line
    return [_paragraph(group) for group in groups]


def _apart(before: Line, after: Line) -> bool:
    """Whether two lines in a row belong to different paragraphs; False when their places are not known."""
    if before.bbox is None or after.bbox is None:
        return False
    heights = (before.bbox[3] - before.bbox[1], after.bbox[3] - after.bbox[1])
    height = max(heights)
    gap = after.bbox[1] - before.bbox[3]
    beside = after.bbox[0] > before.bbox[2] or after.bbox[2] < before.bbox[0]
    # Boxes are as high as the letters in them, so only a large difference tells a heading.
    return gap > 0.9 * height or gap < -height or beside or height > 1.5 * min(heights)


def _paragraph(lines: Sequence[Line]) -> Piece:
    text = ""
    for line in lines:
        joined = text.endswith(SOFT_HYPHENS)
        text = text[:-1] + line.text.lstrip() if joined else f"{text}\n{line.text}" if text else line.text
    # A soft hyphen that ends the paragraph, and those that PDFium leaves inside of lines.
    for mark in SOFT_HYPHENS:
        text = text.replace(mark, "-")
    boxes = [line.bbox for line in lines if line.bbox is not None]
    return Piece("paragraph", text, bbox=united(boxes) if boxes else None)


def is_scanned(page: Any, lines: Sequence[Line]) -> bool:
    """Whether the page shows an image and has next to no text."""
    from pypdfium2 import raw

    if sum(len(line.text.strip()) for line in lines) >= FEW_CHARS:
        return False
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4))
