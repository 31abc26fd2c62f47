"""Spreadsheets: each sheet a page and a table."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractionFailed
from ..limits import MIB, Limits
from .base import Extractor, Option, SourceFile
from .flow import Flow, Piece, lacking, table, tool
from .packages import opened

MAX_CELLS = 5_000_000


class XlsxExtractor(Extractor):
    name = "xlsx"
    version = "1.0"
    label = "Spreadsheet (Excel)"
    media_types = ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",)
    options: ClassVar[Mapping[str, Option]] = {
        "hidden_sheets": Option(default=True, help="whether sheets that are hidden are read too"),
    }
    limits = Limits(wall_seconds=300, cpu_seconds=300, memory_bytes=3072 * MIB)

    def ready(self) -> str:
        return lacking("openpyxl", "defusedxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        with opened(source.path) as package:
            has_formulas = any(_mentions_formula(package, name) for name in package.namelist())
            values = _load(source, data_only=True)
            formulas = _load(source, data_only=False) if has_formulas else None
            bundle.source |= {"media_type": source.media_type, "formulas": has_formulas}
            bundle.tools |= tool("openpyxl", "defusedxml")
            flow = Flow(bundle, "xlsx", "sheet")
            budget = _Budget()
            for number, sheet in enumerate(values.worksheets, start=1):
                if sheet.sheet_state != "visible" and not options["hidden_sheets"]:
                    continue
                bundle.units_attempted += 1
                found = table(budget.spent(_rows(sheet, formulas.worksheets[number - 1] if formulas else None)))
                if found is not None:
                    flow.page(number, [Piece("heading", sheet.title, 1), found], sheet=sheet.title)
                bundle.units_completed += 1
            if values.chartsheets:
                bundle.errors.append(f"{len(values.chartsheets)} sheets that are charts have no text")


class _Budget:
    """How many cells of the workbook may still be read."""

    def __init__(self) -> None:
        self._left = MAX_CELLS

    def spent(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        for row in rows:
            self._left -= len(row)
            if self._left < 0:
                raise ExtractionFailed("too_large", f"the workbook has more than {MAX_CELLS:,} cells")
            yield row


def _mentions_formula(package: Any, name: str) -> bool:
    if not name.startswith("xl/worksheets/"):
        return False
    before = b""
    with package.open(name) as member:
        while block := member.read(MIB):
            if b"<f>" in before + block or b"<f " in before + block:
                return True
            before = block[-3:]
    return False


def _load(source: SourceFile, *, data_only: bool) -> Any:
    import warnings

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    warnings.simplefilter("ignore")  # parts that openpyxl passes over
    try:
        # By the open file: it would refuse a path without the right suffix.
        return load_workbook(source.path.open("rb"), read_only=True, data_only=data_only, keep_links=False)
    except (InvalidFileException, TypeError, OSError) as error:
        raise ExtractionFailed("damaged", f"this is no workbook, or a damaged one: {error}") from None


def _rows(sheet: Any, formulas: Any) -> Iterator[list[str]]:
    """The rows that are not empty, as text; a formula that no program has computed yet as it is written."""
    sheet.reset_dimensions()  # a sheet may claim a million rows that it does not have
    written = iter(())
    if formulas is not None:
        formulas.reset_dimensions()
        written = formulas.iter_rows(values_only=True)
    for row in sheet.iter_rows(values_only=True):
        as_written = next(written, ())
        cells = [
            _text(value if value is not None or index >= len(as_written) else as_written[index])
            for index, value in enumerate(row)
        ]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    isoformat = getattr(value, "isoformat", None)
    return isoformat().removesuffix("T00:00:00") if isoformat is not None else str(value)
