"""Make a backup of the database and the store in one file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from extraction.documents.errors import StoreError
from osii.care import backups
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Write one file with the database as of now, and with every file that it names: sources, extraction versions, "
        "uploads. Everything may go on meanwhile, only removals wait. It is read back and compared before it "
        "gets its name. It holds all that people entrusted to this installation: keep it as safe as that."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("place", metavar="PLACE", help="a folder, or the name of the file to be made")
        parser.add_argument(
            "--with-gaps", action="store_true", help="make it although the store lacks what the database names"
        )
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            default=0,
            help="in a folder: then delete all backups there but the newest N",
        )

    def run(self, **options: Any) -> None:
        place, keep = Path(options["place"]).expanduser(), options["keep"]
        if keep < 0 or (keep and not place.is_dir()):
            self.fail("--keep takes a number from 1, and a folder as the place")
        try:
            data = backups.make(backups.destination(place), with_gaps=options["with_gaps"], progress=self.progress)
        except (backups.BackupError, StoreError) as error:
            self.fail(str(error))
        data["deleted"] = backups.prune(place, keep) if keep else []
        self.result(data, _render)


def _render(data: dict[str, Any]) -> list[str]:
    lines = [
        f"{data['file']}: {data['bytes'] / 1e6:,.1f} MB, the database and {data['documents']:,} documents, read back and whole"
    ]
    lines += [f"missing in it: {gap}" for gap in data["gaps"]]
    return lines + [f"deleted: {name}" for name in data["deleted"]]
