"""What starts and stops runs: finish, extract on request, abort, retry what is parked.

Every decision is taken under the chat's row lock, which the end of a run takes too: a trigger that comes while a run
ends is either seen by that run or starts the next one. What may change a run locks it before the chat, as its worker does.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from coverage.models import Chat
from coverage.services import settle

from .llm.choice import model_names
from .locking import with_runs_locked
from .models import Batch, Run
from .running import endings
from .running.planning import abandon_open_batches, split
from .running.queueing import enqueue_run
from .selectors import EXTRACTABLE, IN_FLIGHT, reaches
from .workers import check_model


def finish_chat(chat_id: UUID) -> Run | None:
    """The turn is over: what is still streaming is settled, and a run starts if enough is uncovered.

    Only this triggers extraction by itself; an upsert or an import never does.
    """
    return with_runs_locked(chat_id, _finish)


def _finish(chat: Chat) -> Run | None:
    settle(chat)
    chat.finished_at = timezone.now()
    chat.save(update_fields=("finished_at", "updated_at"))
    stopping = Run.objects.filter(chat=chat, status=Run.Status.RUNNING, abort_requested_at__isnull=False).exists()
    # What a run holds that is about to stop will be uncovered again.
    states = (*EXTRACTABLE, IN_FLIGHT) if stopping else EXTRACTABLE
    if not reaches(chat.pk, settings.EXTRACTION_CHUNK_TOKENS, states=states):
        return None
    return _request(chat, Run.Mode.DUE, settings.EXTRACTION_WORKER, enqueue=True)


def request_run(
    chat_id: UUID, mode: str = Run.Mode.DUE, worker: str | None = None, model: str = "", *, enqueue: bool = True
) -> Run:
    """The active run of this chat, made if there is none; "rest" widens an active run that was only "due".

    ``model`` names the model of a worker that takes one; empty is the default one. With ``enqueue=False`` the caller
    executes the run itself. A run that was told to stop is not joined: what is asked for is kept in its ``following``, and
    starts when it has stopped. Raises ValueError for an unknown mode, worker or model.
    """
    worker = worker or settings.EXTRACTION_WORKER
    if mode not in Run.Mode.values:
        raise ValueError(f"mode must be one of {', '.join(Run.Mode.values)}; not {mode!r}")
    check_worker(worker, model)

    def request(chat: Chat) -> Run:
        if mode == Run.Mode.REST:
            settle(chat)
        return _request(chat, mode, worker, model, enqueue=enqueue)

    return with_runs_locked(chat_id, request)


def check_worker(worker: str, model: str = "") -> None:
    """Raises ValueError when there is no such worker, or it knows no such model."""
    check_model(worker, model)
    if model and model not in model_names():
        raise ValueError(f"there is no model {model!r}; known: {', '.join(model_names()) or 'none'}")


def _request(chat: Chat, mode: str, worker: str, model: str = "", *, enqueue: bool) -> Run:
    run = Run.objects.filter(chat=chat, status__in=Run.ACTIVE).first()
    if run is None:
        run = Run.objects.create(chat=chat, mode=mode, worker=worker, model=model)
        if enqueue:
            enqueue_run(run)
    elif run.abort_requested_at is not None:
        endings.remember(run, mode, worker, model)
    elif mode == Run.Mode.REST and run.mode != mode:
        run.mode = mode
        run.save(update_fields=("mode",))
    return run


def retry_failed_run(run_id: UUID) -> bool:
    """Start a run in the place of one that failed because its worker was unavailable, unless a later one already was."""
    run = Run.objects.filter(pk=run_id, retry_at__isnull=False).first()
    if run is None:
        return False
    try:
        return with_runs_locked(run.chat_id, partial(_retry_run, run))
    except Chat.DoesNotExist:  # erased meanwhile
        return False


def _retry_run(run: Run, chat: Chat) -> bool:
    if not Run.objects.filter(pk=run.pk, retry_at__isnull=False).update(retry_at=None):
        return False
    if Run.objects.filter(chat=chat, queued_at__gt=run.queued_at).exists():
        return False
    again = {"mode": run.mode, "worker": run.worker, "model": run.model, "retries": run.retries + 1}
    enqueue_run(Run.objects.create(chat=chat, **again))
    return True


def abort_run(chat_id: UUID) -> bool:
    """Stop the chat's active run: at once when it only waits, else before its next step. False when none is active.

    The batch in flight is lost and nothing else; its messages stay uncovered. What was asked for since an earlier abort is
    stopped too.
    """
    return with_runs_locked(chat_id, _abort)


def _abort(chat: Chat) -> bool:
    now = timezone.now()
    waiting = Run.objects.filter(chat=chat, status=Run.Status.QUEUED).update(
        status=Run.Status.ABORTED, abort_requested_at=now, finished_at=now
    )
    if waiting:
        # A run that was recovered and waits may have left its batch open.
        abandon_open_batches(chat.pk)
    running = Run.objects.filter(chat=chat, status=Run.Status.RUNNING).update(abort_requested_at=now, following={})
    return bool(waiting or running)


def retry_parked(batch_ids: Iterable[UUID]) -> int:
    """Un-park these batches and run their chats for the rest; returns how many were parked."""
    parked = list(Batch.objects.filter(pk__in=list(batch_ids), status=Batch.Status.PARKED))
    for batch in parked:
        with_runs_locked(batch.chat_id, partial(_retry, batch.pk))
    return len(parked)


def _retry(batch_id: UUID, chat: Chat) -> None:
    Batch.objects.filter(pk=batch_id, status=Batch.Status.PARKED).update(status=Batch.Status.FAILED, failures=0)
    settle(chat)
    _request(chat, Run.Mode.REST, settings.EXTRACTION_WORKER, enqueue=True)


def split_parked(batch_ids: Iterable[UUID]) -> int:
    """Put two smaller batches in the place of each of these parked ones, and run their chats for the rest; returns how
    many were split. A batch that is not parked, or holds a single message, stays as it is.
    """
    parked = list(Batch.objects.filter(pk__in=list(batch_ids), status=Batch.Status.PARKED))
    return sum(with_runs_locked(batch.chat_id, partial(_split, batch.pk)) for batch in parked)


def _split(batch_id: UUID, chat: Chat) -> bool:
    batch = Batch.objects.filter(pk=batch_id, status=Batch.Status.PARKED).first()
    if batch is None or batch.messages.count() < 2:
        return False
    settle(chat)
    run = _request(chat, Run.Mode.REST, settings.EXTRACTION_WORKER, enqueue=True)
    split(batch, run, chat, "half of a parked batch that was split")
    error = f"split between its messages after: {batch.error}"[:2000]
    Batch.objects.filter(pk=batch_id).update(status=Batch.Status.ABORTED, error=error, finished_at=timezone.now())
    return True
