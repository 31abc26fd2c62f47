"""A processing run as its page shows it and refreshes it while it is active."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator

from coverage.queueing import LIBRARY
from osii.library import progress
from osii.library.progress import Progress
from osii.library.run_models import ProcessingItem, ProcessingRun, ProcessingStep, Step
from osii.waiting import eta_words

from .live import queue_workers

ITEMS_PER_PAGE = 50


HEADS: dict[str, str] = {ProcessingRun.Workflow.INTAKE: "Add files", ProcessingRun.Workflow.LIBRARY: "Process library"}


def run_title(run: ProcessingRun) -> str:
    """What a run does, in words: "Add files: extract, chunks"."""
    steps = [operation["id"] for operation in run.operations if operation["id"] != "add"]
    head = HEADS[run.workflow]
    return f"{head}: {', '.join(steps)}" if steps else head


@dataclass(frozen=True, slots=True)
class Phase:
    """One step over all documents of the run: ``done`` of ``total``."""

    step: str
    label: str
    method: str
    done: int
    failed: int
    blocked: int
    running: int
    total: int


def state_context(run: ProcessingRun) -> dict[str, Any]:
    """What the live fragment needs, in a fixed number of queries."""
    now = progress.of(run)
    waits = run.status == ProcessingRun.Status.QUEUED
    return {
        "run": run,
        "progress": now,
        "phases": phases(run, now),
        "eta": eta_words(now.eta) if now.eta else "",
        "workers": queue_workers(LIBRARY) if waits else None,
        "seen": _token(run, now),
    }


def phases(run: ProcessingRun, now: Progress) -> list[Phase]:
    """How far each step is. Of the plan: how many documents were to have it."""
    states = progress.steps(run.pk)
    planned = {step["id"]: step["eligible_count"] for step in run.plan.get("processing_plan", {}).get("steps", [])}
    whole = run.workflow == ProcessingRun.Workflow.INTAKE  # each file goes through all of it
    found = []
    for operation in run.operations:
        step = operation["id"]
        by_status = states.get(step, {})
        done = sum(by_status.get(status, 0) for status in ProcessingStep.DONE)
        found.append(
            Phase(
                step,
                Step(step).label,
                operation.get("method") or "",
                done,
                by_status.get(ProcessingStep.Status.FAILED, 0),
                by_status.get(ProcessingStep.Status.BLOCKED, 0),
                by_status.get(ProcessingStep.Status.RUNNING, 0),
                now.total if whole else planned.get(step, now.total),
            )
        )
    return found


def _token(run: ProcessingRun, now: Progress) -> str:
    """Changes when anything that the fragment shows changes; an unchanged one is not sent again."""
    seen = (
        run.status,
        run.cancelling,
        now.queued,
        now.running,
        now.succeeded,
        now.failed,
        now.cancelled,
        now.heartbeat_at,
    )
    return hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()


def items_context(run: ProcessingRun, status: str, number: str) -> dict[str, Any]:
    """A page of the run's documents; ``status`` one of ProcessingItem.Status, or all."""
    chosen = status if status in ProcessingItem.Status.values else None
    page = int(number) if number.isdecimal() and 0 < len(number) < 8 else 1
    rows, total = progress.items(run.pk, chosen, offset=(max(1, page) - 1) * ITEMS_PER_PAGE, limit=ITEMS_PER_PAGE)
    return {"items": rows, "page": Paginator(range(total), ITEMS_PER_PAGE).get_page(page), "status": chosen or ""}
