"""Prove that the database and the store are as they must be."""

from typing import Any

from coverage.words import counted
from osii.console import Command as OsiiCommand
from osii.invariants import ROOMS, violations


class Command(OsiiCommand):
    help = "Check every invariant of ledger, batches, evidence and documents; exit 1 if one is violated."

    def run(self, **options: Any) -> None:
        with self.progress("Checking", total=len(ROOMS)) as advance:
            found = violations(advance)
        count = sum(len(lines) for lines in found.values())
        self.result({"violations": found, "count": count}, _render)
        if count:
            self.fail(f"{counted(count, 'invariant')} violated")


def _render(data: dict[str, Any]) -> list[str]:
    lines = [f"{room}: {violation}" for room, found in data["violations"].items() for violation in found]
    return lines or [f"All invariants hold ({', '.join(data['violations'])})."]
