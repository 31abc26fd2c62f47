"""Making processing runs agree with the queue: waiting items are enqueued, lost ones done again, finished runs ended."""

import logging
from collections import Counter
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from extraction.documents import reading

from .jobs import top_up
from .run_models import ProcessingItem, ProcessingRun
from .settling import settle

logger = logging.getLogger(__name__)

MAX_RECOVERIES = 3
"""An item that takes its worker with it this often is failed: it would take the next one too."""
RUNS_AT_ONCE = 200


def reconcile_processing(*, dry_run: bool = False) -> Counter[str]:
    """Recover items whose worker is lost, enqueue waiting ones, end runs with nothing left to do; returns counts by what
    was (or would be) done. Losing every Redis key loses no work."""
    done: Counter[str] = Counter()
    expired = _expired()
    if dry_run:
        waiting = ProcessingRun.objects.filter(status__in=("queued", "running"), items__status="queued").distinct()
        return +Counter({"recovered": expired.count(), "with waiting items": waiting.count()})
    for item in expired.select_related("run"):
        done[_recover(item)] += 1
    active = ProcessingRun.objects.filter(status__in=ProcessingRun.ACTIVE).order_by("queued_at", "pk")
    for run_id in list(active.values_list("pk", flat=True)[:RUNS_AT_ONCE]):
        if settle(run_id):
            done["ended"] += 1
        else:
            done["enqueued"] += top_up(run_id)
    return +done


def recover_run(run_id: UUID) -> int:
    """Take the run's items from workers whose lease has expired; returns how many."""
    return sum(_recover(item) != "kept" for item in _expired().filter(run=run_id).select_related("run"))


def _expired() -> QuerySet[ProcessingItem]:
    # By the database's clock, as leases are written: those of several machines may differ.
    return ProcessingItem.objects.filter(status=ProcessingItem.Status.RUNNING, lease_expires_at__lt=Now())


def _recover(item: ProcessingItem) -> str:
    """Take an expired item from its lost worker. Conditional, so a worker that just renewed keeps it."""
    times = item.recoveries + 1
    if item.run.cancel_requested_at is not None:
        then = {"status": ProcessingItem.Status.CANCELLED, "finished_at": Now()}
    elif times > MAX_RECOVERIES:
        error = f"worker_lost: its worker was lost {times} times"
        then = {"status": ProcessingItem.Status.FAILED, "error": error, "finished_at": Now()}
    else:
        then = {"status": ProcessingItem.Status.QUEUED}
    with transaction.atomic():
        taken = (
            _expired()
            .filter(pk=item.pk, attempt_token=item.attempt_token)
            .update(attempt_token=None, lease_expires_at=None, recoveries=F("recoveries") + 1, **then)
        )
        in_hand = ProcessingItem.objects.filter(document=item.document_id, status=ProcessingItem.Status.RUNNING)
        if taken and item.document_id and not in_hand.exists():
            reading.close_lost(item.document_id)  # it may never be read again, and then nobody else would
    if not taken:
        return "kept"
    logger.info("Item %s of run %s lost its worker %s: %s", item.pk, item.run_id, item.held_by, then["status"])
    return "recovered" if then["status"] == ProcessingItem.Status.QUEUED else "ended items"
