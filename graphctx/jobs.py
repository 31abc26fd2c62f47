"""RQ entry points: they take ids, load fresh rows, and may run any number of times."""

from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist

from . import steers


def prepare_steer(steer_id: str) -> str:
    """Prepare one steer; returns its status. One whose chat has gone meanwhile needs none."""
    try:
        return steers.prepare(UUID(steer_id)).status
    except ObjectDoesNotExist:
        return "gone"
