"""What the activity page shows: the backlog with its rate and end, the runs in it, and the runs that ended last."""

from dataclasses import dataclass

from django.db.models import Case, Count, IntegerField, Q, Sum, Value, When
from django.db.models.functions import Coalesce

from extraction.backfill import Backlog, backlog
from extraction.models import Batch, Run
from osii import health
from osii.waiting import eta_words

from .live import chat_workers

ACTIVE_SHOWN = 50
ENDED_SHOWN = 15


@dataclass(frozen=True, slots=True)
class Activity:
    """``active`` are the first runs of the backlog, running ones first, each with ``batches_read`` and ``tokens_read``."""

    backlog: Backlog
    active: list[Run]
    ended: list[Run]
    workers: health.Finding | None

    @property
    def count(self) -> int:
        return self.backlog.queued + self.backlog.running

    @property
    def eta(self) -> str:
        return eta_words(self.backlog.eta)


def read_activity() -> Activity:
    state = backlog()
    return Activity(
        backlog=state,
        active=_active(),
        ended=list(
            Run.objects.filter(finished_at__isnull=False)
            .select_related("chat__learner")
            .order_by("-finished_at", "id")[:ENDED_SHOWN]
        ),
        workers=chat_workers() if state.queued else None,
    )


def _active() -> list[Run]:
    """A page of runs first, then what only these have read: a backlog may hold thousands."""
    running_first = Case(When(status=Run.Status.RUNNING, then=Value(0)), default=1, output_field=IntegerField())
    runs = list(
        Run.objects.filter(status__in=Run.ACTIVE)
        .select_related("chat__learner")
        .order_by(running_first, "queued_at", "id")[:ACTIVE_SHOWN]
    )
    done = Q(status=Batch.Status.SUCCEEDED)
    read = {
        row["run"]: row
        for row in Batch.objects.filter(done, run__in=runs)
        .order_by()
        .values("run")
        .annotate(batches=Count("pk"), sum=Coalesce(Sum("tokens"), 0))
    }
    for run in runs:
        row = read.get(run.pk, {"batches": 0, "sum": 0})
        run.batches_read, run.tokens_read = row["batches"], row["sum"]
    return runs
