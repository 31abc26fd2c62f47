"""RQ's entry point of the library's runs: one item for each job, on as many workers as there are."""

import logging
from itertools import islice
from uuid import UUID

from django.db import transaction
from rq.timeouts import BaseTimeoutException

from coverage.queueing import LIBRARY, enqueue_missing, stop_requested
from extraction.running.leases import DATABASE_AWAY, WorkerStopping

from . import steps
from .base import ENDINGS
from .items import Holding, ItemLost, RunCancelled, RunPaused, claim
from .run_models import ProcessingItem, ProcessingRun, ProcessingStep, Step
from .settling import settle

logger = logging.getLogger(__name__)

WINDOW = 32
"""How many items of a run wait in the queue at a time. Each that is done brings the next, so a run of 100,000 does not
keep the others waiting, and no request waits until all are enqueued."""


def process_item(item_id: str) -> str:
    """Do a queued item; returns its status. One that someone else claimed or that rests is left alone."""
    item = execute(int(item_id))
    return item.status if item else "erased"


def execute(item_id: int) -> ProcessingItem | None:
    """Do a queued item to its end in this process and return it as it then stands; None when it is gone.

    When the database goes away the item stays as it is, and the reconciler gives it to another worker.
    """
    item = claim(item_id)
    if item is not None:
        with Holding(item) as holding:
            _attempt(holding)
        settle(item.run_id)
        if not stop_requested.is_set():
            top_up(item.run_id)
    return ProcessingItem.objects.filter(pk=item_id).first()


def top_up(run_id: UUID) -> int:
    """Enqueue the next items of a run that goes on, so far as they are not; returns how many were not. After a commit."""
    waiting = (
        ProcessingItem.objects.filter(
            run=run_id,
            status=ProcessingItem.Status.QUEUED,
            run__status__in=(ProcessingRun.Status.QUEUED, ProcessingRun.Status.RUNNING),
            run__cancel_requested_at__isnull=True,
        )
        .order_by("position")
        .values_list("pk", "attempt")[:WINDOW]
    )
    return enqueue_missing(LIBRARY, process_item, {job_id(pk, attempt): (str(pk),) for pk, attempt in waiting})


def top_up_on_commit(run_id: UUID) -> None:
    transaction.on_commit(lambda: top_up(run_id), robust=True)


def job_id(item_id: int, attempt: int) -> str:
    """Names the attempt, so enqueuing twice is harmless."""
    return f"item-{item_id}-{attempt + 1}"


def _attempt(holding: Holding) -> None:
    item = holding.item
    try:
        errors = _do_steps(holding)
    except ItemLost as error:
        logger.warning("%s; leaving it to its new holder", error)
    except RunCancelled:
        holding.end(ProcessingItem.Status.CANCELLED)
    except (WorkerStopping, RunPaused):
        holding.hand_back()
    except KeyboardInterrupt:
        holding.hand_back()
        raise
    except (*DATABASE_AWAY, BaseTimeoutException, *ENDINGS):
        raise
    except BaseException as error:
        logger.exception("Item %s of run %s failed", item.pk, item.run_id)
        holding.end(ProcessingItem.Status.FAILED, f"internal: {type(error).__name__}: {error}"[:2000])
    else:
        status = ProcessingItem.Status.FAILED if errors else ProcessingItem.Status.SUCCEEDED
        holding.end(status, "; ".join(islice(errors, 3))[:2000])


def _do_steps(holding: Holding) -> list[str]:
    """Do what is not done yet, in order; returns what went wrong. What failed keeps only those that need it from running."""
    item = holding.item
    operations = {operation["id"]: operation for operation in item.run.operations}
    there = dict(item.step_rows.values_list("step", "status"))
    done = {step for step, status in there.items() if status in ProcessingStep.DONE}
    errors = []
    for step in sorted(set(item.steps) - done, key=Step.values.index):
        holding.checkpoint()
        row = holding.begin(step)
        lacking = next(
            (need for need in steps.NEEDS.get(Step(step), ()) if need in item.steps and need not in done), None
        )
        if lacking is not None:
            outcome = steps.Outcome(steps.BLOCKED, f"not_done: {Step(lacking).label.lower()} was not done")
        else:
            outcome = _outcome(holding, row, operations[step])
        holding.finish(
            row, outcome.status, error=outcome.error, extraction=outcome.extraction_id, output=outcome.output_id
        )
        if outcome.status in ProcessingStep.DONE:
            done.add(step)
        elif lacking is None:
            errors.append(f"{step}: {outcome.error}")
    return errors


def _outcome(holding: Holding, row: ProcessingStep, operation: dict) -> steps.Outcome:
    """What the step came to; a fault of ours fails the step and lets the others be done."""
    item = holding.item
    known = item.document_id
    try:
        outcome = steps.do(item, row, operation, holding.checkpoint)
    except (
        ItemLost, RunCancelled, RunPaused, WorkerStopping, *DATABASE_AWAY, BaseTimeoutException, *ENDINGS,
    ):  # fmt: skip
        raise
    except BaseException as error:
        logger.exception("Step %s of item %s failed", row.step, item.pk)
        return steps.Outcome(steps.FAILED, f"internal: {type(error).__name__}: {error}"[:2000])
    if item.document_id != known:
        holding.found(item.document_id)
    return outcome
