"""Everything that works in the background, in one list: runs of chats, imports of chats, and processing runs.

Each kind gives the newest of its rows; the database merges them. What a page shows of them is looked up for that page.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import CharField, Count, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from extraction.models import Batch, Run
from osii.library import progress
from osii.models import ChatImport, ProcessingRun
from osii.permissions import SEE_CHATS, SEE_IMPORTS, SEE_LIBRARY, SEE_PROCESSING, SEE_RUNS, Needs
from osii.waiting import eta_words

from .attention import failed_imports, failed_processing, failed_runs
from .filters import ListFilter, SortFilter, choice_filter
from .processing import HEADS, run_title
from .processing_forms import STEP_FIELDS

CHAT, IMPORT, PROCESSING = "chat", "import", "processing"
NEEDS = {CHAT: Needs((SEE_CHATS, SEE_RUNS)), IMPORT: Needs((SEE_IMPORTS,)), PROCESSING: Needs(SEE_LIBRARY)}
"""With what each kind is seen."""
SEEN_WITH = (SEE_RUNS, SEE_IMPORTS, SEE_PROCESSING)
ALL = frozenset(NEEDS)
VIEWS = {
    "all": "All",
    "attention": "Needs attention",
    "progress": "In progress",
    "completed": "Completed",
}
PER_PAGE = 30
DEEPEST = 10_000
"""So many rows can be paged through; older ones are found by their chat, import or document."""


@dataclass(slots=True)
class Row:
    """One activity. ``done`` of ``total`` in ``unit``; ``eta`` in words; blank where a kind does not know it."""

    kind: str
    title: str
    url: str
    family: str
    status: str
    at: datetime
    note: str = ""
    error: str = ""
    phase: str = ""
    done: int | None = None
    total: int | None = None
    unit: str = ""
    rate: str = ""
    eta: str = ""
    heartbeat_at: datetime | None = None
    worker: str = ""
    attempt: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    flags: list[str] = field(default_factory=list)
    key: UUID | None = None


def kinds_of(user: User) -> frozenset[str]:
    """The kinds that the account may see."""
    return frozenset(kind for kind, needs in NEEDS.items() if needs.allow(user))


def querysets(view: str, kinds: Collection[str] = ALL) -> dict[str, QuerySet[Any]]:
    """The rows of each of these kinds that belong to a view (one of VIEWS)."""
    chats, imports, processing = Run.objects.all(), ChatImport.objects.all(), ProcessingRun.objects.all()
    if view == "attention":
        chats = failed_runs()
        imports = failed_imports()
        processing = failed_processing()
    elif view == "progress":
        chats = chats.filter(status__in=Run.ACTIVE)
        imports = imports.filter(status__in=ChatImport.ACTIVE)
        processing = processing.filter(status__in=ProcessingRun.ACTIVE)
    elif view == "completed":
        chats = chats.exclude(status__in=Run.ACTIVE)
        imports = imports.exclude(status__in=ChatImport.ACTIVE)
        processing = processing.exclude(status__in=ProcessingRun.ACTIVE)
    rows = {CHAT: chats, IMPORT: imports, PROCESSING: processing}
    return {kind: rows[kind] for kind in rows if kind in kinds}


def counts(kinds: Collection[str] = ALL) -> dict[str, int]:
    """How many activities of these kinds each view has."""
    return {view: sum(rows.count() for rows in querysets(view, kinds).values()) for view in VIEWS}


NEWEST = (F("asked").desc(), "id")


class ActivityFilter(ListFilter):
    """Which kinds are listed and in what order. Three tables are merged, so that nothing of it filters one queryset."""

    q = None
    kind = choice_filter([(CHAT, "chats"), (IMPORT, "imports"), (PROCESSING, "library")], "Kind")
    sort = SortFilter(
        {
            "": ("asked for last", NEWEST),
            "oldest": ("asked for first", (F("asked").asc(), "id")),
            "started": ("started last", (F("started_at").desc(nulls_last=True), "id")),
            "-started": ("started first", (F("started_at").asc(nulls_last=True), "id")),
            "longest": ("took longest", (F("took").desc(nulls_last=True), "id")),
            "-longest": ("took shortest", (F("took").asc(nulls_last=True), "id")),
        }
    )

    def kinds(self, view: str, seen: Collection[str] = ALL) -> dict[str, QuerySet[Any]]:
        """The rows of a view, by kind, of the kinds that may be seen."""
        only = self.chosen().get("kind")
        return {kind: rows for kind, rows in querysets(view, seen).items() if only in (None, kind)}

    def order(self) -> tuple[Any, ...]:
        return self.filters["sort"].orders[self.chosen().get("sort", "")]


def listed(view: str, number: str | None, chosen: ActivityFilter, seen: Collection[str] = ALL) -> Page:
    """A page of the merged list of the kinds that may be seen; its ``object_list`` are Rows."""
    kinds = chosen.kinds(view, seen)
    total = sum(rows.count() for rows in kinds.values())
    page = Paginator(range(min(total, DEEPEST)), PER_PAGE).get_page(number)
    page.object_list = _rows(merged(kinds, chosen.order(), (page.number - 1) * PER_PAGE, page.number * PER_PAGE))
    return page


def newest(kinds: dict[str, QuerySet[Any]], count: int) -> list[Row]:
    """The rows of these querysets (by kind) that were asked for last."""
    return _rows(merged(kinds, NEWEST, 0, count))


ASKED = {CHAT: "queued_at", IMPORT: "created_at", PROCESSING: "created_at"}
"""When each kind was asked for."""


def merged(kinds: dict[str, QuerySet[Any]], order: tuple[Any, ...], start: int, end: int) -> list[tuple[str, UUID]]:
    """(kind, key) of the rows of these querysets (by kind) from ``start`` to ``end``, in this order."""
    now = timezone.now()
    found = [
        rows.annotate(
            kind=Value(kind, CharField()),
            asked=F(ASKED[kind]),
            took=Coalesce("finished_at", Value(now)) - F("started_at"),
        )
        .order_by(*order)
        .values_list("kind", "pk", "asked", "started_at", "took")[:end]
        for kind, rows in kinds.items()
    ]
    if not found:
        return []
    rows = found[0].union(*found[1:], all=True).order_by(*order)[start:end] if found[1:] else found[0][start:end]
    return [(kind, pk) for kind, pk, *_ in rows]


def _rows(keys: Sequence[tuple[str, UUID]]) -> list[Row]:
    """The rows in this order; those that went meanwhile are left out."""
    made: dict[tuple[str, UUID], Row] = {}
    for kind, fill in FILLERS.items():
        ids = [pk for of, pk in keys if of == kind]
        made |= {(kind, pk): row for pk, row in (fill(ids) if ids else {}).items()}
    return [made[key] for key in keys if key in made]


def titles(keys: Sequence[tuple[str, UUID]]) -> list[str]:
    return [row.title for row in _rows(keys)]


def _chats(ids: list[UUID]) -> dict[UUID, Row]:
    runs = list(Run.objects.filter(pk__in=ids).select_related("chat__learner"))
    add_read(runs)
    return {run.pk: _chat(run) for run in runs}


def add_read(runs: Sequence[Run]) -> None:
    """Add ``batches_read`` and ``tokens_read`` to runs: one query."""
    done = Batch.objects.filter(status=Batch.Status.SUCCEEDED, run__in=runs).order_by()
    read = {row["run"]: row for row in done.values("run").annotate(batches=Count("pk"), sum=Coalesce(Sum("tokens"), 0))}
    for run in runs:
        row = read.get(run.pk, {"batches": 0, "sum": 0})
        run.batches_read, run.tokens_read = row["batches"], row["sum"]


def _chat(run: Run) -> Row:
    return Row(
        CHAT, run.chat.shown_title, reverse("chat", args=[run.chat_id]), "run", run.status, run.queued_at,
        note=f"reads {run.get_mode_display()}, {run.chat.learner.name}", error=run.error, phase=run.note,
        done=run.tokens_read, unit="tokens", heartbeat_at=run.heartbeat_at, worker=run.held_by, attempt=run.attempt,
        started_at=run.started_at, finished_at=run.finished_at, key=run.pk,
    )  # fmt: skip


def _imports(ids: list[UUID]) -> dict[UUID, Row]:
    rows = ChatImport.objects.filter(pk__in=ids).defer("problems", "skipped")
    return {row.pk: _import(row) for row in rows}


def _import(row: ChatImport) -> Row:
    return Row(
        IMPORT, str(row), reverse("import", args=[row.pk]), "import", row.status, row.created_at,
        note="dry run" if row.dry_run else "", error=row.error, done=row.bytes_done, total=row.bytes_total, unit="bytes",
        heartbeat_at=row.heartbeat_at, worker=row.held_by, attempt=row.attempt, started_at=row.started_at,
        finished_at=row.finished_at, key=row.pk, flags=["problems"] if row.problem_count and row.status != "failed" else [],
    )  # fmt: skip


def _processing(ids: list[UUID]) -> dict[UUID, Row]:
    runs = list(ProcessingRun.objects.filter(pk__in=ids))
    states = progress.of_runs(runs)
    return {run.pk: _run(run, states[run.pk]) for run in runs}


def _run(run: ProcessingRun, now: progress.Progress) -> Row:
    workers = f"{len(now.workers)} workers" if len(now.workers) > 1 else next(iter(now.workers), "")
    return Row(
        PROCESSING, run_title(run), reverse("processing", args=[run.pk]), "processing", run.status, run.created_at,
        note=f"by {run.actor}", error=run.error, done=now.done, total=now.total, unit="documents",
        rate=f"{now.rate:g} a minute" if now.rate else "", eta=eta_words(now.eta) if now.eta else "",
        heartbeat_at=now.heartbeat_at, worker=workers, started_at=run.started_at, finished_at=run.finished_at,
        key=run.pk, flags=["some_failed"] if now.failed and run.status != "failed" else [],
    )  # fmt: skip


def titled(q: str) -> Q:
    """Processing runs with ``q`` in what they do, or in one of their steps."""
    words = q.casefold()
    found = Q(workflow__in=[workflow for workflow, head in HEADS.items() if words in head.casefold()])
    for step in STEP_FIELDS:
        if words in step:
            found |= Q(operations__contains=[{"id": step}])
    return found


FILLERS: dict[str, Callable[[list[UUID]], dict[UUID, Row]]] = {
    CHAT: _chats,
    IMPORT: _imports,
    PROCESSING: _processing,
}
