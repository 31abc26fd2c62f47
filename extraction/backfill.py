"""Reading many chats through the queue: runs requested in bulk, the progress of some, and the backlog of all.

Everything shown is derived from rows: nothing is counted up, so a lost worker or an emptied Redis makes no figure wrong.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from coverage.models import Chat, Message, MessageCoverage

from .locking import with_many_locked
from .models import Batch, Resolution, Run
from .running import endings
from .running.queueing import enqueue_runs
from .selectors import EXTRACTABLE, IN_FLIGHT, PARKED, coverage_of_chats, with_states
from .services import check_worker
from .spending import day_is_spent

GROUP = 500
"""Chats that are looked at and locked together."""
HOUR, RECENT = timedelta(hours=1), timedelta(minutes=10)
FASTER, SLOWER = 1.25, 0.8
"""What a measured rate may be off by, either way."""


@dataclass(frozen=True, slots=True)
class Requested:
    """A chat that has something to read, and its active run: ``made`` now, or found."""

    chat_id: UUID
    title: str
    run: Run
    made: bool


def request_all(mode: str, worker: str, model: str = "") -> Iterator[tuple[int, list[Requested]]]:
    """Request a run for every chat with something to read, group by group; yields how many chats were looked at, and what
    was requested among them.

    Stopping in between loses nothing, and calling again joins the runs that are active. Raises ValueError for an unknown
    worker or model.
    """
    check_worker(worker, model)
    ids = Chat.objects.order_by("updated_at", "pk").values_list("pk", flat=True).iterator(chunk_size=5000)
    while group := list(islice(ids, GROUP)):
        rest = mode == Run.Mode.REST
        titles = {
            UUID(row["chat_id"]): row["title"]
            for row in coverage_of_chats(group)
            if (row["uncovered_tokens"] if rest else row["due"])
        }
        runs = request_runs([chat for chat in group if chat in titles], mode, worker, model)
        yield len(group), [Requested(run.chat_id, titles[run.chat_id], run, made) for run, made in runs]


def request_reading(chat_ids: Iterable[UUID], mode: str) -> tuple[int, int]:
    """Start runs for those of these chats that have something to read: (runs made, runs that were active already).

    ``mode`` is Run.Mode: "due" takes the chats with enough unread text, "rest" everything.
    """
    chats = iter(chat_ids)
    made = joined = 0
    while group := list(islice(chats, GROUP)):
        to_read = [
            UUID(summary["chat_id"])
            for summary in coverage_of_chats(group)
            if (summary["uncovered_tokens"] if mode == Run.Mode.REST else summary["due"])
        ]
        for _, is_new in request_runs(to_read, mode, settings.EXTRACTION_WORKER):
            made, joined = made + is_new, joined + (not is_new)
    return made, joined


def request_runs(chat_ids: Sequence[UUID], mode: str, worker: str, model: str = "") -> list[tuple[Run, bool]]:
    """The active run of each of these chats and whether it was made now, in one transaction; enqueued in the given order.

    "rest" widens an active run that was only "due". A run that was told to stop is not joined (see ``request_run``). A chat that was erased meanwhile is left out.
    """

    def request(chats: dict[UUID, Chat]) -> list[tuple[Run, bool]]:
        there = [pk for pk in chat_ids if pk in chats]
        if mode == Run.Mode.REST:
            Message.objects.filter(chat__in=there, streaming=True, settled_at=None).update(settled_at=timezone.now())
        active = {run.chat_id: run for run in Run.objects.filter(chat__in=there, status__in=Run.ACTIVE)}
        if mode == Run.Mode.REST:
            going_on = [run.pk for run in active.values() if run.abort_requested_at is None]
            Run.objects.filter(pk__in=going_on).update(mode=mode)
        for run in active.values():
            if run.abort_requested_at is not None:
                endings.remember(run, mode, worker, model)
        values = {"mode": mode, "worker": worker, "model": model}
        made = [Run(chat_id=pk, **values) for pk in there if pk not in active]
        Run.objects.bulk_create(made)
        transaction.on_commit(lambda: enqueue_runs(made), robust=True)
        runs = active | {run.chat_id: run for run in made}
        return [(runs[pk], pk not in active) for pk in there]

    return with_many_locked(chat_ids, request) if chat_ids else []


def progress(run_ids: Sequence[UUID]) -> dict[str, int]:
    """How far these runs are: runs by status, ``runs`` and ``ended``, and ``batches``, ``tokens``, ``candidates`` read."""
    runs = Run.objects.filter(pk__in=run_ids).order_by().values_list("status").annotate(count=Count("pk"))
    found = dict.fromkeys(Run.Status.values, 0) | dict(runs)
    read = Batch.objects.filter(run__in=run_ids, status=Batch.Status.SUCCEEDED).aggregate(
        batches=Count("pk"), tokens=Coalesce(Sum("tokens"), 0), candidates=Coalesce(Sum("staged_count"), 0)
    )
    # Runs that were erased with their chats are over, too.
    ended = len(run_ids) - found[Run.Status.QUEUED] - found[Run.Status.RUNNING]
    return {"runs": len(run_ids), "ended": ended, **found, **read}


def outcomes(run_ids: Sequence[UUID]) -> Counter[str]:
    """What the merge made of these runs' candidates, counted by outcome."""
    rows = Resolution.objects.filter(candidate__batch__run__in=run_ids).order_by().values_list("outcome")
    return Counter(dict(rows.annotate(count=Count("pk"))))


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits and how fast it is read. Rates are tokens per hour, times are seconds; None where nothing is known."""

    queued: int
    running: int
    unread_tokens: int  # in the chats of active runs
    parked_tokens: int  # of these
    hour_tokens: int  # read in the last hour
    hour_batches: int
    failed_batches: int  # failed or parked in the last hour
    slow_rate: float | None
    fast_rate: float | None
    cap: str  # why everything waits

    @property
    def active(self) -> bool:
        return bool(self.queued or self.running)

    @property
    def eta(self) -> tuple[float, float] | None:
        """Seconds that reading the backlog will take, at least and at most; None while no rate is known."""
        if not self.slow_rate or not self.fast_rate or not self.active:
            return None
        return 3600 * self.unread_tokens / self.fast_rate, 3600 * self.unread_tokens / self.slow_rate

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"eta_seconds": self.eta}


def backlog() -> Backlog:
    """The backlog as it is now, in three queries (four with a daily cap)."""
    active = dict(Run.objects.filter(status__in=Run.ACTIVE).values_list("chat", "status"))
    counts = Counter(active.values())
    now = timezone.now()
    hour = _read_since(now)
    slow, fast = _rates(hour, now)
    return Backlog(
        queued=counts[Run.Status.QUEUED],
        running=counts[Run.Status.RUNNING],
        **_unread(active),
        hour_tokens=hour["hour_tokens"],
        hour_batches=hour["batches"],
        failed_batches=hour["failed"],
        slow_rate=slow,
        fast_rate=fast,
        cap=day_is_spent(),
    )


def _unread(chat_ids: Iterable[UUID]) -> dict[str, int]:
    """Ids rather than a subquery: only so does the diff leave out all other chats before it sorts."""
    rows = with_states(MessageCoverage.objects.filter(chat__in=list(chat_ids)))
    return rows.order_by().aggregate(
        unread_tokens=Coalesce(Sum("tokens", filter=Q(state__in=(*EXTRACTABLE, IN_FLIGHT, PARKED))), 0),
        parked_tokens=Coalesce(Sum("tokens", filter=Q(state=PARKED)), 0),
    )


def _read_since(now: datetime) -> dict[str, Any]:
    done = Q(status=Batch.Status.SUCCEEDED)
    recent = Q(finished_at__gt=now - RECENT)
    return Batch.objects.filter(finished_at__gt=now - HOUR).aggregate(
        hour_tokens=Coalesce(Sum("tokens", filter=done), 0),
        batches=Count("pk", filter=done),
        failed=Count("pk", filter=Q(status__in=(Batch.Status.FAILED, Batch.Status.PARKED))),
        first=Min("created_at", filter=done),
        recent_tokens=Coalesce(Sum("tokens", filter=done & recent), 0),
        recent_first=Min("created_at", filter=done & recent),
    )


def _rates(read: dict[str, Any], now: datetime) -> tuple[float | None, float | None]:
    """Tokens per hour, slow and fast: over the last hour and over its last ten minutes, each from its first batch on."""
    rates = []
    for tokens, first, window in (
        (read["hour_tokens"], read["first"], HOUR),
        (read["recent_tokens"], read["recent_first"], RECENT),
    ):
        if tokens:
            seconds = max(1.0, min(now - first, window).total_seconds())
            rates.append(3600 * tokens / seconds)
    return (min(rates) * SLOWER, max(rates) * FASTER) if rates else (None, None)
