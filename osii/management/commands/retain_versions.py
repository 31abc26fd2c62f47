"""Clean up old extraction versions: say what would go and what stays and why, or remove exactly that."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from extraction.documents import retention
from extraction.documents.errors import DocumentError
from extraction.documents.ids import check_file_id
from osii.actors import command_actor
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Remove old extraction versions with their files and the outputs made from them. The primary is never removed, "
        "nor is a version with live evidence or the one that taking the last promotion back returns to, unless "
        "--even-needed is given; documents without a primary keep everything. Each removal is recorded. Nothing is "
        "chosen by default: say --keep, --older-than or both."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--keep", type=int, metavar="N", help="the N newest beside the primary stay")
        parser.add_argument("--older-than", type=int, metavar="DAYS", help="only versions made longer ago than this")
        parser.add_argument("--document", action="append", metavar="FILE_ID", help="only of this one; may be repeated")
        parser.add_argument("--failed", action="store_true", help="failed attempts go too (--keep does not save them)")
        parser.add_argument("--even-needed", action="store_true", help="remove needed versions as well")
        parser.add_argument("--reason", default="", help="kept with the record")
        parser.add_argument("--dry-run", action="store_true", help="list what would go and what stays, remove nothing")

    def run(self, **options: Any) -> None:
        rule = self._rule(options)
        data: dict[str, Any] = {"dry_run": options["dry_run"], "removals": []}
        try:
            check_storable(options["reason"], "--reason")
            rows = list(retention.plan(rule))
            data["versions"] = [row.to_dict() for row in rows]
            if not options["dry_run"]:
                going = len({row.file_id for row in rows if not row.kept})
                with self.progress("Removing versions of documents", total=going) as advance:
                    for removal in retention.clean_up(rows, rule, command_actor(), options["reason"]):
                        data["removals"].append({"file_id": removal.file_id, "versions": removal.versions})
                        advance(1)
        except (DocumentError, MalformedParts) as error:
            done = len(data["removals"])
            self.fail(f"{error}" + (f" ({counted(done, 'document')} cleaned up before)" if done else ""))
        self.result(data, _render)

    def _rule(self, options: dict[str, Any]) -> retention.Rule:
        keep, days = options["keep"], options["older_than"]
        if keep is None and days is None:
            self.fail("say which versions are old: --keep N, --older-than DAYS, or both")
        if (keep or 0) < 0 or (days or 0) < 0:
            self.fail("--keep and --older-than are numbers from 0")
        try:
            named = None if options["document"] is None else tuple(map(check_file_id, options["document"]))
            before = None if days is None else timezone.now() - timedelta(days=days)
        except DocumentError as error:
            self.fail(str(error))
        except OverflowError:
            self.fail(f"--older-than {days}: there were no documents so long ago")
        return retention.Rule(keep or 0, before, options["failed"], options["even_needed"], named)


def _render(data: dict[str, Any]) -> Iterator[str]:
    verb = "would go" if data["dry_run"] else "removed"
    for row in data["versions"]:
        what = f"stays ({row['kept']})" if row["kept"] else verb
        yield f"{row['extraction_id']:<40}  {row['size_bytes']:>12,} bytes  {row['status']:<9}  {row['filename']}  {what}"
    going = [row for row in data["versions"] if not row["kept"]]
    size = sum(row["size_bytes"] for row in going)
    documents = len({row["file_id"] for row in going})
    yield (
        f"{'Would remove' if data['dry_run'] else 'Removed'} {counted(len(going), 'version')} of {counted(documents, 'document')}, "
        f"{size:,} bytes; {len(data['versions']) - len(going):,} stay."
    )
