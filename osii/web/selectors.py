"""Reads that the pages need beyond what the apps offer. A list takes its page first and adds the costly columns to it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.db.models.functions import Coalesce

from coverage.models import Chat, ChatFigures, ChatSummary, Learner, Message, MessageCoverage
from extraction import figures
from extraction.figures import PARKED, Figures
from extraction.models import Batch, Candidate, Resolution, Run
from extraction.prompts import chats_read_by_older
from graphctx.models import Instance, Proposition

CHAT_ORDERS = {
    "said": (F("last_said_at").desc(nulls_last=True), "chat_id"),
    "oldest": (F("last_said_at").asc(nulls_last=True), "chat_id"),
    "uncovered": ("-uncovered_tokens", "chat_id"),
    "changed": ("-chat__updated_at", "chat_id"),
    "title": ("chat__title", "chat_id"),
    "learner": ("chat__learner__name", F("last_said_at").desc(nulls_last=True), "chat_id"),
}


def listed_chats(
    rows: Figures, *, q: str = "", learner: Learner | None = None, state: str = "", sort: str = ""
) -> Figures:
    """Of all chats' figures (``summaries.listed``), those of the list, in its order; ``state`` is one of CHAT_STATES."""
    if state:
        rows = CHAT_STATES[state](rows)
    if q:
        rows = rows.filter(Q(chat__title__icontains=q) | Q(chat__external_id__icontains=q))
    if learner:
        rows = rows.filter(chat__learner=learner)
    return rows.order_by(*CHAT_ORDERS[sort or "said"])


def _parked() -> list[UUID]:
    return [chat for chat, states in figures.held_tokens().items() if states[PARKED]]


def _last_failed() -> QuerySet[Run]:
    """The chats whose last run failed."""
    later = Q(queued_at__gt=OuterRef("queued_at")) | Q(queued_at=OuterRef("queued_at"), pk__lt=OuterRef("pk"))
    last = ~Exists(Run.objects.filter(later, chat=OuterRef("chat")))
    return Run.objects.filter(last, status=Run.Status.FAILED).order_by().values("chat")


CHAT_STATES: dict[str, Callable[[Figures], Figures]] = {
    "attention": lambda rows: rows.filter(Q(chat__in=_parked()) | Q(chat__in=_last_failed())),
    "due": lambda rows: figures.due(rows, figures.held_tokens()),
    "unread": lambda rows: rows.filter(uncovered_tokens__gt=0),
    "read": lambda rows: rows.filter(tokens__gt=0, uncovered_tokens=0),
    "parked": lambda rows: rows.filter(chat__in=_parked()),
    "running": lambda rows: rows.filter(chat__in=Run.objects.filter(status__in=Run.ACTIVE).order_by().values("chat")),
    "failed": lambda rows: rows.filter(chat__in=_last_failed()),
    "older": lambda rows: rows.filter(chat__in=chats_read_by_older()),
}


def with_coverage(rows: Iterable[ChatSummary | ChatFigures]) -> list[Chat]:
    """The chats of a page of ``listed_chats``, with their coverage summary as ``coverage``, when something was said last
    as ``last_said_at`` and their latest run's status as ``run_status``: over these chats only.
    """
    listed = {row.chat_id: row for row in rows}
    there = Chat.objects.select_related("learner").in_bulk(list(listed))
    chats = [there[pk] for pk in listed if pk in there]
    latest = Run.objects.filter(chat__in=chats).order_by("chat", "-queued_at", "id").distinct("chat")
    statuses = dict(latest.values_list("chat", "status"))
    summaries = figures.coverage_of(chats, listed, figures.held_tokens(listed))
    for chat in chats:
        chat.coverage = summaries[chat.pk]
        chat.last_said_at = listed[chat.pk].last_said_at
        chat.run_status = statuses.get(chat.pk)
    return chats


def chat_runs(chat_id: UUID) -> QuerySet[Run]:
    """A chat's runs, newest first, each with how many batches it ended with and how they went."""
    ended = {
        f"batches_{status}": Count("batches", filter=Q(batches__status=status))
        for status in (Batch.Status.SUCCEEDED, Batch.Status.FAILED, Batch.Status.PARKED)
    }
    return Run.objects.filter(chat=chat_id).annotate(**ended).order_by("-queued_at", "id")


def latest_runs(count: int) -> list[Run]:
    """The runs that were queued last, over all chats."""
    return list(Run.objects.select_related("chat__learner").order_by("-queued_at", "id")[:count])


def add_outcomes(batches: Iterable[Batch]) -> list[Batch]:
    """The batches with ``outcomes``: [(outcome, how many candidates)] by each candidate's latest resolution."""
    batches = list(batches)
    latest = (
        Resolution.objects.filter(candidate__batch__in=batches)
        .order_by("candidate_id", "-created_at", "-id")
        .distinct("candidate_id")
        .values_list("candidate__batch", "outcome")
    )
    counts: dict[UUID, Counter[str]] = {batch.pk: Counter() for batch in batches}
    for batch_id, outcome in latest:
        counts[batch_id][outcome] += 1
    for batch in batches:
        batch.outcomes = [(value, counts[batch.pk][value]) for value in Resolution.Outcome if counts[batch.pk][value]]
    return batches


def batch_candidates(batch: Batch) -> QuerySet[Candidate]:
    """What the batch's last attempt staged, in order, with its resolutions (newest first) and their propositions."""
    resolutions = Resolution.objects.select_related("proposition").order_by("-created_at", "-id")
    return (
        Candidate.objects.filter(batch=batch, attempt=batch.attempt)
        .prefetch_related(Prefetch("resolutions", resolutions))
        .order_by("order")
    )


def messages_by_pk(rows: Sequence[MessageCoverage]) -> dict[int, Message]:
    """The messages behind coverage rows, by primary key."""
    return Message.objects.in_bulk([row.pk for row in rows])


def positions(pairs: Iterable[tuple[UUID, str]]) -> dict[tuple[UUID, str], int]:
    """Where messages stand in their transcripts now: (chat id, message id) → position; absent when they left it."""
    wanted = set(pairs)
    rows = Message.objects.filter(
        chat__in={chat for chat, _ in wanted}, message_id__in={message for _, message in wanted}, position__isnull=False
    ).values_list("chat", "message_id", "position")
    return {(chat, message): position for chat, message, position in rows if (chat, message) in wanted}


def evidence_of(proposition: Proposition) -> QuerySet[Instance]:
    """A proposition's instances, most recent first: when it was said, else when it was folded."""
    return proposition.instances.select_related("chat").order_by(
        Coalesce("occurred_at", "folded_at").desc(), F("position").desc(nulls_last=True), "-id"
    )
