"""What can be done with many rows of each list, and how it is done. Each action leaves alone what it does not fit."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import QueryDict

from coverage import summaries
from coverage.models import Chat
from coverage.words import counted, shown_title
from extraction import backfill, services
from extraction.documents.errors import DocumentError
from extraction.documents.ids import is_file_id
from extraction.documents.services import remove_document
from extraction.erasure import foreseen
from extraction.merging import resolving
from extraction.models import Batch, Candidate, Document, ExtractionVersion, Run
from graphctx import forgetting
from graphctx.models import Proposition
from osii.models import Output

from . import review
from .activity_bulk import ACTIVITY
from .bulk import Action, Bulk, Doer, Key
from .chat_list import ChatFilter
from .documents.listing import DocumentFilter
from .proposition_forms import MEANING, PropositionFilter
from .requested import requested
from .review_forms import ReviewFilter


def _extract(mode: str) -> Callable[[Sequence[Key], Doer], list[str]]:
    def do(keys: Sequence[Key], by: Doer) -> list[str]:
        made, joined = backfill.request_reading(keys, mode)
        nothing = len(keys) - made - joined
        left = f" {counted(nothing, 'chat')} had nothing to read." if nothing else ""
        return [requested(by.user, keys, made, joined, left)]

    return do


def _to_read(keys: Sequence[Key]) -> str:
    rows = summaries.listed()[0].filter(chat__in=keys, uncovered_tokens__gt=0)
    found = rows.aggregate(chats=Count("pk"), tokens=Coalesce(Sum("uncovered_tokens"), 0))
    return f"{counted(found['chats'], 'chat')} of these with {counted(found['tokens'], 'uncovered token')}."


def _parked(keys: Sequence[Key]) -> str:
    rows = Batch.objects.filter(chat__in=keys, status=Batch.Status.PARKED)
    found = rows.aggregate(batches=Count("pk"), tokens=Coalesce(Sum("tokens"), 0))
    return f"{counted(found['batches'], 'parked batch', 'parked batches')} with {counted(found['tokens'], 'token')}."


def _active(keys: Sequence[Key]) -> str:
    return f"{counted(Run.objects.filter(chat__in=keys, status__in=Run.ACTIVE).count(), 'active run')}."


def _lost(keys: Sequence[Key]) -> str:
    versions = ExtractionVersion.objects.filter(document__in=keys).count()
    outputs = Output.objects.filter(document__in=keys).count()
    instances, fate = foreseen(Q(document_id__in=keys))
    return (
        f"{counted(versions, 'version')} of text, {counted(outputs, 'output')}, "
        f"{counted(instances, 'piece', 'pieces')} of evidence, and {counted(fate.removed, 'proposition')} that stand on nothing else."
    )


def _retry_parked(keys: Sequence[Key], _: Doer) -> list[str]:
    parked = Batch.objects.filter(chat__in=keys, status=Batch.Status.PARKED).order_by("chat", "pk")
    count = services.retry_parked(parked.values_list("pk", flat=True))
    return [f"{counted(count, 'parked batch', 'parked batches')} will be read again."]


def _abort(keys: Sequence[Key], _: Doer) -> list[str]:
    active = Run.objects.filter(chat__in=keys, status__in=Run.ACTIVE).order_by("chat").values_list("chat", flat=True)
    count = sum(services.abort_run(chat) for chat in active)
    return [f"{counted(count, 'run')} told to stop. Batches that ended are kept."]


def _decide(decision: str, done: str) -> Callable[[Sequence[Key], Doer], list[str]]:
    def do(keys: Sequence[Key], by: Doer) -> list[str]:
        """Each in a transaction of its own: vectors and the auditor's answer are made outside of it."""
        count, refusals = 0, Counter[str]()
        for key in keys:
            try:
                resolving.decide(key, decision, actor=by.name, reason=by.reason)
                count += 1
            except (resolving.Refused, resolving.StandingChanged) as refusal:
                refusals[str(refusal)] += 1
            except Candidate.DoesNotExist:
                refusals["it was erased"] += 1
        left = [f"{counted(times, 'candidate')} left as before: {why}." for why, times in refusals.most_common(5)]
        return [f"{counted(count, 'candidate')} {done}.", *left]

    return do


def _all_or_none(act: Callable[[UUID], Proposition], done: str) -> Callable[[Sequence[Key], Doer], list[str]]:
    def do(keys: Sequence[Key], _: Doer) -> list[str]:
        """In one transaction; learners are locked in the order of their ids, so that two such actions do not wait for each other."""
        left = 0
        with transaction.atomic():
            rows = Proposition.objects.filter(pk__in=keys).order_by("learner", "pk").values_list("pk", flat=True)
            for key in list(rows):
                try:
                    act(key)
                except forgetting.NothingToRestore:
                    left += 1
        gone = f" {counted(left, 'one')} had no evidence left to restore." if left else ""
        return [f"{counted(len(rows) - left, 'proposition')} {done}.{gone}"]

    return do


def _remove_documents(keys: Sequence[Key], by: Doer) -> list[str]:
    """One by one: each is a transaction and a folder of the store."""
    removed, gone, refusals = 0, 0, Counter[str]()
    for key in keys:
        try:
            removal = remove_document(key, by.name, by.reason)
        except DocumentError as problem:
            refusals[str(problem)] += 1
        else:
            removed, gone = removed + 1, gone + removal.counts.get("propositions", 0)
    with_them = f", and {counted(gone, 'proposition')} that stood on nothing else" if gone else ""
    return [
        f"{counted(removed, 'document')} removed for good{with_them}.",
        *(f"{counted(times, 'document')} left: {why}." for why, times in refusals.most_common(5)),
    ]


def _titles(rows: QuerySet[Any], field: str) -> Callable[[Sequence[Key]], list[str]]:
    def titles(keys: Sequence[Key]) -> list[str]:
        found = dict(rows.filter(pk__in=list(keys)).values_list("pk", field))
        return [shown_title(found[key], key) for key in keys if key in found]

    return titles


def _chat_rows(query: QueryDict) -> ChatFilter:
    return ChatFilter(query, summaries.listed()[0])


def _proposition_rows(query: QueryDict) -> PropositionFilter:
    """A search by meaning ranks all propositions and lets none out: nothing of it is "all that match"."""
    none = query.get("mode") == MEANING
    return PropositionFilter(query, Proposition.objects.none() if none else Proposition.objects.all())


CHATS = Bulk(
    "chats",
    ("chat", "chats"),
    5000,
    (
        Action(
            "rest", "Extract the rest", "play-fill", "extraction.add_run",
            "A run is requested for each that has uncovered tokens; it reads all of them. What is covered is not read again.",
            _extract(Run.Mode.REST), counts=_to_read,
        ),
        Action(
            "due", "Extract what is due", "bookmark-check", "extraction.add_run",
            "A run is requested for each that is due; the others are left as they are.", _extract(Run.Mode.DUE),
        ),
        Action(
            "parked", "Retry what is parked", "arrow-clockwise", "extraction.change_batch",
            "Their parked batches are read again, and what else is uncovered in these chats with them.", _retry_parked,
            counts=_parked,
        ),
        Action(
            "abort", "Abort", "stop-circle", "extraction.change_run",
            "Their active runs stop. Batches that ended are kept; those in flight are not.", _abort, danger=True,
            counts=_active,
        ),
    ),
    _titles(Chat.objects.all(), "title"),
    _chat_rows,
)  # fmt: skip

REVIEW = Bulk(
    "review",
    ("candidate", "candidates"),
    200,
    (
        Action(
            "accept", "Accept", "check-lg", review.PERMISSION,
            "The auditor takes each into its learner's graph as it would by itself: as new, or as more evidence of what is "
            "known. Each decision can be taken back on its own.", _decide("accept", "accepted"),
        ),
        Action(
            "reject", "Reject", "x-lg", review.PERMISSION,
            "None of them enters a graph. Each decision can be taken back on its own.", _decide("reject", "rejected"),
            reason="Why (kept with each decision)", danger=True,
        ),
        Action(
            "defer", "Defer", "clock", review.PERMISSION,
            "They wait on, and are listed under “deferred”.", _decide("defer", "deferred"),
        ),
    ),
    _titles(Candidate.objects.all(), "claim"),
    ReviewFilter.of,
)  # fmt: skip

PROPOSITIONS = Bulk(
    "propositions",
    ("proposition", "propositions"),
    500,
    (
        Action(
            "forget", "Forget", "eraser", "graphctx.change_proposition",
            "No chat is offered them any more, from now on, and they are not learned again. They can be restored as long as "
            "evidence of them exists.", _all_or_none(forgetting.forget, "forgotten"), danger=True,
        ),
        Action(
            "restore", "Restore", "arrow-counterclockwise", "graphctx.change_proposition",
            "Those that were forgotten count again as they did before; the others stay as they are.",
            _all_or_none(forgetting.restore, "in force as before"),
        ),
    ),
    _titles(Proposition.objects.all(), "text"),
    _proposition_rows,
)  # fmt: skip

DOCUMENTS = Bulk(
    "documents",
    ("document", "documents"),
    200,
    (
        Action(
            "erase", "Remove for good", "x-circle-fill", "extraction.delete_document",
            "Their kept files, all versions of their text, what was made of these, and the propositions that stand on nothing "
            "else go for good. The files that were added stay where they are. This cannot be undone.",
            _remove_documents, reason="Why (kept in the record)", danger=True,
            counts=_lost,
        ),
    ),
    _titles(Document.objects.all(), "filename"),
    lambda query: DocumentFilter(query, Document.objects.all()),
    field="document",
    key=lambda text: text if is_file_id(text) else None,
)  # fmt: skip

LISTS: dict[str, Bulk] = {one.name: one for one in (CHATS, REVIEW, PROPOSITIONS, DOCUMENTS, ACTIVITY)}
"""By the name of the list's address."""
