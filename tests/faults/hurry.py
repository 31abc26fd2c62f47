"""The same waits, shorter: how long RQ believes in a killed worker, and in a job that was taken and not begun."""

from datetime import timedelta

SECONDS = 6


def install() -> None:
    """In this process only."""
    from rq.intermediate_queue import IntermediateQueue
    from rq.utils import now

    from osii import workers

    workers.LIFE_SECONDS, workers.BEAT_SECONDS = SECONDS, 1

    def should_be_cleaned_up(queue: IntermediateQueue, job_id: str) -> bool:
        seen = queue.get_first_seen(job_id)
        return seen is not None and now() - seen > timedelta(seconds=SECONDS)

    IntermediateQueue.should_be_cleaned_up = should_be_cleaned_up
