"""PDF with a text layer: the text alone (`pdf`), or with its tables (`pdf-tables`)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractionFailed
from ..limits import MIB, Limits
from . import pdfium
from .base import Extractor, Option, SourceFile
from .flow import Box, Flow, Piece, lacking, table, tool

PDF = "application/pdf"


class PdfExtractor(Extractor):
    name = "pdf"
    version = "1.0"
    label = "PDF, text layer"
    media_types = (PDF,)
    limits = Limits(wall_seconds=300, cpu_seconds=300)

    def ready(self) -> str:
        return lacking("pypdfium2")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        bundle.tools |= tool("pypdfium2")
        bundle.source |= {"media_type": source.media_type}
        with pdfium.opened(source.path) as document:
            bundle.source |= {"title": document.get_metadata_dict().get("Title", ""), "pages": len(document)}
            _Pages(document, bundle).write(self._pieces(source, options))

    def _pieces(self, source: SourceFile, options: Mapping[str, Any]) -> Any:
        return lambda number, lines: pdfium.paragraphs(lines)


class PdfTablesExtractor(PdfExtractor):
    name = "pdf-tables"
    version = "1.0"
    label = "PDF, text layer and tables (slower)"
    options: ClassVar[Mapping[str, Option]] = {
        "borders": Option("lines", "what separates cells: printed lines, or the gaps between words", ("lines", "text")),
    }
    limits = Limits(wall_seconds=900, cpu_seconds=900, memory_bytes=3072 * MIB)

    def ready(self) -> str:
        return lacking("pypdfium2", "pdfplumber")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        bundle.tools |= tool("pdfplumber", "pdfminer.six")
        super().extract(source, bundle, options)

    def _pieces(self, source: SourceFile, options: Mapping[str, Any]) -> Any:
        import pdfplumber

        plumber = pdfplumber.open(source.path)
        settings = {"vertical_strategy": options["borders"], "horizontal_strategy": options["borders"]}

        def pieces(number: int, lines: Sequence[pdfium.Line]) -> list[Piece]:
            page = plumber.pages[number - 1]
            try:
                found = [table(_cells(grid), _box(grid, page)) for grid in page.find_tables(settings)]
            finally:
                page.close()  # else every page stays in memory
            return _with_tables(lines, [piece for piece in found if piece is not None and piece.rows is not None])

        return pieces


class _Pages:
    """Reads page after page, notes those without text, and tells at the end when there was none."""

    def __init__(self, document: Any, bundle: Bundle) -> None:
        self._document, self._bundle = document, bundle
        self._flow = Flow(bundle, "pdf")
        self._scanned: list[int] = []
        self._written = 0

    def write(self, pieces: Any) -> None:
        from pypdfium2 import PdfiumError

        for number in range(1, len(self._document) + 1):
            self._bundle.units_attempted += 1
            try:
                page = self._document[number - 1]
            except PdfiumError as error:
                self._bundle.errors.append(f"page {number} cannot be read: {error}")
                continue
            try:
                lines = pdfium.text_lines(page)
                if pdfium.is_scanned(page, lines):
                    self._scanned.append(number)
                self._written += self._flow.page(number, pieces(number, lines))
                self._bundle.units_completed += 1
            finally:
                page.close()
        self._judge()

    def _judge(self) -> None:
        scanned = len(self._scanned)
        if scanned > self._written / 2 and scanned > (self._written - scanned):
            raise ExtractionFailed(
                "no_text_layer",
                f"{scanned} of {len(self._document)} pages are images without text: they need an extractor that reads images",
            )
        if self._scanned:
            listed = ", ".join(map(str, self._scanned[:50]))
            self._bundle.errors.append(f"{scanned} pages are images without text, among them {listed}")


def _cells(grid: Any) -> list[list[str]]:
    return [[cell or "" for cell in row] for row in grid.extract()]


def _box(grid: Any, page: Any) -> Box:
    left, top, right, bottom = page.bbox
    x0, y0, x1, y1 = grid.bbox
    width, height = (right - left) or 1, (bottom - top) or 1
    return pdfium.united([((x0 - left) / width, (y0 - top) / height, (x1 - left) / width, (y1 - top) / height)])


def _with_tables(lines: Sequence[pdfium.Line], tables: Sequence[Piece]) -> list[Piece]:
    """Paragraphs and tables in reading order: a table stands where the first of its lines stood."""
    pieces: list[Piece] = []
    before: list[pdfium.Line] = []
    placed: list[Piece] = []
    for line in lines:
        home = next((found for found in tables if _is_inside(line, found)), None)
        if home is None:
            before.append(line)
        elif home not in placed:
            placed.append(home)
            pieces += [*pdfium.paragraphs(before), home]
            before = []
    pieces += pdfium.paragraphs(before)
    # Tables whose lines have no known place.
    return pieces + [found for found in tables if found not in placed]


def _is_inside(line: pdfium.Line, found: Piece) -> bool:
    if line.bbox is None or found.bbox is None:
        return False
    x, y = (line.bbox[0] + line.bbox[2]) / 2, (line.bbox[1] + line.bbox[3]) / 2
    return found.bbox[0] <= x <= found.bbox[2] and found.bbox[1] <= y <= found.bbox[3]
