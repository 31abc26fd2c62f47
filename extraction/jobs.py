"""RQ entry points: ids only, load fresh, idempotent."""

from uuid import UUID

from .runs import execute


def run_chat(run_id: str) -> str:
    """Execute a queued run; returns its status. A run that someone else claimed or finished is left alone."""
    run = execute(UUID(run_id))
    return run.status
