"""Erase a learner for good."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from coverage.models import Learner
from extraction.documents.errors import DocumentError
from osii.actors import command_actor
from osii.care import erasing
from osii.console import Command as OsiiCommand
from osii.learners import find_learner


class Command(OsiiCommand):
    help = (
        "Erase everything of one learner: chats, ledger, environments, candidates, propositions, vectors, documents and "
        "their files, imports, tokens, and the name. Running processes drop what they hold of it within half a minute. That it "
        "happened is recorded without a name. Export first what is to be kept; backups made before still hold it."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("learner", metavar="NAME")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and erase nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask for the name to be typed")

    def run(self, **options: Any) -> None:
        learner = find_learner(self, options["learner"])
        counts = erasing.preview(learner).counts()
        data: dict[str, Any] = {"learner_id": str(learner.pk), "dry_run": options["dry_run"], "counts": counts}
        if not options["dry_run"]:
            if not options["yes"]:
                self._ask(learner, counts)
            try:
                record = erasing.erase(learner, actor=command_actor(), progress=self.progress)
            except (erasing.EraseRefused, DocumentError) as error:
                self.fail(str(error))
            data |= {"counts": record.counts, "erasure_id": str(record.pk)}
        self.result(data, _render)

    def _ask(self, learner: Learner, counts: dict[str, int]) -> None:
        if not sys.stdin.isatty():
            self.fail("this cannot be taken back: look at it with --dry-run, then add --yes")
        self.note(f"This erases for good: {_told(counts)}.")
        sys.stderr.write("Type the learner's name to go on: ")
        sys.stderr.flush()
        if sys.stdin.readline().strip() != learner.name:
            self.fail("that is not the name; nothing was erased")


def _told(counts: dict[str, int]) -> str:
    return (
        ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "the name alone"
    )


def _render(data: dict[str, Any]) -> str:
    verb = "Would erase" if data["dry_run"] else "Erased"
    return f"{verb}: {_told(data['counts'])}."
