"""How a run ends: when none of its items is left to do, whoever notices it first."""

from uuid import UUID

from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Now

from .run_models import ProcessingItem, ProcessingRun


def settle(run_id: UUID) -> bool:
    """End the run if nothing of it is left to do; True when this call did.

    Asked after an item's end has committed: of two that end at once, the later one sees both.
    """
    open_items = ProcessingItem.objects.filter(run=run_id, status__in=ProcessingItem.OPEN)
    if open_items.exists():
        return False
    with transaction.atomic():
        run = ProcessingRun.objects.select_for_update(no_key=True).filter(pk=run_id).first()
        if run is None or not run.active or open_items.exists():
            return False
        status, error = outcome(run, counts([run_id])[run_id])
        ProcessingRun.objects.filter(pk=run_id).update(status=status, error=error, finished_at=Now())
    return True


def outcome(run: ProcessingRun, by_status: dict[str, int]) -> tuple[str, str]:
    """(status, error) of a run whose items have ended like this. One of which nothing succeeded is failed."""
    failed = by_status.get(ProcessingItem.Status.FAILED, 0)
    if run.cancel_requested_at is not None:
        return ProcessingRun.Status.CANCELLED, ""
    if failed and not by_status.get(ProcessingItem.Status.SUCCEEDED, 0):
        return (
            ProcessingRun.Status.FAILED,
            "the only document failed" if failed == 1 else f"all {failed:,} documents failed",
        )
    return ProcessingRun.Status.SUCCEEDED, ""


def counts(run_ids: list[UUID]) -> dict[UUID, dict[str, int]]:
    """How many items of each run have each status; one query."""
    rows = (
        ProcessingItem.objects.filter(run__in=run_ids)
        .order_by()
        .values("run", "status")
        .annotate(items=Count("pk"))
        .values_list("run", "status", "items")
    )
    found: dict[UUID, dict[str, int]] = {run_id: {} for run_id in run_ids}
    for run_id, status, items in rows:
        found[run_id][status] = items
    return found
