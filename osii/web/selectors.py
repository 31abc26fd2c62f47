"""Reads that the pages need beyond what the apps offer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.db.models.functions import Coalesce

from coverage.models import Message, MessageCoverage
from extraction.models import Batch, Candidate, Resolution, Run
from graphctx.models import Instance, Proposition


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
