"""The log of a processing run, to be downloaded: a line for each step of each document, in the order of the run."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime

from coverage.cells import safe_cell
from osii.models import ProcessingItem, ProcessingRun

HEAD = ("document", "file id", "step", "state", "reason", "attempt", "began (UTC)", "ended (UTC)", "worker")
AT_ONCE = 500


class _Line:
    """What csv writes to: it gives each line back."""

    def write(self, line: str) -> str:
        return line


def lines(run: ProcessingRun) -> Iterator[str]:
    """CSV, with its head. Steps that have not begun, and documents that are blocked, have a line too."""
    writer = csv.writer(_Line())
    yield writer.writerow(HEAD)
    items = run.items.order_by("position").select_related("document").prefetch_related("step_rows")
    for item in items.iterator(chunk_size=AT_ONCE):
        for row in _rows(item):
            yield writer.writerow([safe_cell(one) for one in (*_named(item), *row, item.held_by)])


def _named(item: ProcessingItem) -> tuple[str, str]:
    return (item.document.filename, item.document.pk) if item.document else (item.path, "")


def _rows(item: ProcessingItem) -> Iterator[tuple[object, ...]]:
    """(step, state, reason, attempt, began, ended)"""
    begun = {row.step: row for row in item.step_rows.all()}
    for row in begun.values():
        yield row.step, row.status, row.error, row.attempt, _time(row.began_at), _time(row.finished_at)
    for step in (one for one in item.steps if one not in begun):
        state = "not begun" if item.status == ProcessingItem.Status.FAILED else item.status
        yield step, state, item.error, item.attempt, "", ""
    for step, reason in item.blocked.items():
        if step not in begun:
            yield step, ProcessingItem.Status.BLOCKED.value, reason, item.attempt, "", ""


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at else ""
