"""The background run of an import: RQ's entry point, and the run itself.

It may be run any number of times: importing a conversation again changes nothing.
"""

import logging
import time
from uuid import UUID

from django.utils import timezone

from coverage.importers.load import import_paths, total_bytes
from coverage.importers.records import Problem
from coverage.queueing import stop_requested
from extraction.models import Run
from extraction.running.leases import DATABASE_AWAY, WorkerStopping
from osii.models import ChatImport

from . import uploads
from .attempts import Attempt, AttemptLost, ImportCancelled, claim
from .report import ImportReport, totals

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""How seldom progress is written, whatever happens in between."""
_NO_CHATS = Problem(uploads.ALL_FILES, "", "none of them holds chats", "upload the export as it came, or its parts")


def is_read_now(chat_id: UUID) -> bool:
    """Whether a run waits for this chat or reads it."""
    return Run.objects.filter(chat=chat_id, status__in=Run.ACTIVE).exists()


def run_import(import_id: str) -> str:
    """Run a queued import; returns its status. One that someone else claimed or ended is left alone."""
    row = execute(UUID(import_id))
    return row.status if row else "erased"


def execute(import_id: UUID) -> ChatImport | None:
    """Run a queued import to its end in this process and return it as it then stands; None when it is gone.

    When the database goes away the import stays as it is, and the reconciler gives it to another worker.
    """
    row = claim(import_id)
    if row is not None:
        with Attempt(row) as attempt:
            _attempt(row, attempt)
    return ChatImport.objects.filter(pk=import_id).first()


def _attempt(row: ChatImport, attempt: Attempt) -> None:
    try:
        _import(row, attempt)
    except AttemptLost as error:
        logger.warning("%s; leaving it to its new holder", error)
    except ImportCancelled:
        attempt.end(ChatImport.Status.CANCELLED, counts=totals(row))
    except WorkerStopping:
        attempt.hand_back()
    except DATABASE_AWAY:
        raise
    except Exception as error:
        logger.exception("Import %s failed", row.pk)
        attempt.end(ChatImport.Status.FAILED, counts=totals(row), error=f"{type(error).__name__}: {error}"[:2000])


def _import(row: ChatImport, attempt: Attempt) -> None:
    given = uploads.given(row.pk, row.files)
    report = ImportReport(row.pk, row.dry_run)
    progress = _Progress(attempt, report)
    attempt.write(bytes_total=total_bytes(given), **report.values())
    reports = import_paths(
        given, learner=row.learner, dry_run=row.dry_run, on_progress=progress.advance, is_busy=is_read_now
    )
    for found in reports:
        if isinstance(found, Problem) and found.source == uploads.ALL_FILES and not found.position:
            report.add(_NO_CHATS)
        else:
            report.add(found)
        progress.between()
    progress.flush()
    _end(row, attempt, report)


def _end(row: ChatImport, attempt: Attempt, report: ImportReport) -> None:
    counts = totals(row)
    imported = counts["conversations"] + sum(counts["checkpoints"].values()) - counts["states"].get("failed", 0)
    if report.problem_count and not imported:
        attempt.end(ChatImport.Status.FAILED, counts=counts, error="Nothing could be imported; the problems say why.")
        return
    if attempt.end(ChatImport.Status.SUCCEEDED, counts=counts) and not row.dry_run:
        discard_files(row)


def discard_files(row: ChatImport) -> None:
    """Delete the uploaded files of an import that ended."""
    uploads.remove(row.pk)
    ChatImport.objects.filter(pk=row.pk).update(files_deleted_at=timezone.now())


class _Progress:
    """Bytes that were read, and the report so far, written at most once per beat."""

    def __init__(self, attempt: Attempt, report: ImportReport):
        self._attempt = attempt
        self._report = report
        self._bytes = 0
        self._written_at = time.monotonic()

    def advance(self, count: int) -> None:
        self._bytes += count

    def between(self) -> None:
        """Between two conversations: nothing is half imported here, so this is where it may stop."""
        if stop_requested.is_set():
            self.flush()
            raise WorkerStopping("the import goes back to the queue")
        if time.monotonic() - self._written_at >= BEAT_SECONDS:
            self.flush()

    def flush(self) -> None:
        self._attempt.write(self._report.take(), bytes_done=self._bytes, **self._report.values())
        self._written_at = time.monotonic()
