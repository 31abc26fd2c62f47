"""Every invariant that constraints cannot say, room by room: what `check_invariants` and `restore` prove."""

from collections.abc import Callable

from coverage import invariants as coverage_invariants
from extraction import invariants as extraction_invariants
from extraction.documents import invariants as document_invariants
from graphctx import invariants as graph_invariants
from osii.imports import invariants as import_invariants
from osii.library import invariants as library_invariants
from osii.library import run_invariants

ROOMS = {
    "coverage": coverage_invariants.check,
    "graph": graph_invariants.check,
    "extraction": extraction_invariants.check,
    "documents": document_invariants.check,
    "library": library_invariants.check,
    "imports": import_invariants.check,
    "processing": run_invariants.check,
}


def violations(advance: Callable[[int], object] = lambda _steps: None) -> dict[str, list[str]]:
    """Each room's violations, one line each; ``advance`` hears of every room that was checked."""
    found = {}
    for room, check in ROOMS.items():
        found[room] = list(check())
        advance(1)
    return found
