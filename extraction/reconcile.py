"""Making queues agree with rows: what never started is enqueued, what lost its worker is given to another."""

import logging
from collections import Counter
from datetime import timedelta
from uuid import UUID

import django_rq
import redis
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from rq.registry import clean_registries

from coverage.queueing import QUEUES, release_stuck
from graphctx.steers import enqueue_waiting

from .jobs import enqueue_run, enqueue_runs
from .models import Run
from .planning import abandon_open_batches
from .services import retry_failed_run
from .spending import day_is_spent

logger = logging.getLogger(__name__)

MAX_RECOVERIES = 10
"""Workers lost outside any batch count on no batch; a run that is lost this often is failed for good."""
QUEUED_GRACE = timedelta(seconds=5)


def reconcile_runs(*, dry_run: bool = False) -> Counter[str]:
    """Recover expired runs and enqueue waiting ones; returns counts by what was (or would be) done.

    Losing every Redis key loses no work: each queued row is enqueued again, and an id that is still there is left.
    """
    done: Counter[str] = Counter()
    now = timezone.now()
    expired = Run.objects.filter(status=Run.Status.RUNNING, lease_expires_at__lt=now)
    waiting = Run.objects.filter(status=Run.Status.QUEUED, queued_at__lt=now - QUEUED_GRACE).order_by("queued_at", "pk")
    failed = Run.objects.filter(retry_at__lte=now).order_by("retry_at").values_list("pk", flat=True)
    if dry_run:
        return Counter({"recovered": expired.count(), "waiting": waiting.count(), "tried again": failed.count()})
    for run in expired:
        done[_recover(run)] += 1
    done["enqueued"] += 0 if day_is_spent() else enqueue_runs(waiting)
    for run_id in list(failed):
        if retry_failed_run(run_id):
            done["tried again"] += 1
    steers = enqueue_waiting()
    if steers:
        done["steers enqueued"] += steers
    _clean_registries()
    return +done


def recover_chat(chat_id: UUID) -> bool:
    """Take the chat's run from a worker whose lease has expired, for who wants to execute it here and now."""
    run = Run.objects.filter(chat=chat_id, status=Run.Status.RUNNING, lease_expires_at__lt=timezone.now()).first()
    return run is not None and _recover(run) != "kept"


def _recover(run: Run) -> str:
    """Take an expired run from its lost worker. Conditional, so a worker that just renewed keeps it."""
    spent = run.recoveries >= MAX_RECOVERIES
    ended = {
        "status": Run.Status.FAILED,
        "error": f"its worker was lost {run.recoveries + 1} times",
        "finished_at": timezone.now(),
    }
    if run.abort_requested_at is not None:
        ended |= {"status": Run.Status.ABORTED, "error": ""}
    again = {"status": Run.Status.QUEUED, "queued_at": timezone.now()}
    ends = spent or run.abort_requested_at is not None
    with transaction.atomic():
        expired = Run.objects.filter(
            pk=run.pk,
            status=Run.Status.RUNNING,
            attempt_token=run.attempt_token,
            lease_expires_at__lt=timezone.now(),
        )
        # A worker that froze in a transaction still has the row locked (see Lease.guard): the others do not wait for it.
        if expired.select_for_update(no_key=True, skip_locked=True).first() is None:
            return "kept"
        expired.update(
            attempt_token=None, lease_expires_at=None, recoveries=F("recoveries") + 1, **(ended if ends else again)
        )
        if ends:
            abandon_open_batches(run.chat_id)
            return "ended"
        enqueue_run(run)
    logger.info("Run %s lost its worker %s and waits again", run.pk, run.held_by)
    return "recovered"


def _clean_registries() -> None:
    try:
        for name in QUEUES:
            clean_registries(django_rq.get_queue(name))
            release_stuck(name)
    except redis.exceptions.RedisError as error:
        logger.warning("Redis did not answer the reconciler: %s", error)
