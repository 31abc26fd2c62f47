"""The same waits, shorter: how long RQ believes in a killed worker, and in a job that was taken and not begun."""

SECONDS = 6


def install() -> None:
    """In this process only."""
    from coverage import queueing
    from osii import workers

    workers.LIFE_SECONDS, workers.BEAT_SECONDS = SECONDS, 1
    queueing.TAKEN_SECONDS = SECONDS
