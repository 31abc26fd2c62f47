"""Caps on what is read: in tokens and in money, per run and per day. What was spent is derived from rows, never counted up.

A batch costs its tokens once per attempt; what a model was paid stands in the lines of ``ModelUse``. A batch begins only
while no cap is reached, so each worker may pass a cap on tokens by at most the batch that it is in. Money is also looked at
before each request: there a cap is passed by one request, and ends the batch.
"""

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from coverage.ids import new_id

from .models import Batch, ModelUse, Run
from .workers import Allowance, WorkerReport, paid_workers

DAY = timedelta(days=1)
ENDED = (Batch.Status.SUCCEEDED, Batch.Status.FAILED, Batch.Status.PARKED)
COUNTED = (
    "requests", "retries", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    "refusals", "fallbacks",
)  # fmt: skip
NOTHING = Decimal(0)


def record_use(batch: Batch, agent: str, report: WorkerReport) -> None:
    """Append what an agent used of a model in this attempt; nothing where it sent no request."""
    record(agent, report, batch=batch, run=batch.run_id or batch.pk, attempt=batch.attempt)


def record(
    agent: str, report: WorkerReport, *, batch: Batch | None = None, run: UUID | None = None, attempt: int = 1
) -> None:
    """The same for what is no batch, which counts towards the caps of a day."""
    if report.model is None or not report.usage["requests"]:
        return
    ModelUse.objects.create(
        batch=batch,
        run=run or new_id(),
        attempt=attempt,
        agent=agent,
        model=report.model,
        usage={name: report.usage[name] for name in COUNTED if report.usage[name]},
        cost=report.cost,
    )


def spent_by_run(run_id: UUID) -> int:
    """Tokens that this run's batches read so far."""
    return _tokens(run=run_id)


def spent_in_a_day() -> int:
    """Tokens of all batches that ended in the last 24 hours."""
    return _tokens(finished_at__gt=timezone.now() - DAY)


def _tokens(**which: object) -> int:
    cost = Coalesce(Sum(F("tokens") * F("attempt")), 0)
    return Batch.objects.filter(status__in=ENDED, **which).aggregate(cost=cost)["cost"]


def cost_of_run(run_id: UUID) -> Decimal:
    """What this run paid for models so far, as far as prices are known."""
    return _cost(Q(run=run_id))


def cost_in_a_day() -> Decimal:
    """What was paid for models in the last 24 hours, as far as prices are known."""
    return _cost(Q(created_at__gt=timezone.now() - DAY))


def _cost(which: Q) -> Decimal:
    return ModelUse.objects.filter(which).aggregate(cost=Sum("cost"))["cost"] or NOTHING


def allowance(run_id: UUID) -> Allowance | None:
    """What a batch of this run may cost from now on; None without a cap on money."""
    left = []
    if settings.EXTRACTION_COST_PER_RUN:
        left.append(_left(settings.EXTRACTION_COST_PER_RUN, cost_of_run(run_id), "EXTRACTION_COST_PER_RUN"))
    if settings.EXTRACTION_COST_PER_DAY:
        left.append(_left(settings.EXTRACTION_COST_PER_DAY, cost_in_a_day(), "EXTRACTION_COST_PER_DAY"))
    return min(left, key=lambda one: one.amount, default=None)


def _left(cap: Decimal, spent: Decimal, name: str) -> Allowance:
    return Allowance(max(NOTHING, cap - spent), name)


def run_is_spent(run_id: UUID) -> str:
    """Why this run may begin no further batch; empty when it may."""
    cap = settings.EXTRACTION_TOKENS_PER_RUN
    if cap and (spent := spent_by_run(run_id)) >= cap:
        return f"stopped at its cap: it read {spent:,} tokens, and EXTRACTION_TOKENS_PER_RUN is {cap:,}; the rest is unread"
    most = settings.EXTRACTION_COST_PER_RUN
    if most and (paid := cost_of_run(run_id)) >= most:
        return f"stopped at its cap: it cost {money(paid)}, and EXTRACTION_COST_PER_RUN is {money(most)}; the rest is unread"
    return ""


def day_is_spent(worker: str = "") -> str:
    """Why no run may begin a batch now, or none of this worker; empty when one may. Money holds only who costs some."""
    return _tokens_of_the_day() or ("" if worker and worker not in paid_workers() else _money_of_the_day())


def not_held(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Of these runs, those that may begin a batch as far as the daily caps go."""
    if _tokens_of_the_day():
        return runs.none()
    return runs.exclude(worker__in=paid_workers()) if _money_of_the_day() else runs


def _tokens_of_the_day() -> str:
    cap = settings.EXTRACTION_TOKENS_PER_DAY
    if cap and (spent := spent_in_a_day()) >= cap:
        return (
            f"runs wait for the daily cap: {spent:,} tokens were read in the last 24 hours, "
            f"and EXTRACTION_TOKENS_PER_DAY is {cap:,}"
        )
    return ""


def _money_of_the_day() -> str:
    most = settings.EXTRACTION_COST_PER_DAY
    if most and (paid := cost_in_a_day()) >= most:
        return (
            f"runs with a model wait for the daily cap: models cost {money(paid)} in the last 24 hours, "
            f"and EXTRACTION_COST_PER_DAY is {money(most)}"
        )
    return ""


def money(amount: Decimal) -> str:
    """An amount in the currency of the prices, to a hundredth, or to the first digits that say something."""
    places = 2 if not amount or amount >= Decimal("0.1") else 4 if amount >= Decimal("0.001") else 6
    return f"{amount:,.{places}f} {settings.OSII_CURRENCY}"


def total_use(uses: Any) -> dict[str, Any]:
    """Requests, tokens in and out, and the cost of a queryset of uses; ``cost`` is None where no price is known.

    ``unpriced`` says how many of them have no known cost, so that a sum is not taken for all.
    """
    rows = list(uses.values_list("usage", "cost"))
    costs = [cost for _, cost in rows if cost is not None]
    return {
        "requests": sum(usage.get("requests", 0) for usage, _ in rows),
        "input_tokens": sum(usage.get("input_tokens", 0) for usage, _ in rows),
        "output_tokens": sum(usage.get("output_tokens", 0) for usage, _ in rows),
        "cost": sum(costs, NOTHING) if costs else None,
        "unpriced": len(rows) - len(costs),
    }


def add_uses(uses: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of several ``total_use``."""
    rows = list(uses)
    costs = [row["cost"] for row in rows if row["cost"] is not None]
    counted = ("requests", "input_tokens", "output_tokens", "unpriced")
    return {name: sum(row[name] for row in rows) for name in counted} | {"cost": sum(costs, NOTHING) if costs else None}


def use_of_chat(chat_id: UUID) -> dict[str, Any]:
    """What every reading of a chat so far used of models: ``requests``, and ``cost`` and ``unpriced`` as in ``total_use``."""
    return ModelUse.objects.filter(batch__chat=chat_id).aggregate(
        requests=Count("pk"), unpriced=Count("pk", filter=Q(cost__isnull=True)), cost=Sum("cost")
    )


def with_batch_costs(batches: Iterable[Batch]) -> list[Batch]:
    """The batches with ``cost``: what models were paid for all attempts; None where nothing was, or no price is known."""
    batches = list(batches)
    paid = dict(ModelUse.objects.filter(batch__in=batches).order_by().values_list("batch").annotate(sum=Sum("cost")))
    for batch in batches:
        batch.cost = paid.get(batch.pk)
    return batches


def with_run_costs(runs: Iterable[Run]) -> list[Run]:
    """The runs with ``cost``, as above."""
    runs = list(runs)
    ids = [run.pk for run in runs]
    paid = dict(ModelUse.objects.filter(run__in=ids).order_by().values_list("run").annotate(sum=Sum("cost")))
    for run in runs:
        run.cost = paid.get(run.pk)
    return runs
