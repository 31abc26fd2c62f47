"""Chunks: pieces of the text that end at paragraphs and sentences where they can, each with its exact place."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from extraction.claims.language import detect_language
from extraction.documents.cutting import cut

from .base import Made, Method, MethodRefused, Option, OutputFailed, Piece, Source
from .models import OutputKind


class Sentences(Method):
    """Cut by the library semantic-text-splitter: at the widest boundary that fits, from blank lines down to letters."""

    kind = OutputKind.CHUNKS
    name = "sentences"
    version = "1"
    label = "Paragraphs and sentences"
    options = {
        "chunk_size": Option(
            800, "The most characters of a chunk; what a model reads of one is bounded too.", least=100, most=20_000
        ),
        "chunk_overlap": Option(100, "At most so many characters of the one before are repeated.", least=0, most=5000),
    }

    def resolve(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        values = super().resolve(given)
        if values["chunk_overlap"] * 2 > values["chunk_size"]:
            raise MethodRefused("wrong_option", "sentences: chunk_overlap must be at most half of chunk_size")
        return values

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        places = Places(source.segments)
        pieces: list[Piece] = []
        size, overlap = options["chunk_size"], options["chunk_overlap"]
        for start, text in cut(source.text, size, overlap, source.checkpoint):
            end = start + len(text)
            segment_ids, pages = places.of(start, end)
            language = detect_language(text, source.language)
            pieces.append(Piece(start, end, text, segment_ids, pages, language))
        if not pieces:
            raise OutputFailed("no_chunks", "the text has nothing but white space")
        return Made(pieces=pieces, counts={"chunks": len(pieces), "characters": len(source.text)})


class Places:
    """Which segments and pages of a manifest a span of the text touches. Segments may lie inside of each other."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._starts = [row["span"]["char_start"] for row in rows]
        self._reach = list(accumulate((row["span"]["char_end"] for row in rows), max))

    def of(self, start: int, end: int) -> tuple[list[str], list[int]]:
        """Ids in the order of the text, and page numbers ascending."""
        ids: list[str] = []
        pages: set[int] = set()
        at = bisect_left(self._starts, end) - 1
        while at >= 0 and self._reach[at] > start:
            row = self._rows[at]
            if row["span"]["char_end"] > start:
                ids.append(row["id"])
                page = (row.get("source_origin") or {}).get("page")
                if isinstance(page, int):
                    pages.add(page)
            at -= 1
        return ids[::-1], sorted(pages)
