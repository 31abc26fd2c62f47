"""Reads that the pages need beyond what the apps offer. A list takes its page first and adds the costly columns to it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from coverage.models import Chat, Learner, Message, MessageCoverage
from extraction import selectors as extraction
from extraction.models import Batch, Candidate, Document, ExtractionVersion, Resolution, Run
from graphctx.models import Instance, Proposition

CHAT_ORDERS = {
    "activity": ("-updated_at", "id"),
    "oldest": ("updated_at", "id"),
    "title": ("title", "id"),
    "learner": ("learner__name", "-updated_at", "id"),
}


def listed_chats(*, q: str = "", learner: Learner | None = None, state: str = "", sort: str = "") -> QuerySet[Chat]:
    """Chats of the list; ``state`` is one of CHAT_STATES."""
    rows = Chat.objects.select_related("learner")
    if q:
        rows = rows.filter(Q(title__icontains=q) | Q(external_id__icontains=q))
    if learner:
        rows = rows.filter(learner=learner)
    if state:
        rows = CHAT_STATES[state](rows)
    return rows.order_by(*CHAT_ORDERS[sort or "activity"])


def _latest_run(column: str) -> Subquery:
    return Subquery(Run.objects.filter(chat=OuterRef("pk")).order_by("-queued_at", "id").values(column)[:1])


def _with_tokens(rows: QuerySet[Chat], condition: Q) -> QuerySet[Chat]:
    """Chats whose token sums (``due``, ``unread``, ``total``) meet ``condition``: one grouped query."""
    sums = (
        extraction.with_states(MessageCoverage.objects.all())
        .order_by()
        .values("chat")
        .annotate(
            due=Coalesce(Sum("tokens", filter=Q(state__in=extraction.EXTRACTABLE)), 0),
            unread=Coalesce(Sum("tokens", filter=~Q(state=extraction.COVERED)), 0),
            total=Coalesce(Sum("tokens"), 0),
        )
        .filter(condition)
    )
    return rows.filter(pk__in=sums.values("chat"))


def _needs_attention(rows: QuerySet[Chat]) -> QuerySet[Chat]:
    """Chats with parked messages, and those whose last run failed."""
    return rows.filter(Q(pk__in=_last_failed(rows).values("pk")) | Q(pk__in=_parked_chats()))


def _parked_chats() -> QuerySet[MessageCoverage]:
    """The chats of parked messages. Few chats have a parked batch: their ids, given as such, keep the diff from being
    computed over all chats.
    """
    held = list(Batch.objects.filter(status=Batch.Status.PARKED).order_by().values_list("chat", flat=True).distinct())
    parked = extraction.with_states(MessageCoverage.objects.filter(chat__in=held)).filter(state=extraction.PARKED)
    return parked.order_by().values("chat")


def _last_failed(rows: QuerySet[Chat]) -> QuerySet[Chat]:
    """Chats whose last run failed: those with a failed run first, so that few are asked for their last one."""
    failed = Run.objects.filter(status=Run.Status.FAILED).order_by().values("chat")
    return rows.filter(pk__in=failed).alias(run_status=_latest_run("status")).filter(run_status=Run.Status.FAILED)


CHAT_STATES = {
    "attention": _needs_attention,
    "due": lambda rows: _with_tokens(rows, Q(due__gte=settings.EXTRACTION_CHUNK_TOKENS)),
    "unread": lambda rows: _with_tokens(rows, Q(unread__gt=0)),
    "read": lambda rows: _with_tokens(rows, Q(total__gt=0, unread=0)),
    "parked": lambda rows: rows.filter(pk__in=_parked_chats()),
    "running": lambda rows: rows.filter(pk__in=Run.objects.filter(status__in=Run.ACTIVE).order_by().values("chat")),
    "failed": _last_failed,
}


def add_coverage(chats: Iterable[Chat]) -> list[Chat]:
    """The chats of a page with their coverage summary as ``coverage`` and their latest run's status as ``run_status``: two
    queries over these chats only. A column of the list would be computed for every chat of the pages before, too.
    """
    chats = list(chats)
    latest = Run.objects.filter(chat__in=chats).order_by("chat", "-queued_at", "id").distinct("chat")
    statuses = dict(latest.values_list("chat", "status"))
    summaries = {row["chat_id"]: row for row in extraction.coverage_of_chats([chat.pk for chat in chats])}
    for chat in chats:
        chat.coverage = summaries[str(chat.pk)]
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


def resolutions_of(proposition: Proposition) -> QuerySet[Resolution]:
    """What the merge decided about this proposition, newest first, with candidates and batches."""
    return proposition.resolutions.select_related("candidate__batch__chat").order_by("-created_at", "-id")


def listed_documents(*, q: str = "", learner: Learner | None = None, state: str = "") -> QuerySet[Document]:
    """Documents with ``version_count`` and ``newest_status``; ``state`` is one of DOCUMENT_STATES."""
    versions = ExtractionVersion.objects.filter(document=OuterRef("pk"))
    counted = versions.order_by().values("document").annotate(n=Count("pk")).values("n")
    newest = versions.order_by("-created_at", "-id").values("status")[:1]
    rows = Document.objects.select_related("primary", "learner").annotate(
        version_count=Coalesce(Subquery(counted), Value(0)), newest_status=Subquery(newest)
    )
    if q:
        named = Exists(Document.objects.filter(pk=OuterRef("pk"), sources__path__icontains=q))
        rows = rows.filter(Q(filename__icontains=q) | Q(file_id__icontains=q) | named)
    if learner:
        rows = rows.filter(learner=learner)
    if state:
        rows = rows.filter(DOCUMENT_STATES[state])
    return rows.order_by("-added_at", "file_id")


DOCUMENT_STATES = {
    "primary": Q(primary__isnull=False),
    "no_primary": Q(primary__isnull=True),
    "failed": Q(newest_status=ExtractionVersion.Status.FAILED),
}
