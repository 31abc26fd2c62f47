"""Making queues agree with rows: what never started is enqueued, what lost its worker is given to another."""

import logging
from collections import Counter
from datetime import timedelta
from uuid import UUID

import django_rq
import redis
from django.db.models import QuerySet
from django.db.models.functions import Now
from rq.registry import clean_registries

from coverage.queueing import QUEUES, release_stuck
from graphctx.steers import enqueue_waiting

from .models import Run
from .running import endings
from .running.queueing import enqueue_run, enqueue_runs
from .services import retry_failed_run
from .spending import not_held

logger = logging.getLogger(__name__)

QUEUED_GRACE = timedelta(seconds=5)


def reconcile_runs(*, dry_run: bool = False) -> Counter[str]:
    """Recover expired runs and enqueue waiting ones; returns counts by what was (or would be) done.

    Losing every Redis key loses no work: each queued row is enqueued again, and an id that is still there is left.
    """
    done: Counter[str] = Counter()
    expired = _expired()
    waiting = Run.objects.filter(status=Run.Status.QUEUED, queued_at__lt=Now() - QUEUED_GRACE)
    waiting = waiting.order_by("queued_at", "pk")
    failed = Run.objects.filter(retry_at__lte=Now()).order_by("retry_at").values_list("pk", flat=True)
    if dry_run:
        return Counter({"recovered": expired.count(), "waiting": waiting.count(), "tried again": failed.count()})
    for run in expired:
        done[_recover(run)] += 1
    done["enqueued"] += enqueue_runs(not_held(waiting))
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
    run = _expired().filter(chat=chat_id).first()
    return run is not None and _recover(run) != "kept"


def _expired() -> QuerySet[Run]:
    # By the database's clock, as leases are written: those of several machines may differ.
    return Run.objects.filter(status=Run.Status.RUNNING, lease_expires_at__lt=Now())


def _recover(run: Run) -> str:
    """Take an expired run from its lost worker. Conditional, so a worker that just renewed keeps it."""
    # A worker that froze in a transaction still has the row locked (see Lease.guard): the others do not wait for it.
    expired = _expired().select_for_update(no_key=True, skip_locked=True)
    with endings.held(run, expired) as current:
        if current is None:
            return "kept"
        if not endings.recover(current, "its worker was lost"):
            return "ended"
        enqueue_run(current)
    logger.info("Run %s lost its worker %s and waits again", run.pk, run.held_by)
    return "recovered"


def _clean_registries() -> None:
    try:
        for name in QUEUES:
            clean_registries(django_rq.get_queue(name))
            release_stuck(name)
    except redis.exceptions.RedisError as error:
        logger.warning("Redis did not answer the reconciler: %s", error)
