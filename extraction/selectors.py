"""Reads over chats that need both the ledger's diff and the batches: states, coverage, what is due."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import (
    BigIntegerField,
    Case,
    CharField,
    Count,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from coverage.models import Chat, Message, MessageCoverage
from coverage.selectors import uncovered_at_most

from .models import Batch, BatchMessage, Run

COVERED = "covered"
UNCOVERED = "uncovered"
REOPENED = "reopened"
PARKED = "parked"
UNSETTLED = "unsettled"
EMPTY = "empty"
IN_FLIGHT = "in_flight"
STATES = (COVERED, UNCOVERED, REOPENED, PARKED, UNSETTLED, EMPTY, IN_FLIGHT)
EXTRACTABLE = (UNCOVERED, REOPENED)

NEWEST = 2000
"""Messages that ``reaches`` looks at before all others: what opened last is mostly there."""


def with_states(rows: QuerySet[MessageCoverage]) -> QuerySet[MessageCoverage]:
    """Annotate ``state``; everything is derived in this one query."""
    unsettled_after = _unsettled_after()
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


def _unsettled_after() -> datetime:
    return timezone.now() - timedelta(seconds=settings.EXTRACTION_UNSETTLED_SECONDS)


def being_written(chat_id: UUID) -> int:
    """How many of a chat's messages are still being written, and not too old to be taken as they stand."""
    return Message.objects.filter(
        chat=chat_id, streaming=True, settled_at=None, changed_at__gt=_unsettled_after()
    ).count()


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


class StateGroup(NamedTuple):
    """Messages in one state among neighbours in a transcript, the bucket: how many, their tokens, the first and the last
    position, and the role of one of them."""

    bucket: int
    state: str
    role: str
    messages: int
    tokens: int
    first: int
    last: int


def grouped_states(chat_id: UUID, length: int, buckets: int) -> list[StateGroup]:
    """A transcript of ``length`` messages cut into so many equal buckets, each by state; grouped by the database.

    In order of the buckets. As many buckets as messages: each message by itself.
    """
    bucket = (Cast(F("position"), BigIntegerField()) - 1) * Value(buckets) / Value(max(length, 1))
    rows = with_states(MessageCoverage.objects.filter(chat=chat_id)).annotate(bucket=bucket).order_by()
    counted = rows.values_list("bucket", "state").annotate(
        Min("role"), Count("pk"), Sum("tokens"), Min("position"), Max("position")
    )
    return sorted(starmap(StateGroup, counted))


def due_tokens(rows: Iterable[MessageState]) -> int:
    """Extractable uncovered tokens: settled, not parked, not empty."""
    return _tokens_in(rows, EXTRACTABLE)


def reaches(chat_id: UUID, tokens: int, *, states: Collection[str] = EXTRACTABLE) -> bool:
    """Whether a chat's messages in these uncovered states come to at least so many tokens.

    The whole diff is derived only where neither the sum of all that is uncovered nor the newest messages tell.
    """
    if uncovered_at_most(chat_id) < tokens:
        return False
    last = last_position(chat_id)
    newest = states_between(chat_id, max(1, last - NEWEST + 1), last)
    if _tokens_in(newest, states) >= tokens:
        return True
    return last > NEWEST and _tokens_in(message_states(chat_id), states) >= tokens


def _tokens_in(rows: Iterable[MessageState], states: Collection[str]) -> int:
    return sum(row.tokens for row in rows if row.state in states)


def last_position(chat_id: UUID) -> int:
    """How many messages a transcript has: positions are 1, 2, 3… without a gap."""
    return Message.objects.filter(chat=chat_id).aggregate(last=Max("position"))["last"] or 0


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
    by_state: dict[UUID, dict[str, tuple[int, int]]] = defaultdict(dict)
    # Summed by state here: each filter on the state would have the database find it once more.
    counted = with_states(rows).order_by().values_list("chat", "state").annotate(Count("pk"), Sum("tokens"))
    for chat, state, messages, tokens in counted:
        by_state[chat][state] = (messages, tokens)
    return [
        _summary(chat, by_state.get(chat.pk, {})) for chat in chats.select_related("learner").order_by("-updated_at")
    ]


def _summary(chat: Chat, states: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """``states`` are (messages, tokens) by state."""
    tokens = Counter({state: tokens for state, (_, tokens) in states.items()})
    due = sum(tokens[state] for state in EXTRACTABLE)
    return {
        "chat_id": str(chat.pk),
        "title": chat.title,
        "learner": chat.learner.name,
        "message_count": sum(messages for messages, _ in states.values()),
        "total_tokens": tokens.total(),
        "covered_tokens": tokens[COVERED],
        "uncovered_tokens": tokens.total() - tokens[COVERED],
        "parked_tokens": tokens[PARKED],
        "chunk_tokens": settings.EXTRACTION_CHUNK_TOKENS,
        "due": due >= settings.EXTRACTION_CHUNK_TOKENS,
    }


def batch_history(chat_id: UUID) -> QuerySet[Batch]:
    """A chat's batches, newest first, with their run and ``message_count``, counted for those that are asked for only."""
    messages = BatchMessage.objects.filter(batch=OuterRef("pk")).order_by().values("batch").annotate(n=Count("pk"))
    return (
        Batch.objects.filter(chat=chat_id)
        .select_related("run")
        .annotate(message_count=Coalesce(Subquery(messages.values("n")), 0))
        .order_by("-created_at")
    )


def last_failed_runs() -> QuerySet[Run]:
    """Runs that failed and that no later run of their chat followed.

    Each chat with a failure is asked once for its last run, by index: comparing the runs of a chat with each other would
    take their square.
    """
    last = Run.objects.filter(chat=OuterRef("pk")).order_by("-queued_at", "id").values("pk")[:1]
    failed = Run.objects.filter(status=Run.Status.FAILED).order_by()
    chats = Chat.objects.filter(pk__in=failed.values("chat")).annotate(last_run=Subquery(last))
    return Run.objects.filter(pk__in=chats.values("last_run"), status=Run.Status.FAILED)
