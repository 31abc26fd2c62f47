"""How far runs are: counts, rate, time left, who works on them and when they were last heard of. All from the items."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Now
from django.utils import timezone

from .run_models import ProcessingItem, ProcessingRun, ProcessingStep
from .settling import counts

LATELY = timedelta(minutes=5)
WORKERS_SHOWN = 20


@dataclass(slots=True)
class Progress:
    """Of one run. ``total`` leaves out blocked items, which are never done. ``rate`` is documents a minute, ``eta``
    (least, most) seconds: from the rate lately and the rate since the start."""

    total: int = 0
    queued: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    blocked: int = 0
    cancelled: int = 0
    rate: float | None = None
    eta: tuple[float, float] | None = None
    heartbeat_at: datetime | None = None
    workers: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        return self.succeeded + self.failed + self.cancelled

    def to_dict(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "done": self.done,
            "queued": self.queued,
            "running": self.running,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "blocked": self.blocked,
            "cancelled": self.cancelled,
            "rate_per_minute": self.rate,
            "eta_seconds": list(self.eta) if self.eta else None,
            "heartbeat_at": self.heartbeat_at and self.heartbeat_at.isoformat(),
            "workers": self.workers,
        }


def of_runs(runs: Sequence[ProcessingRun]) -> dict[UUID, Progress]:
    """Two queries, whatever the number of runs; three while one of them is active."""
    ids = [run.pk for run in runs]
    found = {run_id: Progress(**by_status) for run_id, by_status in counts(ids).items()}
    for one in found.values():
        one.total = one.queued + one.running + one.done
    if active := [run for run in runs if run.active]:
        _add_pace(active, found)
        _add_holders([run.pk for run in active], found)
    return found


def of(run: ProcessingRun) -> Progress:
    return of_runs([run])[run.pk]


def _add_pace(runs: Sequence[ProcessingRun], found: dict[UUID, Progress]) -> None:
    now = timezone.now()
    ended = Q(finished_at__isnull=False)
    rows = (
        ProcessingItem.objects.filter(run__in=runs, status__in=("succeeded", "failed"))
        .filter(ended)
        .order_by()
        .values("run")
        .annotate(
            all=Count("pk"), first=Min("started_at"), lately=Count("pk", filter=Q(finished_at__gte=Now() - LATELY))
        )
        .values_list("run", "all", "first", "lately")
    )
    for run_id, all_done, first, lately in rows:
        one = found[run_id]
        since = max((now - first).total_seconds(), 1.0)
        paces = {all_done / since}
        if lately:
            paces.add(lately / min(since, LATELY.total_seconds()))
        one.rate = round(60 * (lately / min(since, LATELY.total_seconds()) if lately else all_done / since), 2)
        left = one.queued + one.running
        if left and all(paces):
            one.eta = (round(left / max(paces), 1), round(left / min(paces), 1))


def _add_holders(ids: list[UUID], found: dict[UUID, Progress]) -> None:
    rows = (
        ProcessingItem.objects.filter(run__in=ids, status=ProcessingItem.Status.RUNNING)
        .order_by("held_by")
        .values("run", "held_by")
        .annotate(heard=Max("heartbeat_at"))
        .values_list("run", "held_by", "heard")
    )
    for run_id, held_by, heard in rows:
        one = found[run_id]
        one.heartbeat_at = max(filter(None, (one.heartbeat_at, heard)), default=None)
        if len(one.workers) < WORKERS_SHOWN:
            one.workers.append(held_by)


def items(
    run_id: UUID, status: str | None = None, *, offset: int = 0, limit: int = 50
) -> tuple[list[ProcessingItem], int]:
    """(items with their documents and steps, their number), in the run's order; three queries."""
    rows = ProcessingItem.objects.filter(run=run_id)
    if status is not None:
        rows = rows.filter(status=status)
    page = rows.select_related("document").prefetch_related("step_rows").order_by("position")[offset : offset + limit]
    return list(page), rows.count()


def steps(run_id: UUID) -> dict[str, dict[str, int]]:
    """How many items have each step in each state: {"chunks": {"succeeded": 10, "running": 1}}; one query."""
    rows = (
        ProcessingStep.objects.filter(item__run=run_id)
        .order_by()
        .values("step", "status")
        .annotate(rows=Count("pk"))
        .values_list("step", "status", "rows")
    )
    found: dict[str, dict[str, int]] = {}
    for step, status, count in rows:
        found.setdefault(step, {})[status] = count
    return found
