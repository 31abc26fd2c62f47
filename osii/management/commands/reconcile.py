"""Bring queues in line with rows, and the store in line with the database."""

import time
from typing import Any

from django.core.management.base import CommandParser
from django.db import close_old_connections

from coverage import summaries
from coverage.words import counted
from extraction.documents import services as documents
from extraction.documents.reconcile import all_documents
from extraction.documents.unfinished import heal_marked
from extraction.reconcile import reconcile_runs
from osii.console import Command as OsiiCommand
from osii.imports.reconcile import reconcile_imports
from osii.library.run_reconcile import reconcile_processing

SUMMARIES_AT_ONCE = 1000
"""Chats that are summarised in one round, so that a queue does not wait for many."""

QUEUED = {"runs": reconcile_runs, "imports": reconcile_imports, "processing": reconcile_processing}


class Command(OsiiCommand):
    help = (
        "Enqueue runs, imports and processing that never started, take over what lost its worker, delete uploads in time, and "
        "heal disagreements between the document store and the database. Safe to run at any time, any number of times."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be done and change nothing")
        parser.add_argument(
            "--every",
            type=float,
            metavar="SECONDS",
            help="go on for ever, once per interval: queues, and what was cut off in the store",
        )

    def run(self, **options: Any) -> None:
        if options["every"]:
            self._loop(options["every"])
        runs = reconcile_runs(dry_run=options["dry_run"])
        imports = reconcile_imports(dry_run=options["dry_run"])
        processing = reconcile_processing(dry_run=options["dry_run"])
        if not options["dry_run"]:
            summaries.fill_all()
        with self.progress("Documents in the store", len(all_documents())) as advance:
            store = list(documents.reconcile_all(dry_run=options["dry_run"], advance=advance))
        data = {
            "runs": dict(runs),
            "imports": dict(imports),
            "processing": dict(processing),
            "store": [row.to_dict() for row in store],
            "dry_run": options["dry_run"],
        }
        self.result(data, _render)
        left = [row for row in store if not row.healed]
        if left and not options["dry_run"]:
            self.fail(
                f"{counted(len(left), 'disagreement')} between store and database could not be healed; they are listed above"
            )

    def _loop(self, seconds: float) -> None:
        while True:
            close_old_connections()
            for room, reconcile in (QUEUED | {"the store": heal_marked}).items():
                done = reconcile()
                if done:
                    self.note(f"Reconciled {room}: " + ", ".join(f"{count} {what}" for what, count in done.items()))
            # Lists compute a few memos themselves; this keeps them few.
            summaries.fill(SUMMARIES_AT_ONCE)
            time.sleep(seconds)


def _render(data: dict[str, Any]) -> list[str]:
    verb = "would be " if data["dry_run"] else ""
    lines = [f"{room}: {count} {verb}{what}" for room in QUEUED for what, count in data[room].items() if count]
    healed = "would heal" if data["dry_run"] else "healed"
    lines += [
        f"store: {healed if row['healed'] else 'cannot heal'}: {row['subject']}: {row['what']}" for row in data["store"]
    ]
    return lines or ["Queues, rows and store agree; there was nothing to do."]
