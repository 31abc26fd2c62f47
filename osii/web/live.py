"""A chat's state as its page shows it and refreshes it while a run is active."""

import hashlib
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from coverage.models import Chat, MessageCoverage
from coverage.queueing import CHATS
from extraction.models import Batch, Run
from extraction.prompts import OlderReading, older_reading
from extraction.selectors import COVERED, EXTRACTABLE, IN_FLIGHT, PARKED, batch_history, message_states
from extraction.spending import day_is_spent, use_of_chat, with_batch_costs, with_run_costs
from osii import health, services

from . import strip
from .readers import readers
from .selectors import add_outcomes, chat_runs

RUNS_SHOWN = 10
BATCHES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ChatState:
    """Everything that changes while a run goes on, read in a fixed number of queries."""

    rows: list[MessageCoverage]
    runs: list[Run]
    batches: list[Batch]
    batch_count: int
    older: OlderReading
    use: dict[str, Any]

    @property
    def active_run(self) -> Run | None:
        return next((run for run in self.runs if run.active), None)

    @property
    def token(self) -> str:
        """Changes when anything that the page shows of the state changes; an unchanged page is not sent again."""
        seen = [row.state for row in self.rows]
        seen += [
            f"{run.pk}{run.status}{run.mode}{run.attempt}{bool(run.abort_requested_at)}{run.following}"
            for run in self.runs
        ]
        seen += [f"{batch.pk}{batch.status}{batch.attempt}" for batch in self.batches]
        return hashlib.blake2b("\n".join(seen).encode(), digest_size=8).hexdigest()

    @property
    def running_batch(self) -> Batch | None:
        return next((batch for batch in self.batches if batch.status == Batch.Status.RUNNING), None)

    def tokens(self, *states: str) -> int:
        return sum(row.tokens for row in self.rows if row.state in states)


def read_state(chat: Chat) -> ChatState:
    batches = batch_history(chat.pk)
    return ChatState(
        rows=message_states(chat.pk),
        runs=with_run_costs(chat_runs(chat.pk)[:RUNS_SHOWN]),
        batches=with_batch_costs(add_outcomes(batches[:BATCHES_SHOWN])),
        batch_count=Batch.objects.filter(chat=chat).count(),
        older=older_reading(chat.pk),
        use=use_of_chat(chat.pk),
    )


def state_context(state: ChatState) -> dict[str, Any]:
    """What the live fragment's template needs."""
    total = sum(row.tokens for row in state.rows)
    due = state.tokens(*EXTRACTABLE)
    coverage = {
        "total_tokens": total,
        "covered_tokens": state.tokens(COVERED),
        "parked_tokens": state.tokens(PARKED),
        "in_flight_tokens": state.tokens(IN_FLIGHT),
        "due_tokens": due,
        "chunk_tokens": settings.EXTRACTION_CHUNK_TOKENS,
        "due": due >= settings.EXTRACTION_CHUNK_TOKENS,
    }
    coverage["uncovered_tokens"] = total - coverage["covered_tokens"]
    run = state.active_run
    waiting = run is not None and run.status == Run.Status.QUEUED
    return {
        "coverage": coverage,
        "strip": strip.build(state.rows),
        "run": run,
        "running_batch": state.running_batch,
        "workers": chat_workers() if waiting else None,
        "cap": day_is_spent(run.worker) if waiting else "",
        "older": state.older,
        "use": state.use,
        "readers": readers() if run is None else [],
        "runs": state.runs,
        "batches": state.batches,
        "batch_count": state.batch_count,
        "more_batches": state.batch_count > len(state.batches),
        "seen": state.token,
    }


def chat_workers() -> health.Finding:
    return queue_workers(CHATS)


def queue_workers(queue: str) -> health.Finding:
    """Who works on a queue; when Redis is away, that."""
    try:
        return health.workers(queue)
    except redis.RedisError as error:
        return health.Finding("Redis", "fail", *health.split(services.redis_line(error)))
