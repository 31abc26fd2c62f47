"""RQ entry points: they take ids, load fresh rows, and may run any number of times."""

from uuid import UUID

from django.conf import settings
from django.db.utils import Error

from coverage.queueing import stop_requested

from . import spending
from .models import Run
from .running.queueing import enqueue_run
from .running.runs import execute


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
