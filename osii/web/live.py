"""A chat's state as its page shows it and refreshes it while a run is active."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

import redis
from django.conf import settings
from django.core.paginator import Page
from django.db.models import Count, Sum
from django.http import HttpRequest

from coverage.models import Chat, ChatSummary
from coverage.queueing import CHATS
from extraction.models import Batch, Run
from extraction.prompts import OlderReading, older_reading
from extraction.selectors import (
    COVERED,
    EXTRACTABLE,
    IN_FLIGHT,
    PARKED,
    STATES,
    StateGroup,
    batch_history,
    being_written,
    grouped_states,
    last_position,
    states_between,
)
from extraction.spending import day_is_spent, use_of_chat, with_batch_costs, with_run_costs
from osii import health, services

from . import strip
from .paging import MESSAGES_PER_PAGE, page_of
from .readers import readers
from .selectors import add_outcomes, chat_runs

RUNS_SHOWN = 10
BATCHES_SHOWN = 20


@dataclass(frozen=True)
class ChatState:
    """Everything that changes while a run goes on, read in a fixed number of queries.

    ``version`` changes with what the groups are derived from. So an unchanged page is recognised without deriving them.
    """

    chat_id: UUID
    length: int
    version: list[Any]
    runs: list[Run]
    batches: list[Batch]
    batch_count: int
    older: OlderReading
    use: dict[str, Any]

    @cached_property
    def groups(self) -> list[StateGroup]:
        return grouped_states(self.chat_id, self.length, strip.buckets(self.length))

    @property
    def active_run(self) -> Run | None:
        return next((run for run in self.runs if run.active), None)

    @property
    def token(self) -> str:
        """Changes when anything that the page shows of the state changes; an unchanged page is not sent again."""
        seen = [repr(self.version)]
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
        return sum(group.tokens for group in self.groups if group.state in states)


def read_state(chat: Chat) -> ChatState:
    batches = batch_history(chat.pk)
    by_status = sorted(
        Batch.objects.filter(chat=chat).order_by().values_list("status").annotate(Count("pk"), Sum("attempt"))
    )
    revision = ChatSummary.objects.values_list("revision", flat=True).get(pk=chat.pk)
    return ChatState(
        chat_id=chat.pk,
        length=last_position(chat.pk),
        version=[revision, being_written(chat.pk), by_status],
        runs=with_run_costs(chat_runs(chat.pk)[:RUNS_SHOWN]),
        batches=with_batch_costs(add_outcomes(batches[:BATCHES_SHOWN])),
        batch_count=sum(count for _, count, _ in by_status),
        older=older_reading(chat.pk),
        use=use_of_chat(chat.pk),
    )


def page_of_messages(request: HttpRequest, chat: Chat, state: ChatState) -> Page:
    """The page of the transcript that the request asks for, with the states of its messages only."""
    page = page_of(request, range(1, state.length + 1), MESSAGES_PER_PAGE)
    positions = page.object_list
    page.object_list = states_between(chat.pk, positions[0], positions[-1]) if positions else []
    return page


def state_context(state: ChatState) -> dict[str, Any]:
    """What the live fragment's template needs."""
    total = state.tokens(*STATES)
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
        "strip": strip.build(state.groups),
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
