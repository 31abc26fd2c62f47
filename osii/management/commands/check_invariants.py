"""Prove that the database and the store are as they must be."""

from typing import Any

from coverage import invariants as coverage_invariants
from extraction import invariants as extraction_invariants
from extraction.documents import invariants as document_invariants
from graphctx import invariants as graph_invariants
from osii.console import Command as OsiiCommand
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


class Command(OsiiCommand):
    help = "Check every invariant of ledger, batches, evidence and documents; exit 1 if one is violated."

    def run(self, **options: Any) -> None:
        found: dict[str, list[str]] = {}
        with self.progress("Checking", total=len(ROOMS)) as advance:
            for room, check in ROOMS.items():
                found[room] = list(check())
                advance(1)
        count = sum(len(violations) for violations in found.values())
        self.result({"violations": found, "count": count}, _render)
        if count:
            self.fail(f"{count} invariant(s) violated")


def _render(data: dict[str, Any]) -> list[str]:
    lines = [f"{room}: {violation}" for room, violations in data["violations"].items() for violation in violations]
    return lines or [f"All invariants hold ({', '.join(data['violations'])})."]
