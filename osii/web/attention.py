"""The home page's reads: what needs a person first, and how much there is of everything."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from coverage.models import Chat, Learner
from extraction import figures
from extraction.figures import Figures, Held
from extraction.models import Batch, Document, ExtractionVersion, Run
from extraction.selectors import last_failed_runs
from extraction.spending import day_is_spent, not_held
from graphctx.models import EmbeddingSpace, Instance, Proposition
from graphctx.vectors import missing_vectors
from osii.models import ChatImport, ProcessingItem, ProcessingRun
from osii.permissions import (
    CONTROL,
    EXTRACT,
    IMPORT,
    REVIEW,
    SEE_BATCHES,
    SEE_CHATS,
    SEE_DOCUMENTS,
    SEE_IMPORTS,
    SEE_LIBRARY,
    SEE_PROPOSITIONS,
    SEE_RUNS,
)

from . import review
from .documents.listing import last_failed
from .live import chat_workers
from .processing import run_title

SHOWN = 5
"""Rows named under each need; the rest is behind its link."""
ATTENTION_DAYS = 14
"""So long a processing run with failures, and an import that failed, ask for attention."""


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to do. ``tone`` is bad (something broke), warn (it gets worse by waiting) or wait (it can wait)."""

    icon: str
    tone: str
    count: int
    title: str
    help: str
    url: str = ""
    rows: list[Row] = field(default_factory=list)


def needs(rows: Figures, held: Held, user: User) -> list[Need]:
    """What needs this person, most urgent first; empty when nothing does. What the account may not see is left out.

    ``rows`` are all chats' figures (``summaries.listed``), ``held`` is ``figures.held_tokens()``.
    """
    runs, chats = (SEE_CHATS, SEE_RUNS), (SEE_CHATS,)
    kinds: list[tuple[tuple[str, ...], Callable[[], Iterator[Need]]]] = [
        (runs, _no_worker), (runs, _held), ((SEE_CHATS, SEE_BATCHES), _parked), (runs, _failed_runs),
        ((SEE_IMPORTS,), lambda: _failed_imports(links=user.has_perm(IMPORT))),
        ((SEE_DOCUMENTS,), _failed_documents),
        (SEE_LIBRARY, lambda: _failed_processing(may=user.has_perm(CONTROL))),
        ((SEE_PROPOSITIONS,), _missing_vectors), ((REVIEW,), _review),
        (chats, lambda: _due(rows, held, may=user.has_perm(EXTRACT))),
    ]  # fmt: skip
    found = [need for permissions, look in kinds if user.has_perms(permissions) for need in look()]
    return sorted(found, key=lambda need: ("bad", "warn", "wait").index(need.tone))


def _no_worker() -> Iterator[Need]:
    waiting = Run.objects.filter(status=Run.Status.QUEUED).select_related("chat").order_by("queued_at", "id")
    count = waiting.count()
    workers = chat_workers() if count else None
    if workers and workers.state != "ok":
        yield Need(
            "wifi-off", "bad", count, f"{_s(count, 'run waits', 'runs wait')}, and no worker is online",
            f"{workers.detail}: {workers.advice}." if workers.advice else workers.detail,
            f"{reverse('chats')}?state=running",
            [Row(run.chat.shown_title, reverse("chat", args=[run.chat_id])) for run in waiting[:SHOWN]],
        )  # fmt: skip


def _held() -> Iterator[Need]:
    cap = day_is_spent()
    waiting = Run.objects.filter(status=Run.Status.QUEUED)
    count = waiting.count() - not_held(waiting).count() if cap else 0
    if count:
        yield Need(
            "pause-circle-fill", "wait", count, f"{_s(count, 'run waits', 'runs wait')} for the daily cap",
            f"{cap[:1].upper()}{cap[1:]}. They go on by themselves.",
            f"{reverse('chats')}?state=running",
        )  # fmt: skip


def _parked() -> Iterator[Need]:
    parked = Batch.objects.filter(status=Batch.Status.PARKED).select_related("chat").order_by("-finished_at", "id")
    count = parked.count()
    if count:
        yield Need(
            "pause-circle-fill", "bad", count, f"parked {_s(count, 'batch', 'batches')}",
            "They failed too often. Automatic runs go around them until someone retries them.",
            f"{reverse('chats')}?state=parked",
            [
                Row(batch.chat.shown_title, reverse("batch", args=[batch.pk]),
                    f"messages {batch.first_position}–{batch.last_position}: {_short(batch.error)}")
                for batch in parked[:SHOWN]
            ],
        )  # fmt: skip


def failed_runs() -> QuerySet[Run]:
    """Runs that failed, were not followed by another run of their chat, and not only because a batch was parked."""
    parked = Batch.objects.filter(run=OuterRef("pk"), status=Batch.Status.PARKED)
    return last_failed_runs().filter(~Exists(parked)).select_related("chat")


def _failed_runs() -> Iterator[Need]:
    runs = failed_runs().order_by("-finished_at", "id")
    count = runs.count()
    if count:
        yield Need(
            "x-circle-fill", "bad", count, f"{_s(count, 'chat', 'chats')} whose last run failed",
            "What was read before the failure is kept.",
            f"{reverse('chats')}?state=failed",
            [
                Row(run.chat.shown_title, reverse("chat", args=[run.chat_id]), _short(run.error))
                for run in runs[:SHOWN]
            ],
        )  # fmt: skip


def failed_imports() -> QuerySet[ChatImport]:
    """Imports that failed lately and can be run again, until someone does so or their files are deleted."""
    again = ChatImport.objects.filter(
        files=OuterRef("files"), learner=OuterRef("learner"), dry_run=False, created_at__gt=OuterRef("created_at")
    )
    since = timezone.now() - timedelta(days=ATTENTION_DAYS)
    rows = ChatImport.objects.filter(status=ChatImport.Status.FAILED, dry_run=False, files_deleted_at=None)
    return rows.filter(~Exists(again), finished_at__gte=since)


def _failed_imports(*, links: bool) -> Iterator[Need]:
    """``links`` to their pages."""
    imports = failed_imports().order_by("-finished_at", "id")
    count = imports.count()
    if count:
        yield Need(
            "upload", "bad", count, f"{_s(count, 'import', 'imports')} of chats that failed",
            "What was imported before the failure is kept, and importing again adds nothing twice.",
            reverse("imports") if links else "",
            [Row(str(row), reverse("import", args=[row.pk]) if links else "", _short(row.error)) for row in imports[:SHOWN]],
        )  # fmt: skip


def _failed_documents() -> Iterator[Need]:
    documents = Document.objects.filter(pk__in=last_failed()).order_by("-added_at", "file_id")
    count = documents.count()
    if count:
        yield Need(
            "file-earmark-x", "bad", count, f"{_s(count, 'document', 'documents')} whose last extraction failed",
            "Text that was in force before stays in force.",
            f"{reverse('documents')}?state=failed",
            [
                Row(document.filename, reverse("document", args=[document.pk]),
                    "an older version is in force" if document.primary_id else "no text is in force")
                for document in documents[:SHOWN]
            ],
        )  # fmt: skip


def failed_processing() -> QuerySet[ProcessingRun]:
    """Processing runs with failed documents lately, until somebody retries these or leaves them."""
    failed = ProcessingItem.objects.filter(run=OuterRef("pk"), status=ProcessingItem.Status.FAILED)
    since = timezone.now() - timedelta(days=ATTENTION_DAYS)
    rows = ProcessingRun.objects.filter(created_at__gte=since, acknowledged_at=None)
    return rows.filter(Q(status=ProcessingRun.Status.FAILED) | Q(Exists(failed))).exclude(
        status=ProcessingRun.Status.CANCELLED
    )


def _failed_processing(*, may: bool) -> Iterator[Need]:
    """``may``: whoever looks can do something about them."""
    runs = failed_processing().order_by("-created_at", "id")
    count = runs.count()
    if count:
        yield Need(
            "layers", "bad", count, f"{_s(count, 'run', 'runs')} over the library with failed documents",
            "What was done is kept. "
            + ("Retry the failed ones alone, or leave it so, on the run’s page." if may else "The run’s page says what failed."),
            f"{reverse('activity')}?view=attention&kind=processing",
            [Row(run_title(run), reverse("processing", args=[run.pk]), _short(run.error)) for run in runs[:SHOWN]],
        )  # fmt: skip


def _missing_vectors() -> Iterator[Need]:
    space = EmbeddingSpace.objects.filter(active=True).first()
    without = missing_vectors(space) if space else Proposition.objects.filter(state=Proposition.State.LIVE)
    count = without.count()
    if count:
        yield Need(
            "diagram-3", "warn", count, f"{_s(count, 'proposition', 'propositions')} without a vector",
            "They cannot be found by meaning until `manage.py backfill_embeddings` has run.",
            reverse("propositions"),
        )  # fmt: skip


def _review() -> Iterator[Need]:
    waiting = review.with_sources(review.queued())
    count = waiting.count()
    if count:
        yield Need(
            "clipboard-check", "wait", count, f"{_s(count, 'candidate waits', 'candidates wait')} for review",
            "Nothing of them is in a graph until somebody accepts them.",
            reverse("review"),
            [
                Row(row.claim, reverse("review-candidate", args=[row.pk]), str(row.batch.learner or ""))
                for row in waiting[:SHOWN]
            ],
        )  # fmt: skip


def _due(rows: Figures, held: Held, *, may: bool) -> Iterator[Need]:
    count, tokens = figures.due_totals(rows, held)
    if count:
        first = figures.due(rows, held).select_related("chat").order_by("-uncovered_tokens", "chat_id")[:SHOWN]
        yield Need(
            "bookmark-check", "wait", count, f"{_s(count, 'chat', 'chats')} due, with {tokens:,} uncovered tokens",
            f"Their next finished turn, or {'you' if may else 'somebody who may'}, will start a run.",
            f"{reverse('chats')}?state=due&sort=uncovered",
            [
                Row(row.chat.shown_title, reverse("chat", args=[row.chat_id]),
                    f"{row.uncovered_tokens:,} of {row.tokens:,} tokens uncovered")
                for row in first
            ],
        )  # fmt: skip


def counts(rows: Figures, held: Held) -> dict[str, int]:
    """How much there is of everything, by name."""
    return figures.totals(rows, held) | {
        "learners": Learner.objects.count(),
        "chats": Chat.objects.count(),
        "propositions": Proposition.objects.filter(state=Proposition.State.LIVE).count(),
        "instances": Instance.objects.filter(live=True).count(),
        "documents": Document.objects.count(),
        "versions": ExtractionVersion.objects.filter(status=ExtractionVersion.Status.SUCCEEDED).count(),
        "running": Run.objects.filter(status__in=Run.ACTIVE).count(),
    }


def _s(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:159]}…"
