"""Plans and runs of the library as the command line shows them."""

import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from coverage.words import counted
from osii.library.progress import Progress
from osii.waiting import eta_words, span, use_words

WIDTH = 110


def planned(data: dict[str, Any]) -> Iterator[str]:
    """The plan of a dry run: one row per step, the reasons, and the first blocked documents."""
    preview = data["preview"]
    yield from _plan(preview)
    for document in data["blocked"]:
        reasons = "; ".join(
            f"{step}: {state['reason']}" for step, state in document["states"].items() if state["state"] == "blocked"
        )
        yield f"blocked  {document['filename']}  {document['file_id'][:19]}…  {reasons}"
    if data["blocked_count"] > len(data["blocked"]):
        yield f"blocked  … and {data['blocked_count'] - len(data['blocked']):,} more"
    yield f"plan {preview['plan_id']}; nothing was started"


def _plan(preview: dict[str, Any]) -> Iterator[str]:
    plan = preview["processing_plan"]
    yield (
        f"{counted(plan['matched_count'], 'document')}, {preview['total_size']:,} bytes: {plan['eligible_count']:,} eligible, "
        f"{plan['current_count']:,} current, {plan['blocked_count']:,} blocked"
    )
    yield _table(
        ("step", "method", "eligible", "of these stale", "current", "blocked", "in progress", "one worker"),
        [
            (
                step["label"], step["method"], *(f"{step[f'{name}_count']:,}" for name in
                ("eligible", "stale", "current", "blocked", "in_progress")), _estimate(step),
            )
            for step in plan["steps"]
        ],
    )  # fmt: skip
    for step in plan["steps"]:
        for found in step["reasons"]:
            yield f"{step['label']}: {found['count']:,} {found['state']}: {found['reason']}"
        if use := use_words(step.get("estimated_tokens"), [Decimal(one) for one in step.get("estimated_cost") or []]):
            yield f"{step['label']}: {use}"
        if step["not_ready"]:
            yield f"{step['label']}: {step['method']} is not ready: {step['not_ready']}"
    for line in preview["extractor_plan"]:
        yield f"{line['extractor']} extracts {line['count']:,} {'.' + line['extension'] if line['extension'] else 'without an extension'}"


def _estimate(step: dict[str, Any]) -> str:
    if not step["estimated_seconds"]:
        return "not known" if step["eligible_count"] else ""
    least, most = map(span, step["estimated_seconds"])
    return least if least == most else f"{least} to {most}"


def started(data: dict[str, Any]) -> Iterator[str]:
    """A run that was left to the workers."""
    yield from _plan(data["preview"])
    run = data["run"]
    yield f"run {run['id']} is {run['status']}: {run['progress']['done']:,} of {counted(run['progress']['total'], 'document')} done"
    yield "The workers do it; `manage.py process_library --status` shows how far it is."


def ended(data: dict[str, Any]) -> Iterator[str]:
    """A run that was waited for."""
    run, counts = data["run"], data["run"]["progress"]
    for item in data["failed"]:
        yield f"failed   {item['filename'] or item['path']}  {item['error']}"
    told = [f"{counts[name]:,} {name}" for name in ("succeeded", "failed", "cancelled", "blocked") if counts[name]]
    yield f"run {run['id']} {run['status']}: {', '.join(told) or 'nothing was to do'}" + (
        f" ({run['error']})" if run["error"] else ""
    )


def runs(data: dict[str, Any]) -> Iterator[str]:
    """The latest runs, newest first."""
    if not data["runs"]:
        yield "There are no runs yet."
        return
    yield _table(
        ("run", "status", "steps", "done", "failed", "blocked", "left", "by"),
        [
            (
                run["id"], "cancelling" if run["cancel_requested"] and not run["finished_at"] else run["status"],
                ", ".join(run["steps"]), f"{run['progress']['done']:,} of {run['progress']['total']:,}",
                f"{run['progress']['failed']:,}", f"{run['progress']['blocked']:,}", _left(run), run["actor"],
            )
            for run in data["runs"]
        ],
    )  # fmt: skip


def _left(run: dict[str, Any]) -> str:
    eta = run["progress"]["eta_seconds"]
    return eta_words((eta[0], eta[1])) if eta else ""


def line(found: Progress) -> str:
    """How far a run is, in a line."""
    parts = [f"{found.done:,} of {counted(found.total, 'document')} done"]
    if found.failed:
        parts.append(f"{found.failed:,} failed")
    if found.rate is not None:
        parts.append(f"{found.rate:,g} a minute")
    if found.eta:
        parts.append(f"done in {eta_words(found.eta)}")
    return ", ".join(parts)


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="left" if place < 2 else "right", no_wrap=place < 2)
    for row in rows:
        table.add_row(*map(Text, row))
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(table)
    return out.getvalue().strip("\n")
