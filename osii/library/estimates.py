"""What steps will take, and use of a model, from what the latest ones took and used: ranges, because documents differ."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F

from extraction.llm.choice import choose
from extraction.models import ModelUse
from extraction.workers import WorkerUnavailable

from .methods import Wanted
from .models import Output, OutputKind
from .run_models import ProcessingStep, Step
from .synthesis import AGENT

LATEST = 200
LEAST = 5
"""From fewer, nothing is foretold."""
BY_MODEL = "llm"
"""The name of the methods that ask a language model."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """(least, most) for all documents, between the quartiles of the latest; None when too few were done, or nothing is to do.

    ``seconds`` are of one worker. ``tokens`` are those that the model's provider counts, in and out; ``cost`` is in the
    currency of the prices.
    """

    seconds: tuple[float, float] | None = None
    tokens: tuple[int, int] | None = None
    cost: tuple[Decimal, Decimal] | None = None


def estimate(step: str, method: str, wanted: Wanted | None, count: int) -> Estimate:
    """For ``count`` documents; ``wanted`` is what a step must make of a text."""
    if not count:
        return Estimate()
    uses = _uses(step, wanted) if wanted and method == BY_MODEL else []
    costs = [cost for _, cost in uses if cost is not None]
    return Estimate(
        _range(_seconds(step, method), count),
        _range([tokens for tokens, _ in uses], count),
        _range(costs if len(costs) == len(uses) else [], count),
    )


def _range(latest: Iterable[Any], count: int) -> tuple[Any, Any] | None:
    ordered = sorted(latest)
    if len(ordered) < LEAST:
        return None
    least, most = (round(ordered[at * len(ordered) // 4] * count, 6) for at in (1, 3))
    return least, most


def _seconds(step: str, method: str) -> list[float]:
    rows = ProcessingStep.objects.filter(step=step, status=ProcessingStep.Status.SUCCEEDED)
    if step != Step.EXTRACT:
        rows = rows.filter(output__method=method)
    taken = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    return [
        round(each.total_seconds(), 3) for each in rows.order_by("-finished_at").values_list(taken, flat=True)[:LATEST]
    ]


def _uses(step: str, wanted: Wanted) -> Sequence[tuple[int, Decimal | None]]:
    """(tokens, cost) of each of the latest documents that this step did by the model that is asked for."""
    try:
        name = choose(str(wanted.options.get("model", ""))).name
    except WorkerUnavailable:
        return []
    lines: Iterable[tuple[Any, dict[str, int], Decimal | None]]
    if step == Step.SYNTHESIS:
        rows = ModelUse.objects.filter(batch=None, agent=AGENT, model__name=name)
        lines = rows.order_by("-created_at").values_list("run", "usage", "cost")[:LATEST]
    else:
        outputs = Output.objects.filter(
            kind=OutputKind.PROPOSITIONS, method=BY_MODEL, status=Output.Status.SUCCEEDED
        ).order_by("-created_at")[:LATEST]
        read = dict(outputs.values_list("source_extraction", "document"))
        rows = ModelUse.objects.filter(
            batch__document__in=read.values(), batch__extraction_id__in=read, batch__model__name=name
        )
        lines = rows.values_list("batch__extraction_id", "usage", "cost")
    tokens: defaultdict[Any, int] = defaultdict(int)
    costs: defaultdict[Any, list[Decimal | None]] = defaultdict(list)
    for key, usage, cost in lines:
        tokens[key] += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        costs[key].append(cost)
    return [
        (tokens[key], None if None in found else sum(filter(None, found), Decimal(0))) for key, found in costs.items()
    ]
