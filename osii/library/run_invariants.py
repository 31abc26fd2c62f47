"""What must always hold of processing runs; each violation is one line of text."""

from collections.abc import Iterator
from datetime import timedelta

from django.db import connection
from django.db.models import Count, Q
from django.db.models.functions import Now

from extraction.models import Batch

from .run_models import ProcessingItem, ProcessingRun, ProcessingStep

GRACE = timedelta(minutes=2)
"""The reconciler comes every few seconds; what is still wrong after this long it does not see."""


def check() -> Iterator[str]:
    yield from _leases()
    yield from _readings()
    yield from _idle()
    yield from _steps()
    yield from _ended()


def _leases() -> Iterator[str]:
    for item in ProcessingItem.objects.filter(status="running", lease_expires_at__lt=Now() - GRACE):
        yield f"item {item.pk} of run {item.run_id} is running, but its lease ended at {item.lease_expires_at:%Y-%m-%d %H:%M:%S} UTC"


def _readings() -> Iterator[str]:
    """A batch of a document is open while a worker has the document in hand."""
    in_hand = ProcessingItem.objects.filter(status="running", document__isnull=False).values("document")
    lost = Batch.objects.filter(status="running", document__isnull=False, created_at__lt=Now() - GRACE)
    for batch in lost.exclude(document__in=in_hand):
        yield f"batch {batch.pk} of {batch.document_id} is open, but no worker has its document in hand"


def _idle() -> Iterator[str]:
    """Active runs of which nothing is left to do: the reconciler ends them at once."""
    rows = ProcessingRun.objects.filter(status__in=ProcessingRun.ACTIVE, queued_at__lt=Now() - GRACE).annotate(
        open=Count("items", filter=Q(items__status__in=ProcessingItem.OPEN))
    )
    for run in rows.filter(open=0):
        recent = run.items.filter(finished_at__gt=Now() - GRACE).exists()
        if not recent:
            yield f"run {run.pk} is {run.status}, but none of its items is left to do"


def _steps() -> Iterator[str]:
    """An item that succeeded has every step done; a step is running in a running or waiting item only."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.id, i.run_id, count(s.id) FILTER (WHERE s.status IN ('succeeded', 'current')), cardinality(i.steps) "
            "FROM osii_processingitem i LEFT JOIN osii_processingstep s ON s.item_id = i.id WHERE i.status = 'succeeded' "
            "GROUP BY i.id HAVING count(s.id) FILTER (WHERE s.status IN ('succeeded', 'current')) <> cardinality(i.steps)"
        )
        for item_id, run_id, done, planned in cursor.fetchall():
            yield f"item {item_id} of run {run_id} succeeded with {done} of its {planned} steps done"
    for step in ProcessingStep.objects.filter(status="running", item__status__in=("succeeded", "blocked")):
        yield f"step {step.step} of item {step.item_id} is running, but the item has ended"


def _ended() -> Iterator[str]:
    """How a run ended agrees with how its items did, where none of them has gone with an erased document."""
    rows = ProcessingRun.objects.filter(status__in=("succeeded", "failed")).annotate(
        good=Count("items", filter=Q(items__status="succeeded")), bad=Count("items", filter=Q(items__status="failed"))
    )
    for run in rows.filter(Q(status="failed", good__gt=0) | Q(status="succeeded", good=0, bad__gt=0)):
        eligible = run.plan.get("processing_plan", {}).get("eligible_count", 0)
        erased = eligible - run.good - run.bad
        if run.status == "failed" or erased <= 0:
            yield f"run {run.pk} is {run.status}, but {run.good} of its items succeeded and {run.bad} failed"
