"""Making imports agree with the queue and the disk: waiting ones are enqueued, lost ones run again, files go in time."""

import logging
from collections import Counter
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from extraction.reconcile import QUEUED_GRACE
from extraction.running.endings import MAX_RECOVERIES
from osii.intake import staging
from osii.models import UPLOADS_KEPT, ChatImport

from . import uploads
from .jobs import discard_files
from .report import totals
from .services import enqueue_import

logger = logging.getLogger(__name__)


def reconcile_imports(*, dry_run: bool = False) -> Counter[str]:
    """Recover imports whose worker is lost, enqueue waiting ones, delete files that are no longer needed; returns
    counts by what was (or would be) done."""
    # By the database's clock, as leases are written.
    expired = ChatImport.objects.filter(status=ChatImport.Status.RUNNING, lease_expires_at__lt=Now())
    waiting = ChatImport.objects.filter(status=ChatImport.Status.QUEUED, queued_at__lt=Now() - QUEUED_GRACE)
    if dry_run:
        found = {"recovered": expired.count(), "waiting": waiting.count(), "files deleted": len(_unneeded())}
        return Counter({what: count for what, count in found.items() if count})
    done: Counter[str] = Counter()
    for row in expired:
        done[_recover(row)] += 1
    for row in waiting:
        with transaction.atomic():
            enqueue_import(row)
        done["enqueued"] += 1
    for row in _unneeded():
        discard_files(row)
        done["files deleted"] += 1
    uploads.sweep_incoming(uploads.ABANDONED_SECONDS)
    if swept := staging.sweep():
        done["uploads deleted"] = swept
    return done


def _recover(row: ChatImport) -> str:
    """Take an expired import from its lost worker. Conditional, so a worker that just renewed keeps it."""
    ended: dict[str, Any] = {
        "status": ChatImport.Status.FAILED,
        "error": f"its worker was lost {row.recoveries + 1} times",
    }
    if row.cancel_requested_at is not None:
        ended = {"status": ChatImport.Status.CANCELLED, "error": ""}
    ends = row.recoveries >= MAX_RECOVERIES or row.cancel_requested_at is not None
    ended |= {"finished_at": Now(), "counts": totals(row)}
    again = {"status": ChatImport.Status.QUEUED, "queued_at": Now()}
    with transaction.atomic():
        taken = ChatImport.objects.filter(
            pk=row.pk,
            status=ChatImport.Status.RUNNING,
            attempt_token=row.attempt_token,
            lease_expires_at__lt=Now(),
        ).update(
            attempt_token=None, lease_expires_at=None, recoveries=F("recoveries") + 1, **(ended if ends else again)
        )
        if not taken:
            return "kept"
        if ends:
            return "ended"
        enqueue_import(row)
    logger.info("Import %s lost its worker %s and waits again", row.pk, row.held_by)
    return "recovered"


def _unneeded() -> list[ChatImport]:
    """Ended imports whose files lie about although they succeeded or their time is over; of no import: those too."""
    stored = dict(uploads.stored_imports())
    rows = ChatImport.objects.in_bulk(list(stored))
    old = timezone.now() - UPLOADS_KEPT
    found = [row for row in rows.values() if not row.active and _is_done_with(row, old)]
    found += [ChatImport(pk=key) for key, age in stored.items() if key not in rows and age > uploads.ABANDONED_SECONDS]
    return found


def _is_done_with(row: ChatImport, old: datetime) -> bool:
    imported = row.status == ChatImport.Status.SUCCEEDED and not row.dry_run
    return imported or row.files_deleted_at is not None or (row.finished_at is not None and row.finished_at < old)
