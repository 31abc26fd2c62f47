"""Restore a backup into an empty place."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from osii.care import programs, restoring
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Restore a file that `backup` made into an empty OSII_HOME and database, and prove the result with every "
        "invariant. The file is read whole and compared first; then all of it comes in, or nothing. After a kill "
        "run it again: until it has ended nothing else starts in this home."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="what `backup` made")
        parser.add_argument(
            "--check",
            action="store_true",
            help="only read the file and say whether it can be restored; changes nothing",
        )

    def run(self, **options: Any) -> None:
        path = Path(options["file"]).expanduser()
        try:
            if options["check"]:
                contents = restoring.check(path, progress=self.progress)
                told = {"file": str(path), "made_at": contents.head["made_at"], "files": len(contents.members)}
                self.result(
                    told, lambda data: f"{data['file']}: whole, made {data['made_at']}, {data['files']:,} files"
                )
                return
            data = restoring.restore(path, progress=self.progress)
        except (restoring.RestoreRefused, programs.ProgramError) as error:
            self.fail(str(error))
        self.result(data, _render)
        if data["count"] or data["not_healed"]:
            self.fail(
                "it was restored whole, and is not as it must be: the backup already was not. See the lines above"
            )


def _render(data: dict[str, Any]) -> list[str]:
    lines = [f"{room}: {line}" for room, found in data["violations"].items() for line in found]
    lines += [f"store: {line}" for line in data["not_healed"]]
    done = f"Restored {data['file']} of {data['made_at']}: the database, {data['documents']:,} documents, {data['files']:,} files."
    return [*lines, done] if lines else [done, "All invariants hold."]
