"""Work that others do, as the command line shows it: waiting for runs, the backlog in words, spans of time."""

import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import redis

from coverage.queueing import CHATS
from coverage.words import counted
from extraction import backfill
from extraction.models import Run
from extraction.spending import day_is_spent, money, not_held
from osii import console, health, services

POLL_SECONDS = 2.0
LINE_SECONDS = 15.0
RUNS_PER_POLL_SECOND = 2000
"""A poll asks about all runs, so with very many of them it comes less often."""


def wait_for(command: console.Command, run_ids: Sequence[UUID]) -> bool:
    """Show progress until these runs have ended; False when Ctrl-C ended the waiting, which stops no run."""
    pause = max(POLL_SECONDS, len(run_ids) / RUNS_PER_POLL_SECOND)
    seen, told, said = 0, time.monotonic(), ""
    try:
        with command.progress("Reading", total=len(run_ids)) as advance:
            while True:
                state = backfill.progress(run_ids)
                advance(state["ended"] - seen)
                seen = state["ended"]
                if seen == len(run_ids):
                    return True
                obstacle = what_holds(state, run_ids)
                if obstacle != said or time.monotonic() - told >= LINE_SECONDS:
                    command.note("; ".join(filter(None, (progress_line(state), obstacle))))
                    told, said = time.monotonic(), obstacle
                time.sleep(pause)
    except KeyboardInterrupt:
        command.note("Stopped waiting. The work goes on in the workers; `manage.py extract_chats --status` shows it.")
        return False


def progress_line(state: dict[str, int]) -> str:
    failed = f", {state['failed']:,} failed" if state["failed"] else ""
    return f"{state['ended']:,} of {state['runs']:,} chats done, {state['tokens']:,} tokens read{failed}"


def what_holds(state: dict[str, int], run_ids: Sequence[UUID]) -> str:
    """Why nothing goes on although runs wait; empty when something does."""
    waiting = Run.objects.filter(pk__in=run_ids, status=Run.Status.QUEUED)
    if (cap := day_is_spent()) and not not_held(waiting).exists():
        return cap
    if state["running"]:
        return ""
    try:
        workers = health.workers(CHATS)
    except redis.RedisError as error:
        return services.redis_line(error)
    return "" if workers.state == "ok" else f"no worker is online: {workers.advice}"


def describe_totals(data: dict[str, Any], seconds: float | None) -> list[str]:
    """The end of ``extract_chats --queue``; ``seconds`` is how long it waited to the end, None when it did not."""
    if not data["chats"]:
        return [
            "Nothing to read: no chat has uncovered messages that are due. (--rest reads what is below the budget.)"
        ]
    totals = data["totals"]
    ends = [f"{totals[status]:,} {status}" for status in ("succeeded", "failed", "aborted") if totals[status]]
    left = [f"{totals[status]:,} {status}" for status in ("running", "queued") if totals[status]]
    lines = [f"{totals['runs']:,} chats: {', '.join(ends + left)}"]
    if seconds is None:
        lines.append("The workers read them; `manage.py extract_chats --status` shows how far they are.")
    else:
        lines.append(
            f"{totals['batches']:,} batches, {totals['tokens']:,} tokens in {span(seconds)}; "
            f"{describe_candidates(totals)}"
        )
    return lines


_ALWAYS = ("propositions_new", "propositions_same")
_OUTCOMES = {
    "propositions_new": "new propositions",
    "propositions_same": "already known",
    "propositions_supersedes": "superseding others",
    "propositions_contradicts": "contradicting others",
    "propositions_discard": "discarded",
    "propositions_pending": "waiting for review (the dashboard's Review page)",
}


def describe_candidates(totals: dict[str, Any]) -> str:
    """What became of the candidates, as a sentence: every outcome there is, so that the counts add up."""
    parts = [f"{totals.get(key, 0):,} {words}" for key, words in _OUTCOMES.items() if totals.get(key) or key in _ALWAYS]
    return f"{totals['candidates']:,} candidates: {', '.join(parts)}."


def describe_use(use: dict[str, Any]) -> list[str]:
    """What models used and cost, in a line; none where no model was asked."""
    if not use["requests"]:
        return []
    line = (
        f"{counted(use['requests'], 'request')} to the model, {use['input_tokens']:,} tokens in, {use['output_tokens']:,} out: "
        + ("price not known" if use["cost"] is None else money(use["cost"]))
    )
    return [
        line
        + (f", and {counted(use['unpriced'], 'attempt')} of unknown price" if use["unpriced"] and use["cost"] else "")
    ]


def describe_backlog(state: backfill.Backlog) -> list[str]:
    lines = [f"runs: {state.running:,} running, {state.queued:,} waiting"]
    if state.active:
        parked = f" ({state.parked_tokens:,} of them parked)" if state.parked_tokens else ""
        lines.append(f"their chats: {state.unread_tokens:,} tokens unread{parked}")
    failed = f", {state.failed_batches:,} batches failed" if state.failed_batches else ""
    lines.append(f"last hour: {state.hour_tokens:,} tokens in {state.hour_batches:,} batches{failed}")
    if state.cap:
        lines.append(state.cap)
    elif state.active:
        lines.append(f"done in: {eta_words(state.eta)}")
    return lines


def eta_words(eta: tuple[float, float] | None) -> str:
    """ "3 min to 8 min", or why that is not known."""
    if eta is None:
        return "not known before a batch has ended"
    least, most = (span(seconds) for seconds in eta)
    return least if least == most else f"{least} to {most}"


def use_words(tokens: Sequence[int] | None, cost: Sequence[Decimal] | None) -> str:
    """ "12,000 to 30,000 tokens, 0.20 USD to 0.55 USD", or as much of it as is known."""
    said = [f"{tokens[0]:,} to {tokens[1]:,} tokens"] if tokens else []
    return ", ".join([*said, *([f"{money(cost[0])} to {money(cost[1])}"] if cost else [])])


def span(seconds: float) -> str:
    """A length of time in its two largest units: "40 s", "3 min", "2 h 10 min", "3 d 4 h"."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
