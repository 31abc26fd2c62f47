"""The pages of an image file or a PDF as pictures for text recognition."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ExtractionFailed
from . import pdfium
from .base import SourceFile
from .flow import Piece
from .pdf import PDF

DPI = 200
MAX_PIXELS = 60_000_000
"""A page of A2 at 200 dpi has 15 million; larger PDF pages are drawn smaller, larger images refused."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A page: the image to read (a PIL image), or the ``pieces`` of its text layer where it has one."""

    number: int
    image: Any = None
    pieces: tuple[Piece, ...] = ()


def count(source: SourceFile) -> int:
    """How many pages there are. Raises ExtractionFailed when the file cannot be read."""
    if source.media_type == PDF:
        with pdfium.opened(source.path) as document:
            return len(document)
    with _image(source) as image:
        return getattr(image, "n_frames", 1)


def pictures(source: SourceFile, *, every: bool) -> Iterator[Picture]:
    """The pages; those of a PDF that have a text layer are drawn only when ``every`` is set."""
    if source.media_type == PDF:
        yield from _drawn(source, every=every)
        return
    with _image(source) as image:
        for number in range(getattr(image, "n_frames", 1)):
            try:
                image.seek(number)
                yield Picture(number + 1, image.convert("L"))
            except (OSError, ValueError, SyntaxError) as error:
                raise ExtractionFailed("damaged", f"image {number + 1} cannot be read: {error}") from None


def _image(source: SourceFile) -> Any:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the size is looked at here, before the image is unpacked
    try:
        image = Image.open(source.path)
    except UnidentifiedImageError:  # its message names a path of ours
        raise ExtractionFailed("damaged", "the image cannot be read: it is cut off, or of an unknown kind") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise ExtractionFailed("damaged", f"the image cannot be read: {error}") from None
    if image.width * image.height > MAX_PIXELS:
        raise ExtractionFailed(
            "too_large", f"the image has {image.width:,} × {image.height:,} pixels; {MAX_PIXELS:,} are the most"
        )
    return image


def _drawn(source: SourceFile, *, every: bool) -> Iterator[Picture]:
    with pdfium.opened(source.path) as document:
        for index in range(len(document)):
            page = document[index]
            try:
                lines = [] if every else pdfium.text_lines(page)
                if sum(len(line.text.strip()) for line in lines) >= pdfium.FEW_CHARS:
                    yield Picture(index + 1, pieces=tuple(pdfium.paragraphs(lines)))
                else:
                    yield Picture(index + 1, _draw(page))
            finally:
                page.close()


def _draw(page: Any) -> Any:
    width, height = page.get_size()
    scale = min(DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
    return page.render(scale=scale, grayscale=True).to_pil()
