"""How a run that waits gets to a worker."""

from collections.abc import Iterable

from coverage.queueing import CHATS, enqueue_missing, enqueue_on_commit

from ..models import Run

RUN_CHAT = "extraction.jobs.run_chat"


def enqueue_run(run: Run) -> None:
    """Enqueue a queued run; the job's id names the attempt, so enqueuing twice is harmless."""
    enqueue_on_commit(CHATS, RUN_CHAT, str(run.pk), job_id=job_id(run))


def enqueue_runs(runs: Iterable[Run]) -> int:
    """Enqueue those of these queued runs, in order, that have no job in the queue; returns how many had none."""
    return enqueue_missing(CHATS, RUN_CHAT, {job_id(run): (str(run.pk),) for run in runs})


def job_id(run: Run) -> str:
    return f"run-{run.pk}-{run.attempt + 1}"
