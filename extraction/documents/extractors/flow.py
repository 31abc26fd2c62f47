"""Writes pages of pieces into a bundle: the text, a segment for each page and piece, tables as files beside.

Every extractor of structured files goes through here, so their bundles look alike.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from coverage.cells import safe_row

from ..bundle import Bundle

GAP = "\n\n"
MAX_TABLES = 2_000
"""Tables kept as files; later ones are in the text alone, and provenance says so."""

Rows = Sequence[Sequence[str]]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom as shares of the page's width and height, from its upper left corner."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A heading, paragraph, list item, table, … ``rows`` where it is a table; ``level`` where it is a heading."""

    type: str
    text: str
    level: int = 0
    rows: Rows | None = None
    bbox: Box | None = None


def clean(text: str) -> str:
    """Line ends as \\n, no white space around; NUL and half surrogate pairs become U+FFFD, so that validation counts them."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip()


def table(rows: Iterable[Iterable[str]], bbox: Box | None = None) -> Piece | None:
    """A table piece; a paragraph when there is one column; None when every cell is empty.

    Empty rows, and columns empty in every row, are left out.
    """
    cells = [row for row in ([" ".join(clean(cell).split()) for cell in row] for row in rows) if any(row)]
    kept = sorted({column for row in cells for column, cell in enumerate(row) if cell})
    if not kept:
        return None
    grid = [[row[column] if column < len(row) else "" for column in kept] for row in cells]
    if len(kept) == 1:
        return Piece("paragraph", "\n".join(row[0] for row in grid), bbox=bbox)
    return Piece("table", "\n".join(" | ".join(row).rstrip() for row in grid), rows=grid, bbox=bbox)


def _gap(before: Piece, after: Piece) -> str:
    return "\n" if before.type == after.type == "list_item" else GAP


class Flow:
    """``source_type`` names the kind of file, ``unit_type`` what its pages are called (page, slide, sheet, chapter)."""

    def __init__(self, bundle: Bundle, source_type: str, unit_type: str = "page") -> None:
        self._bundle = bundle
        self._source_type = source_type
        self._unit_type = unit_type
        self._headings: list[tuple[int, str]] = []
        self._tables = 0
        self._begun = False

    def page(self, number: int | None, pieces: Iterable[Piece], **origin: Any) -> bool:
        """Write one page, numbered from 1, or a file without pages (None); False when it has no text.

        ``origin`` is added to the origin of each of its segments.
        """
        written = [(piece, text) for piece in pieces if (text := clean(piece.text))]
        if not written:
            return False
        if self._begun:
            self._bundle.write(GAP)
        self._begun = True
        gaps = [_gap(one, next_one) for (one, _), (next_one, _) in pairwise(written)] + [""]
        start, end = self._bundle.write("".join(text + gap for (_, text), gap in zip(written, gaps, strict=True)))
        if number is not None:
            self._bundle.segment(start, end, type=self._unit_type, origin=self._origin(number, None, origin))
        for (piece, text), gap in zip(written, gaps, strict=True):
            self._segment(piece, (start, start + len(text)), self._origin(number, piece.bbox, origin))
            start += len(text) + len(gap)
        return True

    def _origin(self, number: int | None, bbox: Box | None, more: dict[str, Any]) -> dict[str, Any]:
        box = [round(share, 4) for share in bbox] if bbox else None
        return {"source_type": self._source_type, "unit_type": self._unit_type, "page": number, "bbox": box, **more}

    def _segment(self, piece: Piece, span: tuple[int, int], origin: dict[str, Any]) -> None:
        while piece.level and self._headings and self._headings[-1][0] >= piece.level:
            self._headings.pop()
        identity = self._bundle.segment(
            *span,
            type=piece.type,
            origin=origin,
            related=[self._headings[-1][1]] if self._headings else [],
            **({"level": piece.level} if piece.level else {}),
        )
        if piece.level:
            self._headings.append((piece.level, identity))
        if piece.rows is not None:
            self._keep_table(piece.rows, span, origin, identity)

    def _keep_table(self, rows: Rows, span: tuple[int, int], origin: dict[str, Any], segment: str) -> None:
        self._tables += 1
        if self._tables > MAX_TABLES:
            if self._tables == MAX_TABLES + 1:
                self._bundle.errors.append(f"tables after the {MAX_TABLES:,}th are in the text, but not kept as files")
            return
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(map(safe_row, rows))  # the JSON has them as they are
        as_json = json.dumps({"columns": len(rows[0]), "rows": rows}, ensure_ascii=False)
        for suffix, data in (("csv", written.getvalue()), ("json", as_json)):
            self._bundle.artifact(
                f"tables/table-{self._tables:04d}.{suffix}",
                data.encode(),
                kind="table",
                type=suffix,
                origin=origin,
                span=span,
                related=[segment],
            )


def tool(*distributions: str) -> dict[str, str]:
    """Installed versions by name, for provenance."""
    from importlib.metadata import version

    return {name: version(name) for name in distributions}


def lacking(*modules: str) -> str:
    """What `Extractor.ready` answers when a Python package is not installed; imports none of them."""
    from importlib.util import find_spec

    missing = [name for name in modules if find_spec(name) is None]
    return f"not installed: {', '.join(missing)} (install the requirements again)" if missing else ""
