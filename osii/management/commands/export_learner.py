"""Everything that is kept of one learner, as a zip that people and programs can read."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from osii.care import exporting
from osii.console import Command as OsiiCommand
from osii.learners import find_learner


class Command(OsiiCommand):
    help = (
        "Write one learner's chats (import_chats reads them again), propositions with their evidence, contexts and "
        "documents into a zip. Cells of its tables are safe from being run as formulas."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("learner", metavar="NAME")
        parser.add_argument("file", metavar="FILE", help="the zip to be made; it must not exist yet")

    def run(self, **options: Any) -> None:
        learner = find_learner(self, options["learner"])
        target = Path(options["file"]).expanduser()
        try:
            now = f"{timezone.now():%Y-%m-%d %H:%M} UTC"
            data = exporting.export(learner, target, now=now, progress=self.progress)
        except exporting.ExportError as error:
            self.fail(str(error))
        self.result(data, _render)


def _render(data: dict[str, Any]) -> str:
    return (
        f"{data['file']}: {data['chats']:,} chats, {data['propositions']:,} propositions with {data['evidence']:,} quotes, "
        f"{data['documents']:,} documents of {data['learner']}"
    )
