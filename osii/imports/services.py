"""What starts, stops and repeats imports."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import IntegrityError, transaction
from django.utils import timezone

from coverage.ids import new_id
from coverage.queueing import LIBRARY, enqueue_on_commit
from extraction import backfill
from osii.models import ChatImport

from . import uploads
from .jobs import run_import


class FilesGone(Exception):
    """The uploaded files of an import were deleted, so it cannot be run again."""


def create(
    files: Sequence[TemporaryUploadedFile], *, learner: str, dry_run: bool, by: User, submission: UUID
) -> tuple[ChatImport, bool]:
    """Keep the files and queue their import; (import, whether this call made it). ``submission`` names the form that
    was sent: sent again with the same files, it is the same import. Raises OSError when the files cannot be kept."""
    there = ChatImport.objects.filter(submission=submission).first()
    if there is not None:
        if there.files == uploads.named(files):
            return there, False
        submission = new_id()  # other files in a form that the browser showed again
    import_id = new_id()
    try:
        kept = uploads.keep(import_id, files)
        with transaction.atomic():
            row = ChatImport.objects.create(
                id=import_id, submission=submission, files=kept, learner=learner, dry_run=dry_run, created_by=by
            )
            enqueue_import(row)
    except IntegrityError:
        uploads.remove(import_id)
        return ChatImport.objects.get(submission=submission), False
    except BaseException:
        uploads.remove(import_id)
        raise
    return row, True


def repeat(row: ChatImport, *, dry_run: bool, by: User) -> ChatImport:
    """Import the files of an import that ended once more, as an import of its own. Raises FilesGone."""
    import_id = new_id()
    try:
        if row.active or row.files_deleted_at is not None:
            raise FilesGone(f"the files of import {row.pk} are not there to import again")
        uploads.share(row.pk, import_id)
        with transaction.atomic():
            again = ChatImport.objects.create(
                id=import_id, files=row.files, learner=row.learner, dry_run=dry_run, created_by=by
            )
            enqueue_import(again)
    except FileNotFoundError:
        uploads.remove(import_id)
        raise FilesGone(f"the files of import {row.pk} are gone") from None
    except BaseException:
        uploads.remove(import_id)
        raise
    return again


def enqueue_import(row: ChatImport) -> None:
    """Enqueue a queued import; the job's id names the attempt, so enqueuing twice is harmless."""
    enqueue_on_commit(LIBRARY, run_import, str(row.pk), job_id=f"import-{row.pk}-{row.attempt + 1}")


def cancel(import_id: UUID) -> bool:
    """Stop an import: at once when it only waits, else before its next conversation. False when it has ended."""
    now = timezone.now()
    values: dict[str, Any] = {"cancel_requested_at": now}
    rows = ChatImport.objects.filter(pk=import_id)
    waiting = rows.filter(status=ChatImport.Status.QUEUED).update(
        status=ChatImport.Status.CANCELLED, finished_at=now, **values
    )
    return bool(waiting or rows.filter(status=ChatImport.Status.RUNNING).update(**values))


def request_reading(row: ChatImport, mode: str) -> tuple[int, int]:
    """Start runs for the chats of an import that have something to read: (runs made, runs that were active already).

    ``mode`` is Run.Mode: "due" takes the chats with enough unread text, "rest" everything.
    """
    chats = row.conversations.filter(chat__isnull=False).values_list("chat", flat=True).distinct().order_by("chat")
    return backfill.request_reading(chats, mode)
