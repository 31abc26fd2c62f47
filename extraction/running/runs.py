"""Executing a run: plan a batch, let a worker explore it, merge and checkpoint, until nothing is due.

Batches checkpoint one by one. Abort, error or kill loses the batch in flight and nothing else.
"""

import logging
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from rq.timeouts import BaseTimeoutException

from coverage.models import Chat, Message
from coverage.queueing import stop_requested
from coverage.services import lock_chat

from .. import spending
from ..exploring import environment
from ..exploring.staging import BatchStaging
from ..exploring.tools import ExploreTools
from ..merging.merge import checkpoint
from ..models import Batch, ReferenceEnvironment, Run
from ..redaction import redact
from ..workers import BatchFailed, BatchTooLarge, WorkerUnavailable, get_worker
from . import endings, planning
from .leases import DATABASE_AWAY, Lease, LeaseLost, RunAborted, WorkerStopping, claim
from .recording import record_attempt, spent

logger = logging.getLogger(__name__)

AWAY_PAUSE_SECONDS = 1.0

FIRST_RETRY, LAST_RETRY = timedelta(minutes=5), timedelta(hours=6)
"""How long a run waits to be tried again after its worker was unavailable: longer each time in a row."""


def execute(run_id: UUID, on_batch: Callable[[Batch], None] = lambda batch: None, *, turn: int | None = None) -> Run:
    """Execute a queued run in this process and return it as it then stands.

    It is executed to its end, or for a ``turn`` of so many batches, after which it waits again if anything is left: then
    the caller enqueues it behind the others. It also waits again while the daily cap is reached. ``on_batch`` is called
    after each batch that ended. A run that is not queued is returned untouched.
    """
    waiting = Run.objects.get(pk=run_id)
    run = None if spending.day_is_spent(waiting.worker) else claim(run_id)
    if run is None:
        return Run.objects.get(pk=run_id)
    with Lease(run) as lease:
        try:
            for done in count():
                batch = _next_batch(run, lease, turn_over=done == turn)
                if batch is None:
                    break
                lease.checkpoint()
                _execute_batch(batch, lease)
                batch.refresh_from_db()
                on_batch(batch)
        except LeaseLost as error:
            logger.warning("%s; leaving it to its new holder", error)
        except RunAborted:
            endings.end_aborted(run)
        except WorkerStopping:
            endings.hand_back(run)
        except WorkerUnavailable as error:
            _end_unavailable(run, error)
        except (KeyboardInterrupt, SystemExit):
            endings.end_aborted(run)
            raise
        except DATABASE_AWAY as error:
            _hand_back_when_it_answers(run, error)
            raise
    run.refresh_from_db()
    return run


def _next_batch(run: Run, lease: Lease, *, turn_over: bool = False) -> Batch | None:
    """Open the next batch, or end the run or its turn when there is none: one transaction under the chat's lock."""
    with transaction.atomic():
        current = lease.guard()
        chat = lock_chat(run.chat_id)
        _close_lost_batch(current)
        if (turn_over or spending.day_is_spent(current.worker)) and planning.has_next(current, chat):
            endings.hand_back(current)
            return None
        note = spending.run_is_spent(run.pk)
        if note and planning.has_next(current, chat):
            _end(current, note)
            return None
        batch = planning.open_batch(current, chat)
        if batch is None:
            _end(current)
        elif not ReferenceEnvironment.objects.filter(batch=batch).exists():
            _snapshot(batch, chat)
    return batch


def _close_lost_batch(run: Run) -> None:
    """A batch still open under an older token lost its worker: that counts as one of its failures."""
    for batch in Batch.objects.filter(chat=run.chat_id, status=Batch.Status.RUNNING):
        _fail(batch, "the worker was lost while it read this batch")


def _snapshot(batch: Batch, chat: Chat) -> None:
    inside = batch.messages.values_list("message_id", flat=True)
    messages = list(Message.objects.filter(chat=chat, message_id__in=list(inside)).order_by("position"))
    content = environment.build(chat, messages, planning.read_only_context(chat, messages[0].position))
    ReferenceEnvironment.objects.create(batch=batch, content=content, content_hash=environment.content_hash(content))


def _execute_batch(batch: Batch, lease: Lease) -> None:
    worker = get_worker(batch.worker, batch.run.model)
    if hasattr(worker, "allow"):
        worker.allow(spending.allowance(batch.run_id))
    staging = BatchStaging(batch)
    content = environment.readable(batch.environment.content)
    tools = ExploreTools(content, staging)
    try:
        worker.run(environment.overview(content), tools, lease.checkpoint)
        if not staging.finished:
            raise BatchFailed("the worker stopped without finish_extraction")
        checkpoint(batch, staging, tools.refusals, spent(batch, tools, worker), lease.guard_success)
    except (LeaseLost, RunAborted, WorkerStopping, BaseTimeoutException, *DATABASE_AWAY):
        raise
    except Exception as error:
        expected = isinstance(error, BatchFailed | WorkerUnavailable)
        logger.warning("Batch %s failed: %s", batch.pk, error, exc_info=not expected)
        with transaction.atomic():
            _close_failed(batch, lease.guard(), error)
        if isinstance(error, WorkerUnavailable):
            raise
    finally:
        record_attempt(batch, tools, worker)


def _close_failed(batch: Batch, run: Run, error: Exception) -> None:
    """Close an attempt that ended without finish, by what went wrong; the caller holds the run's lock."""
    expected = isinstance(error, BatchFailed | WorkerUnavailable)
    reason = str(error) if expected else f"{type(error).__name__}: {error}"
    if isinstance(error, WorkerUnavailable):
        _fail(batch, reason, counts=False)
    elif not isinstance(error, BatchTooLarge):
        _fail(batch, reason)
    elif planning.split(batch, run, lock_chat(batch.chat_id)):
        _close(batch, Batch.Status.ABORTED, f"read as two smaller batches: {reason}")
    else:
        _close(batch, Batch.Status.PARKED, reason, failures=batch.failures + 1)


def _fail(batch: Batch, reason: str, *, counts: bool = True) -> None:
    """Count a failure; the batch is retried until it has failed too often, then parked."""
    failures = batch.failures + counts
    parked = failures >= settings.EXTRACTION_MAX_FAILURES
    _close(batch, Batch.Status.PARKED if parked else Batch.Status.FAILED, reason, failures=failures)


def _close(batch: Batch, status: str, reason: str, **values: int) -> None:
    Batch.objects.filter(pk=batch.pk, status=Batch.Status.RUNNING, attempt_token=batch.attempt_token).update(
        status=status, error=redact(reason)[:2000], attempt_token=uuid.uuid4(), finished_at=timezone.now(), **values
    )


def _end(run: Run, note: str = "") -> None:
    parked = run.batches.filter(status=Batch.Status.PARKED).count()
    run.status = Run.Status.FAILED if parked else Run.Status.SUCCEEDED
    run.error = f"{parked} batch(es) parked after {settings.EXTRACTION_MAX_FAILURES} failures" if parked else ""
    run.note = note
    run.finished_at = timezone.now()
    run.save(update_fields=("status", "error", "note", "finished_at"))


def _end_unavailable(run: Run, error: WorkerUnavailable) -> None:
    """The run fails with what is wrong with its worker; if that may pass, it is tried again later."""
    pause = min(FIRST_RETRY * 2 ** min(run.retries, 16), LAST_RETRY)
    pause = max(pause, timedelta(seconds=error.retry_after or 0))
    endings.end_unavailable(run, str(error), pause if error.temporary else None)


def _hand_back_when_it_answers(run: Run, error: Exception) -> None:
    """The database went away or undid a transaction: as soon as it answers, the run waits again, which counts as a
    recovery of the run and as no failure of its batch. If it does not answer for a lease's length, the reconciler does it.
    """
    logger.warning("The database let go of run %s: %s", run.pk, error)
    deadline = time.monotonic() + settings.EXTRACTION_LEASE_SECONDS
    while time.monotonic() < deadline and not stop_requested.wait(AWAY_PAUSE_SECONDS):
        connection.close()
        try:
            with endings.held(run) as current:
                if current is not None:
                    planning.abandon_open_batches(current.chat_id)
                    endings.recover(current, f"the database went away: {error}".strip())
        except DATABASE_AWAY:
            continue
        return
