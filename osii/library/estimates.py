"""How long steps will take, from how long the latest ones took: a range, because documents differ."""

from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, F

from .run_models import ProcessingStep, Step

LATEST = 200
LEAST = 5
"""From fewer, nothing is foretold."""


def seconds(step: str, method: str, count: int) -> tuple[float, float] | None:
    """(least, most) seconds for one worker to do ``count`` documents, between the quartiles of the latest; None when
    too few were done, or nothing is to do."""
    if not count:
        return None
    rows = ProcessingStep.objects.filter(step=step, status=ProcessingStep.Status.SUCCEEDED)
    if step != Step.EXTRACT:
        rows = rows.filter(output__method=method)
    taken = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    latest = sorted(rows.order_by("-finished_at").values_list(taken, flat=True)[:LATEST])
    if len(latest) < LEAST:
        return None
    return _all(latest[len(latest) // 4], count), _all(latest[3 * len(latest) // 4], count)


def _all(each: timedelta, count: int) -> float:
    return round(each.total_seconds() * count, 3)
