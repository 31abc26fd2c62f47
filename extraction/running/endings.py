"""How a run ends or goes back to the queue: in one transaction that holds its row and then its chat's.

What is asked for while a run that was told to stop has not stopped yet is kept on its row, and starts as a run of its own
when it has. Times that decide what happens next are the database's: the clocks of several machines may differ, or jump.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from coverage.services import lock_chat

from ..models import Run
from ..redaction import redact
from .leases import limit_silence
from .planning import abandon_open_batches
from .queueing import enqueue_run

MAX_RECOVERIES = 10
"""Workers lost outside any batch count on no batch; a run that is lost this often without reading a batch is failed for good."""


@contextmanager
def held(run: Run, running: QuerySet[Run] | None = None) -> Iterator[Run | None]:
    """The run as it stands, locked with its chat, if this attempt still holds it; else None.

    ``running`` narrows which run is taken, and how its row is locked.
    """
    rows = Run.objects.select_for_update(no_key=True) if running is None else running
    with transaction.atomic():
        limit_silence()
        current = rows.filter(pk=run.pk, status=Run.Status.RUNNING, attempt_token=run.attempt_token).first()
        if current is not None:
            lock_chat(current.chat_id)
        yield current


def end_aborted(run: Run) -> None:
    """The run ends as aborted; what was asked for meanwhile starts. The batch in flight is lost, and nothing else."""
    with held(run) as current:
        if current is not None:
            _abort(current)


def hand_back(run: Run) -> None:
    """The run waits again to be enqueued; a batch in flight is lost. Neither a recovery nor a failure: nobody is to blame."""
    with held(run) as current:
        if current is None:
            return
        if current.abort_requested_at is not None:
            _abort(current)
        else:
            abandon_open_batches(current.chat_id)
            _wait_again(current)


def recover(current: Run, why: str) -> bool:
    """The run was lost once more: it waits again, or ends when it was told to, or was lost too often. True while it waits.

    The caller holds the run (see ``held``).
    """
    current.recoveries += 1
    current.fruitless += 1
    if current.abort_requested_at is not None:
        _abort(current)
    elif current.fruitless > MAX_RECOVERIES:
        abandon_open_batches(current.chat_id)
        _end(current, Run.Status.FAILED, error=redact(f"lost {current.fruitless} times, at last because {why}")[:2000])
    else:
        _wait_again(current)
        return True
    return False


def end_unavailable(run: Run, error: str, pause: timedelta | None) -> None:
    """The run fails with what is wrong with its worker; it is tried again after ``pause``, if that is given."""
    with held(run) as current:
        if current is None:
            return
        if current.abort_requested_at is not None:
            _abort(current)
        else:
            _end(current, Run.Status.FAILED, error=redact(error)[:2000], retry_at=pause and Now() + pause)


def remember(run: Run, mode: str, worker: str, model: str) -> None:
    """Keep, on a run that was told to stop, what was asked for meanwhile; "rest" is not narrowed by "due"."""
    if mode == Run.Mode.REST or not run.following:
        run.following = {"mode": mode, "worker": worker, "model": model}
        run.save(update_fields=("following",))


def _abort(current: Run) -> None:
    abandon_open_batches(current.chat_id)
    _end(current, Run.Status.ABORTED, error="")
    if current.following:
        enqueue_run(Run.objects.create(chat_id=current.chat_id, **current.following))


def _end(current: Run, status: str, **values: object) -> None:
    _write(current, status=status, finished_at=timezone.now(), **values)


def _wait_again(current: Run) -> None:
    _write(current, status=Run.Status.QUEUED, attempt_token=None, lease_expires_at=None, queued_at=Now())


def _write(current: Run, **values: object) -> None:
    for name, value in values.items():
        setattr(current, name, value)
    current.save(update_fields=("recoveries", "fruitless", *values))
