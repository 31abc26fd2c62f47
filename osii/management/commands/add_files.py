"""Add source files to the document library and extract their text."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from coverage.models import Learner
from coverage.view import MalformedParts, check_storable
from extraction.documents import routing, services
from extraction.documents.errors import DocumentError, PrimaryMoved, StoreError
from extraction.documents.extractors import registry
from extraction.documents.intake import AddOutcome
from extraction.documents.sources import Found, shown, walk
from extraction.documents.store import Store, library_store
from extraction.models import Document, ExtractionVersion
from osii.console import Command as OsiiCommand

# Met in a folder, these are passed over; named by the caller, they are failures.
PASSED_OVER = {"symlink", "special_file", "no_extractor"}
STATUSES = ("added", "replaces", "unchanged", "skipped", "failed")


class Command(OsiiCommand):
    help = (
        "Add files, and the files in folders, to the document library and extract their text. The same bytes are one "
        "document whatever their path; a path with new bytes becomes a new document that says what it replaces. "
        "Hidden entries of folders are left out; symbolic links in them, and files of a type that no extractor reads, "
        "are skipped. What cannot be added is reported with its reason, everything else is added, and the exit status "
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
            help="what becomes of the new extraction: the text in force, or another version beside it",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and change nothing")

    def run(self, **options: Any) -> None:
        try:
            store = library_store()
        except StoreError as error:
            self.fail(str(error))
        if options["extractor"] != registry.AUTO and options["extractor"] not in registry.extractors():
            self.fail(f"--extractor is {options['extractor']!r}, not one of auto, {', '.join(registry.extractors())}")
        found = list(walk(options["paths"], store.root))
        if not found:
            self.fail("no files found: " + ", ".join(map(shown, options["paths"])))
        intake = _Intake(store, self._learner(options["learner"]), options)
        entries = []
        with self.progress("Adding files", total=len(found)) as advance:
            for entry in found:
                entries.append(intake.take(entry))
                advance(1)
        counts = Counter(entry["status"] for entry in entries)
        data = {
            "dry_run": options["dry_run"],
            "new_learner": intake.new_learner,
            "files": entries,
            "counts": {status: counts[status] for status in STATUSES},
        }
        self.result(data, _render)
        if counts["failed"]:
            added = counts["added"] + counts["replaces"]
            were = "would be" if options["dry_run"] else "was" if added == 1 else "were"
            done = f"; {added:,} {were} added" if added else ""
            self.fail(f"{counts['failed']:,} of {len(entries):,} files failed{done}")

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


class _Intake:
    """Takes one file after the other and says of each what became of it."""

    def __init__(self, store: Store, learner: Learner | None, options: dict[str, Any]) -> None:
        self.store, self.learner = store, learner
        self.new_learner: str | None = None
        self.extractor, self.policy, self.dry_run = options["extractor"], options["policy"], options["dry_run"]

    def take(self, found: Found) -> dict[str, Any]:
        entry: dict[str, Any] = {"path": shown(found.path), "status": "failed"}
        try:
            if found.problem is not None:
                raise found.problem
            outcome = services.add_file(found.path, self.learner, dry_run=self.dry_run, check_new=self._check_new)
            if self.learner is not None and outcome.new_learner:
                self.new_learner = self.learner.name
            entry |= {"document": outcome.status, "file_id": outcome.file_id, "replaces": outcome.replaces}
            entry |= {"learner_set": outcome.learner_set}
            entry |= self._foresee(outcome) if self.dry_run else self._extract(outcome)
        except PrimaryMoved as error:
            entry |= {"reason": error.reason, "message": f"the new version is kept, but not primary: {error}"}
        except DocumentError as error:
            entry |= {"reason": error.reason, "message": str(error)}
            if error.reason in PASSED_OVER and not found.given:
                entry["status"] = "skipped"
        return entry

    def _check_new(self, document: Document) -> None:
        """Refuse a file that no extractor will read, before its bytes are kept."""
        routing.choose(self.extractor, document.mime, document.filename)

    def _wants_extraction(self, file_id: str) -> bool:
        if self.extractor != registry.AUTO:
            return True
        return not Document.objects.filter(pk=file_id, primary__isnull=False).exists()

    def _foresee(self, outcome: AddOutcome) -> dict[str, Any]:
        extractor = None
        if self._wants_extraction(outcome.file_id):
            extractor = routing.choose(self.extractor, outcome.media_type, Path(outcome.path).name).name
        return {"status": outcome.status, "extractor": extractor}

    def _extract(self, outcome: AddOutcome) -> dict[str, Any]:
        if not self._wants_extraction(outcome.file_id):
            return {"status": outcome.status}
        version = services.extract(outcome.file_id, self.extractor, self.policy, actor="add_files")
        if version.status == ExtractionVersion.Status.FAILED:
            reason, _, message = version.error.partition(": ")
            return {"extraction_id": version.pk, "reason": reason, "message": f"kept without a text: {message}"}
        primary = Document.objects.filter(pk=outcome.file_id, primary=version).exists()
        return {"status": outcome.status, "extraction_id": version.pk, "primary": primary}


def _render(data: dict[str, Any]) -> Iterator[str]:
    for entry in data["files"]:
        yield f"{entry['status']:<9} {entry['path']}{_detail(entry)}"
    if data["new_learner"]:
        yield f"new learner {data['new_learner']!r} {'would be ' if data['dry_run'] else ''}made"
    counts = ", ".join(f"{count:,} {status}" for status, count in data["counts"].items() if count)
    yield f"{'Would be: ' if data['dry_run'] else ''}{counts}"


def _detail(entry: dict[str, Any]) -> str:
    if "reason" in entry:
        return f"  ({entry['reason']}: {entry['message']})" + ("  learner set" if entry.get("learner_set") else "")
    detail = f"  {entry['file_id']}" + ("  learner set" if entry["learner_set"] else "")
    if entry["replaces"]:
        detail += f"  replaces {entry['replaces']}"
    if entry.get("extraction_id"):
        detail += f"  {entry['extraction_id']}" + ("" if entry["primary"] else " (not primary)")
    if entry.get("extractor"):
        detail += f"  (to be extracted by {entry['extractor']})"
    return detail
