"""What was read under older instructions than those in force: derived, so a new prompt or worker marks it by being there."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from coverage.models import CoverageEntry, MessageCoverage

from .models import Batch
from .workers import prompt_of, worker_class, worker_names


def prompts_in_force() -> dict[str, tuple[str, str]]:
    """By worker: the version of its instructions and the hash of their text, or its own version and ""."""
    return {name: prompt_of(worker_class(name)) for name in worker_names()}


def is_older(batch: Batch) -> bool:
    """Whether this batch was read under other instructions than its worker has now. What is not known is not older."""
    now = prompts_in_force().get(batch.worker)
    if now is None or batch.status != Batch.Status.SUCCEEDED or not batch.prompt_version:
        return False
    version, text = now
    return batch.prompt_version != version or bool(text and batch.prompt_hash and batch.prompt_hash != text)


def older_batches() -> QuerySet[Batch]:
    """Every batch of a chat of which ``is_older`` holds; what a document gives says by itself that it is stale."""
    older = Q(pk=None)
    for worker, (version, text) in prompts_in_force().items():
        changed = Q(prompt_version=version) & ~Q(prompt_hash__in=("", text)) if text else Q(pk=None)
        older |= Q(worker=worker) & (~Q(prompt_version__in=("", version)) | changed)
    return Batch.objects.filter(older, status=Batch.Status.SUCCEEDED, chat__isnull=False)


def older_rows(chat_ids: Iterable[UUID]) -> QuerySet[MessageCoverage]:
    """The covered messages of these chats whose last reading was by an older batch.

    The ledger says which batch read a message last; a message that is to be read again anyway is not among them.
    """
    last = (
        CoverageEntry.objects.filter(
            chat=OuterRef("chat"), fingerprint=OuterRef("fingerprint"), kind=CoverageEntry.Kind.COVER
        )
        .order_by("-pk")
        .values("batch")[:1]
    )
    rows = MessageCoverage.objects.filter(chat__in=list(chat_ids), covered=True, tokens__gt=0)
    return rows.alias(last_batch=Subquery(last)).filter(last_batch__in=older_batches().values("pk"))


def chats_read_by_older() -> list[UUID]:
    """The chats with such messages, in the order of their ids. Only chats with an older batch are looked at."""
    held = older_batches().order_by().values_list("chat", flat=True).distinct()
    return list(older_rows(held).order_by("chat").values_list("chat", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class OlderReading:
    """How many messages of a chat were last read under older instructions, and their tokens."""

    messages: int = 0
    tokens: int = 0


def older_reading(chat_id: UUID) -> OlderReading:
    """Of one chat, in one query."""
    sums = older_rows([chat_id]).aggregate(messages=Count("pk"), tokens=Coalesce(Sum("tokens"), 0))
    return OlderReading(**sums)
