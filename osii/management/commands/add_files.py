"""Add source files to the document library and extract their text."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import close_old_connections

from coverage.models import Learner
from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from extraction.documents import services
from extraction.documents.errors import StoreError
from extraction.documents.extractors import registry
from extraction.documents.sources import Found, shown, walk
from extraction.documents.store import Store, library_store
from extraction.running.leases import DATABASE_AWAY
from osii.console import Command as OsiiCommand
from osii.console import encode, visible
from osii.library.adding import STATUSES, Adding
from osii.library.watching import Watcher, follow


class Command(OsiiCommand):
    help = (
        "Add files, and the files in folders, to the document library and extract their text. The same bytes are one "
        "document whatever their path; a path with new bytes becomes a new document that says what it replaces. "
        "Hidden entries of folders are left out; symbolic links in them, and files of a type that no extractor reads, "
        "are skipped. A chat export is imported as chats. What cannot be added is reported with its reason, everything else is added, and the exit status "
        "is 1."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a folder that holds some")
        parser.add_argument("--learner", metavar="NAME", default="", help="whose graph the documents may feed")
        parser.add_argument(
            "--extractor",
            metavar="NAME",
            default=registry.AUTO,
            help='default: "auto", by type, for documents that have no text yet; a named one runs on every file',
        )
        parser.add_argument(
            "--policy",
            choices=services.POLICIES,
            default=services.MAKE_PRIMARY,
            help="what becomes of a new extraction: "
            + "; ".join(f"{policy}: “{label}”" for policy, label in services.POLICY_LABELS.items()),
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and change nothing")
        parser.add_argument(
            "--watch",
            action="store_true",
            help="go on: add files as they appear and change, until Ctrl-C; with --json one object per line",
        )
        parser.add_argument(
            "--settle",
            type=float,
            default=2.0,
            metavar="SECONDS",
            help="with --watch: a file is taken when it has not changed for so long (default: 2)",
        )

    def run(self, **options: Any) -> None:
        try:
            store = library_store()
        except StoreError as error:
            self.fail(str(error))
        if options["extractor"] != registry.AUTO and options["extractor"] not in registry.extractors():
            self.fail(f"--extractor is {options['extractor']!r}, not one of auto, {', '.join(registry.extractors())}")
        adding = Adding(
            self._learner(options["learner"]),
            extractor=options["extractor"],
            policy=options["policy"],
            dry_run=options["dry_run"],
        )
        if options["watch"]:
            self._watch(adding, store, options)
            return
        found = list(walk(options["paths"], store.root))
        if not found:
            self.fail("no files found: " + ", ".join(map(shown, options["paths"])))
        entries = []
        with self.progress("Adding files", total=len(found)) as advance:
            for entry in found:
                entries.append(adding.take(entry))
                advance(1)
        counts = Counter(entry["status"] for entry in entries)
        data = {
            "dry_run": options["dry_run"],
            "new_learner": adding.new_learner,
            "files": entries,
            "counts": {status: counts[status] for status in STATUSES},
        }
        self.result(data, _render)
        if counts["failed"]:
            added = counts["added"] + counts["replaces"]
            were = "would be" if options["dry_run"] else "was" if added == 1 else "were"
            done = f"; {added:,} {were} added" if added else ""
            self.fail(f"{counts['failed']:,} of {counted(len(entries), 'file')} failed{done}")

    def _watch(self, adding: Adding, store: Store, options: dict[str, Any]) -> None:
        """Add what is there and what comes, a line each; ends with exit status 0 when it is told to stop."""
        missing = [path for path in options["paths"] if not Path(path).is_dir()]
        if missing or options["dry_run"]:
            self.fail("--watch takes folders" + (f", not {shown(missing[0])}" if missing else ", and no --dry-run"))
        if not 0 <= options["settle"] <= 3600:
            self.fail("--settle is between 0 and 3600 seconds")
        counts: Counter[str] = Counter()
        stop = _stopped_by_signal()
        self.note(f"Watching {', '.join(map(shown, options['paths']))}; Ctrl-C ends it after the file in hand.")

        def take(found: Found) -> None:
            entry = _patiently(self, stop, lambda: adding.take(found))
            if entry is not None:
                counts[entry["status"]] += 1
                self._line(entry)

        def gone(path: str) -> None:
            self._line({"path": shown(path), "status": "gone", "reason": "gone", "message": "its document stays"})

        follow(Watcher(options["paths"], store.root, options["settle"]), stop, take, gone)
        self.note(
            "Stopped. " + (", ".join(f"{count:,} {status}" for status, count in counts.items()) or "Nothing came.")
        )

    def _line(self, entry: dict[str, Any]) -> None:
        if self.as_json:
            self.stdout.write(json.dumps(entry, ensure_ascii=False, default=encode))
        else:
            self.stdout.write(visible(_said(entry)))
        self.stdout.flush()

    def _learner(self, name: str) -> Learner | None:
        name = name.strip()
        try:
            check_storable(name, "--learner")
        except MalformedParts as error:
            self.fail(str(error))
        if len(name) > 200:
            self.fail("--learner: at most 200 characters")
        if not name:
            return None
        return Learner.objects.filter(name=name).first() or Learner(name=name)  # saved with the first file added


def _stopped_by_signal() -> threading.Event:
    """Set by the first SIGINT or SIGTERM; a second one ends the process as usual."""
    stop = threading.Event()

    def end(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return stop


def _patiently(
    command: OsiiCommand, stop: threading.Event, take: Callable[[], dict[str, Any]], pause: float = 5.0
) -> dict[str, Any] | None:
    """``take()``, again and again while the database is away; None when that ended the watch."""
    while not stop.is_set():
        close_old_connections()
        try:
            return take()
        except DATABASE_AWAY as error:
            command.note(f"The database does not answer ({str(error).splitlines()[0]}): trying again.")
            stop.wait(pause)
    return None


def _render(data: dict[str, Any]) -> Iterator[str]:
    for entry in data["files"]:
        yield _said(entry)
    if data["new_learner"]:
        yield f"new learner {data['new_learner']!r} {'would be ' if data['dry_run'] else ''}made"
    counts = ", ".join(f"{count:,} {status}" for status, count in data["counts"].items() if count)
    yield f"{'Would be: ' if data['dry_run'] else ''}{counts}"


def _said(entry: dict[str, Any]) -> str:
    return f"{entry['status']:<9} {entry['path']}{_detail(entry)}"


def _detail(entry: dict[str, Any]) -> str:
    if "reason" in entry:
        return f"  ({entry['reason']}: {entry['message']})" + ("  learner set" if entry.get("learner_set") else "")
    if "chats" in entry:
        return (
            "  ("
            + "; ".join([entry["format"], *(f"{count:,} {state}" for state, count in entry["chats"].items())])
            + ")"
        )
    detail = f"  {entry['file_id']}" + ("  learner set" if entry["learner_set"] else "")
    if entry["replaces"]:
        detail += f"  replaces {entry['replaces']}"
    if entry.get("extraction_id"):
        detail += f"  {entry['extraction_id']}" + ("" if entry["primary"] else " (not primary)")
    if entry.get("extractor"):
        detail += f"  (to be extracted by {entry['extractor']})"
    return detail
