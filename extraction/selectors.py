"""Reads over chats that need both the ledger's diff and the batches: states, coverage, what is due."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from coverage.models import Chat, Message, MessageCoverage

from .models import Batch, BatchMessage

COVERED = "covered"
UNCOVERED = "uncovered"
REOPENED = "reopened"
PARKED = "parked"
UNSETTLED = "unsettled"
EMPTY = "empty"
IN_FLIGHT = "in_flight"
STATES = (COVERED, UNCOVERED, REOPENED, PARKED, UNSETTLED, EMPTY, IN_FLIGHT)
EXTRACTABLE = (UNCOVERED, REOPENED)


def with_states(rows: QuerySet[MessageCoverage]) -> QuerySet[MessageCoverage]:
    """Annotate ``state``; everything is derived in this one query."""
    unsettled_after = timezone.now() - timedelta(seconds=settings.EXTRACTION_UNSETTLED_SECONDS)
    state = Case(
        When(tokens=0, then=Value(EMPTY)),
        When(covered=True, then=Value(COVERED)),
        When(_read_as(Batch.Status.RUNNING), then=Value(IN_FLIGHT)),
        When(_read_as(Batch.Status.PARKED), then=Value(PARKED)),
        When(streaming=True, changed_at__gt=unsettled_after, then=Value(UNSETTLED)),
        When(_read_before(), then=Value(REOPENED)),
        default=Value(UNCOVERED),
        output_field=CharField(),
    )
    return rows.annotate(state=state)


def _batch_messages(status: str) -> QuerySet[BatchMessage]:
    return BatchMessage.objects.filter(chat=OuterRef("chat"), message_id=OuterRef("message_id"), batch__status=status)


def _read_as(status: str) -> Exists:
    """This very version of the message is in a batch of this status."""
    return Exists(_batch_messages(status).filter(fingerprint=OuterRef("fingerprint")))


def _read_before() -> Exists:
    """A batch read this message: it changed since, or its coverage was released so that it is read again."""
    return Exists(_batch_messages(Batch.Status.SUCCEEDED))


class MessageState(NamedTuple):
    """One message of a transcript and what became of it; ``pk`` is the stored message's."""

    pk: int
    message_id: str
    position: int
    role: str
    tokens: int
    fingerprint: str
    state: str

    @property
    def extractable(self) -> bool:
        """May be read now: never read or changed since, settled, not parked, not empty."""
        return self.state in EXTRACTABLE


def message_states(chat_id: UUID) -> list[MessageState]:
    """A chat's transcript in order."""
    rows = with_states(MessageCoverage.objects.filter(chat=chat_id)).order_by("position")
    # Plain tuples: building ten thousand model instances costs more than the query.
    return list(starmap(MessageState, rows.values_list(*MessageState._fields)))


def states_between(chat_id: UUID, first: int, last: int) -> list[MessageState]:
    """The part of a chat's transcript between two positions; as quick in a long chat as in a short one."""
    window = Message.objects.filter(chat=chat_id, position__range=(first, last))
    marks = set(window.order_by().values_list("fingerprint", flat=True))
    return [row for row in states_of(chat_id, marks) if first <= row.position <= last]


def states_of(chat_id: UUID, fingerprints: Collection[str]) -> list[MessageState]:
    """The messages of a transcript that have one of these fingerprints, in order.

    The fingerprints are given as values: only so does the diff leave out all other rows before it numbers them.
    """
    if not fingerprints:
        return []
    rows = MessageCoverage.objects.filter(chat=chat_id, fingerprint__in=fingerprints)
    return list(starmap(MessageState, with_states(rows).order_by("position").values_list(*MessageState._fields)))


def due_tokens(rows: Iterable[MessageState]) -> int:
    """Extractable uncovered tokens: settled, not parked, not empty."""
    return sum(row.tokens for row in rows if row.extractable)


def chat_coverage(chat_id: UUID) -> dict[str, Any]:
    """Coverage of one chat with each message, as the API shows it. Tokens are characters / 4."""
    rows = message_states(chat_id)
    total = sum(row.tokens for row in rows)
    covered = sum(row.tokens for row in rows if row.state == COVERED)
    return {
        "chat_id": str(chat_id),
        "total_tokens": total,
        "covered_tokens": covered,
        "uncovered_tokens": total - covered,
        "chunk_tokens": settings.EXTRACTION_CHUNK_TOKENS,
        "due": due_tokens(rows) >= settings.EXTRACTION_CHUNK_TOKENS,
        "messages": [
            {
                "id": row.message_id,
                "position": row.position,
                "role": row.role,
                "tokens": row.tokens,
                "state": row.state,
                "fingerprint": row.fingerprint,
            }
            for row in rows
        ],
    }


def coverage_of_chats(chat_ids: Iterable[UUID] | None = None) -> list[dict[str, Any]]:
    """Coverage of many chats without messages, in one query; all chats when ``chat_ids`` is None."""
    rows = MessageCoverage.objects.all()
    chats = Chat.objects.all()
    if chat_ids is not None:
        ids = list(chat_ids)
        rows, chats = rows.filter(chat__in=ids), chats.filter(pk__in=ids)
    totals = {
        row["chat"]: row
        for row in with_states(rows)
        .order_by()
        .values("chat")
        .annotate(
            total=Coalesce(Sum("tokens"), 0),
            done=Coalesce(Sum("tokens", filter=Q(state=COVERED)), 0),
            due=Coalesce(Sum("tokens", filter=Q(state__in=EXTRACTABLE)), 0),
            parked=Coalesce(Sum("tokens", filter=Q(state=PARKED)), 0),
            count=Count("pk"),
        )
    }
    return [_summary(chat, totals.get(chat.pk)) for chat in chats.select_related("learner").order_by("-updated_at")]


def _summary(chat: Chat, row: dict[str, Any] | None) -> dict[str, Any]:
    row = row or {"total": 0, "done": 0, "due": 0, "parked": 0, "count": 0}
    return {
        "chat_id": str(chat.pk),
        "title": chat.title,
        "learner": chat.learner.name,
        "message_count": row["count"],
        "total_tokens": row["total"],
        "covered_tokens": row["done"],
        "uncovered_tokens": row["total"] - row["done"],
        "parked_tokens": row["parked"],
        "chunk_tokens": settings.EXTRACTION_CHUNK_TOKENS,
        "due": row["due"] >= settings.EXTRACTION_CHUNK_TOKENS,
    }


def batch_history(chat_id: UUID) -> QuerySet[Batch]:
    """A chat's batches, newest first, with their run and counts of messages and candidates."""
    return (
        Batch.objects.filter(chat=chat_id)
        .select_related("run")
        .annotate(
            message_count=Count("messages", distinct=True),
            candidate_count=Count("candidates", distinct=True),
        )
        .order_by("-created_at")
    )
