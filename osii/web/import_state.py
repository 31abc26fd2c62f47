"""An import's state as its page shows it and refreshes it while it is active."""

import hashlib
from typing import Any

from coverage import summaries
from coverage.models import Learner
from coverage.queueing import LIBRARY
from osii.imports.report import totals
from osii.models import ChatImport

from .live import queue_workers


def state_context(row: ChatImport) -> dict[str, Any]:
    """What the live fragment's template needs, in a fixed number of queries."""
    counts = totals(row) if row.active or not row.counts else row.counts
    waiting = row.status == ChatImport.Status.QUEUED
    return {
        "row": row,
        "counts": counts,
        "percent_done": min(row.bytes_done, row.bytes_total),
        "workers": queue_workers(LIBRARY) if waiting else None,
        "states": list(counts["states"].items()),
        "checkpoint_states": list(counts["checkpoints"].items()),
        "can_repeat": row.files_kept_until is not None,
        "chats_of": _learner(row),
        "unread": _unread(row),
        "seen": _token(row, counts),
    }


def _learner(row: ChatImport) -> Learner | None:
    """Whose chats a link can show: the import's learner, or the only one whom its files named."""
    if row.active:
        return None
    names = list(row.conversations.exclude(learner="").order_by().values_list("learner", flat=True).distinct()[:2])
    return Learner.objects.filter(name=names[0]).first() if len(names) == 1 else None


def _unread(row: ChatImport) -> bool:
    """Whether anything of these chats waits to be read; as long as some are not counted yet, something may."""
    if row.active or row.dry_run:
        return False
    rows, uncounted = summaries.listed()
    chats = row.conversations.filter(chat__isnull=False).order_by().values("chat")
    return bool(uncounted) or rows.filter(chat__in=chats, uncovered_tokens__gt=0).exists()


def _token(row: ChatImport, counts: dict[str, Any]) -> str:
    """Changes when anything that the fragment shows changes; an unchanged one is not sent again."""
    seen = (
        row.status,
        row.attempt,
        row.recoveries,
        row.bytes_done,
        row.problem_count,
        bool(row.cancel_requested_at),
        sorted(counts["states"].items()),
        sorted(counts["checkpoints"].items()),
    )
    return hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()
