"""RQ entry points (ids only, load fresh, idempotent), and how a run gets to one."""

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db.utils import Error

from coverage.queueing import CHATS, enqueue_missing, enqueue_on_commit, stop_requested

from . import spending
from .models import Run
from .runs import execute


def run_chat(run_id: str) -> str:
    """Execute one turn of a queued run; returns its status. A run that someone else claimed or finished is left alone.

    A run with more to read goes to the end of the queue, so that a long chat does not keep the others waiting. A run that
    is erased with its chat, before or meanwhile, is "erased".
    """
    try:
        run = execute(UUID(run_id), turn=settings.EXTRACTION_TURN_BATCHES)
    except (Run.DoesNotExist, Error):
        if Run.objects.filter(pk=run_id).exists():
            raise
        return "erased"
    # What a stopping worker hands back and what waits for the daily cap, the reconciler enqueues.
    if run.status == Run.Status.QUEUED and not stop_requested.is_set() and not spending.day_is_spent(run.worker):
        enqueue_run(run)
    return run.status


def enqueue_run(run: Run) -> None:
    """Enqueue a queued run; the job's id names the attempt, so enqueuing twice is harmless."""
    enqueue_on_commit(CHATS, run_chat, str(run.pk), job_id=job_id(run))


def enqueue_runs(runs: Iterable[Run]) -> int:
    """Enqueue those of these queued runs, in order, that have no job in the queue; returns how many had none."""
    return enqueue_missing(CHATS, run_chat, {job_id(run): (str(run.pk),) for run in runs})


def job_id(run: Run) -> str:
    return f"run-{run.pk}-{run.attempt + 1}"
