"""The Text tab: a window of one version's text, cut at the pages that its manifest names."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from extraction.documents.bundle import MANIFEST
from extraction.documents.errors import DocumentError
from extraction.documents.store import library_store
from extraction.documents.validation import rows
from extraction.models import Document, ExtractionVersion
from osii.web.reader import WINDOW, Window, read_window

MOST_ROWS = 200_000
"""Rows of a manifest that are looked through for pages."""
PASSAGE = 200
"""Characters that are marked where only the beginning of a passage is known."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the window: ``page`` is set where a page begins, ``marked`` where it is what a link points to."""

    text: str
    page: int | None = None
    marked: bool = False
    first_mark: bool = False


def context(document: Document, version: ExtractionVersion | None, query: Mapping[str, str]) -> dict[str, Any]:
    """What the tab's template needs. ``query``: from (a character), at and to (a passage), page (a page's number)."""
    if version is None or version.status != ExtractionVersion.Status.SUCCEEDED:
        return {"text": "", "pieces": []}
    passage, missing = None, ""
    start = _number(query, "from", 0)
    if (at := _number(query, "at", -1)) >= 0:
        passage = (at, min(max(_number(query, "to", at + PASSAGE), at + 1), at + WINDOW))
        start = at
    elif (wanted := _number(query, "page", -1)) >= 0:
        found = next((place for place, page in _page_starts(version) if page == wanted), None)
        missing = f"This version has no page {wanted:,}." if found is None else ""
        start = start if found is None else found
    window = read_window(version, start)
    pages = _pages_in(version, window) if not window.error else []
    return {
        "text": window.text,
        "text_error": window.error,
        "text_start": window.start + 1,
        "text_end": window.end,
        "text_before": window.start - WINDOW if window.start else None,
        "text_after": window.end if window.end < version.text_chars else None,
        "pieces": list(pieces(window, pages, passage)),
        "has_pages": bool(pages),
        "page_missing": missing,
        "passage": passage,
    }


def pieces(window: Window, pages: list[tuple[int, int]], passage: tuple[int, int] | None) -> Iterator[Piece]:
    """The window cut where a page begins and where the passage begins and ends; together they are its whole text.

    ``pages``: (character, page number), ascending; ``passage``: (first, behind the last) character of the text.
    """
    first, last = passage or (-1, -1)
    named = dict(pages)
    inside = {place for place in (*named, first, last) if window.start <= place < window.end}
    cuts = [window.start, *sorted(inside - {window.start}), window.end]
    for start, end in pairwise(cuts):
        if end > start:
            text = window.text[start - window.start : end - window.start]
            marked = first <= start < last
            yield Piece(text, named.get(start), marked, first_mark=marked and start in {first, window.start})


def _pages_in(version: ExtractionVersion, window: Window) -> list[tuple[int, int]]:
    """Where pages begin in the window; its own beginning is named by the page that it lies in."""
    found: list[tuple[int, int]] = []
    for place, page in _page_starts(version):
        if place >= window.end:
            break
        if place <= window.start:
            found = [(window.start, page)]
        else:
            found.append((place, page))
    return found


def _page_starts(version: ExtractionVersion) -> Iterator[tuple[int, int]]:
    """(character, page number) where each page of the version begins, in the order of the text."""
    path = library_store().version_dir(version.document_id, version.pk) / MANIFEST
    before = None
    with suppress(OSError, DocumentError):
        for row in islice(rows(path), MOST_ROWS):
            origin, span = row.get("source_origin"), row.get("span")
            page = origin.get("page") if isinstance(origin, dict) else None
            place = span.get("char_start") if isinstance(span, dict) else None
            if isinstance(page, int) and page != before and isinstance(place, int):
                before = page
                yield place, page


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    try:
        return min(int(query.get(name, default)), 2**62)
    except ValueError:
        return default
