"""What lists and counts show of many chats: their memos, and what must not be read now, from the few rows that say so.

Nothing here decides what is extracted: planning, triggers and reports ask the diff itself (``selectors``).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from coverage.models import Chat, ChatFigures, ChatSummary, Message, MessageCoverage

from .models import Batch, BatchMessage
from .selectors import IN_FLIGHT, PARKED, UNSETTLED, with_states

HELD = (IN_FLIGHT, PARKED, UNSETTLED)

Figures = QuerySet[ChatSummary] | QuerySet[ChatFigures]
"""What ``coverage.summaries.listed`` gives."""
Held = dict[UUID, Counter[str]]


def held_tokens(chat_ids: Iterable[UUID] | None = None) -> Held:
    """Uncovered tokens that are not to be read now, by chat and state (one of HELD); all chats when None.

    Few messages can be in these states: those of running and parked batches, and those that are being written. Only
    they and their equals are asked for, in three queries.
    """
    in_batches = BatchMessage.objects.filter(batch__status__in=(Batch.Status.RUNNING, Batch.Status.PARKED))
    since = timezone.now() - timedelta(seconds=settings.EXTRACTION_UNSETTLED_SECONDS)
    written = Message.objects.filter(streaming=True, settled_at=None, changed_at__gt=since, position__isnull=False)
    if chat_ids is not None:
        ids = list(chat_ids)
        in_batches, written = in_batches.filter(chat__in=ids), written.filter(chat__in=ids)
    pairs = {*in_batches.order_by().values_list("chat", "fingerprint"), *written.values_list("chat", "fingerprint")}
    held: Held = defaultdict(Counter)
    if pairs:
        # Both given as values: only so does the diff leave out all other rows before it sorts.
        rows = MessageCoverage.objects.filter(
            chat__in={chat for chat, _ in pairs}, fingerprint__in={mark for _, mark in pairs}
        )
        # Summed here: a filter on the state would have the database find it twice.
        for chat, state, tokens in with_states(rows).order_by().values_list("chat", "state", "tokens"):
            if state in HELD:
                held[chat][state] += tokens
    return dict(held)


def due(rows: Figures, held: Held) -> Figures:
    """Those of these figures whose chats are due, given what is held of all chats (``held_tokens``)."""
    budget = settings.EXTRACTION_CHUNK_TOKENS
    some_held = rows.filter(chat__in=held).values_list("chat", "uncovered_tokens")
    not_due = [chat for chat, uncovered in some_held if uncovered - held[chat].total() < budget]
    return rows.filter(uncovered_tokens__gte=budget).exclude(chat__in=not_due)


def coverage_of(
    chats: Sequence[Chat], figures: Mapping[UUID, ChatSummary | ChatFigures], held: Held
) -> dict[UUID, dict[str, Any]]:
    """Coverage of a page of chats, as ``selectors.coverage_of_chats`` gives it, from these figures of theirs."""
    return {chat.pk: _summary(chat, figures[chat.pk], held.get(chat.pk, Counter())) for chat in chats}


def _summary(chat: Chat, figures: ChatSummary | ChatFigures, held: Counter[str]) -> dict[str, Any]:
    return {
        "chat_id": str(chat.pk),
        "title": chat.title,
        "learner": chat.learner.name,
        "message_count": figures.message_count,
        "total_tokens": figures.tokens,
        "covered_tokens": figures.covered_tokens,
        "uncovered_tokens": figures.uncovered_tokens,
        "parked_tokens": held[PARKED],
        "chunk_tokens": settings.EXTRACTION_CHUNK_TOKENS,
        "due": figures.uncovered_tokens - held.total() >= settings.EXTRACTION_CHUNK_TOKENS,
    }


def totals(rows: Figures, held: Held) -> dict[str, int]:
    """Coverage of all chats together, and how many messages there are."""
    return rows.aggregate(
        messages=Coalesce(Sum("message_count"), 0),
        total_tokens=Coalesce(Sum("tokens"), 0),
        covered_tokens=Coalesce(Sum("covered_tokens"), 0),
    ) | {"parked_tokens": sum(states[PARKED] for states in held.values())}


def due_totals(rows: Figures, held: Held) -> tuple[int, int]:
    """How many chats are due, and how many of their tokens can be read."""
    found = due(rows, held)
    sums = found.aggregate(chats=Count("pk"), tokens=Coalesce(Sum("uncovered_tokens"), 0))
    some_held = found.filter(chat__in=held).values_list("chat", flat=True)
    return sums["chats"], sums["tokens"] - sum(held[chat].total() for chat in some_held)
