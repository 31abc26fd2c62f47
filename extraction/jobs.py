"""RQ entry points: ids only, load fresh, idempotent."""

from uuid import UUID

from django.db import DatabaseError

from .models import Run
from .runs import execute


def run_chat(run_id: str) -> str:
    """Execute a queued run; returns its status. A run that someone else claimed or finished is left alone.

    A run that is erased with its chat, before or meanwhile, is "erased".
    """
    try:
        return execute(UUID(run_id)).status
    except (Run.DoesNotExist, DatabaseError):
        if Run.objects.filter(pk=run_id).exists():
            raise
        return "erased"
