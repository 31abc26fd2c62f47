"""What works in the background, for the dock of every page: how much runs, waits and failed, and the latest of it.

A fixed number of queries, whatever there is. A steer's preparation is in it from the first message to its delivery.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from coverage.queueing import CHATS, LIBRARY, STEERS
from graphctx.models import Steer
from osii.permissions import SEE_CHATS

from . import activity_list
from .activity_list import CHAT, IMPORT, PROCESSING, Row, newest, querysets
from .live import queue_workers

SHOWN = 6
MANY = 100
"""So many failures of each kind are counted; whoever has more has no use for the number."""
STEER = "steer"
STEER_HOURS = 24
"""So long a steer is awaited that no turn has taken, and one that failed is shown."""
SEEN_WITH = (SEE_CHATS, *activity_list.SEEN_WITH)
QUEUES = {CHAT: CHATS, IMPORT: LIBRARY, PROCESSING: LIBRARY, STEER: STEERS}


@dataclass(frozen=True, slots=True)
class Dock:
    """``failed`` is what Activity lists as needing attention, ``failed_steers`` apart, as Activity lists none.

    ``offline`` says which queues nobody works on although something waits in them; empty when all is well.
    """

    running: int
    queued: int
    failed: int
    failed_steers: int
    rows: Sequence[Row]
    more: int
    offline: str

    @property
    def token(self) -> str:
        """Changes when anything that the dock shows changes."""
        seen = [str((self.running, self.queued, self.failed, self.failed_steers, self.more, self.offline))]
        seen += [f"{row.url} {row.status} {row.title} {row.done} {row.total} {row.error}" for row in self.rows]
        return hashlib.blake2b("\n".join(seen).encode(), digest_size=8).hexdigest()


def kinds_of(user: User) -> frozenset[str]:
    """What of it the account may see."""
    return activity_list.kinds_of(user) | ({STEER} if user.has_perm(SEE_CHATS) else set())


def read_dock(seen: Collection[str] = frozenset(QUEUES)) -> Dock:
    """Of the kinds that may be ``seen``."""
    kinds = querysets("progress", seen)
    counts = {kind: _by_status(rows) for kind, rows in kinds.items()}
    steers = _steers() if STEER in seen else Steer.objects.none()
    counts[STEER] = _by_status(steers)
    rows = [*_steer_rows(steers), *newest(kinds, SHOWN)]
    rows.sort(key=lambda row: row.at, reverse=True)
    waiting = {kind: found["queued"] + found[Steer.Status.PREPARING] for kind, found in counts.items()}
    running = sum(found["running"] for found in counts.values())
    failed_steers = counts[STEER].pop(Steer.Status.FAILED, 0)
    return Dock(
        running=running,
        queued=sum(found.total() for found in counts.values()) - running,
        failed=sum(rows.order_by().values("pk")[:MANY].count() for rows in querysets("attention", seen).values()),
        failed_steers=failed_steers,
        rows=rows[:SHOWN],
        more=sum(found.total() for found in counts.values()) + failed_steers - len(rows[:SHOWN]),
        offline=_offline({QUEUES[kind] for kind, count in waiting.items() if count}),
    )


def _by_status(rows: QuerySet[Any]) -> Counter[str]:
    return Counter(dict(rows.order_by().values_list("status").annotate(Count("pk"))))


def _steers() -> QuerySet[Steer]:
    """Steers that are on their way to a turn, or failed lately."""
    since = timezone.now() - timedelta(hours=STEER_HOURS)
    statuses = (Steer.Status.PREPARING, Steer.Status.READY, Steer.Status.OFFERED, Steer.Status.FAILED)
    recent = Q(status=Steer.Status.PREPARING) | Q(created_at__gte=since)
    return Steer.objects.filter(recent, status__in=statuses)


def _steer_rows(steers: QuerySet[Steer]) -> list[Row]:
    found = steers.select_related("chat").defer("text", "items").order_by("-created_at", "id")[:SHOWN]
    return [
        Row(
            STEER, steer.chat.shown_title, f"{reverse('chat', args=[steer.chat_id])}#steer", "steer",
            steer.status, steer.created_at, note="knowledge context",
            error=steer.reason if steer.status == Steer.Status.FAILED else "",
        )
        for steer in found
    ]  # fmt: skip


def _offline(queues: set[str]) -> str:
    found = {queue: queue_workers(queue) for queue in sorted(queues)}
    broken = next((one for one in found.values() if one.state == "fail"), None)
    if broken is not None:
        return f"{broken.detail}; {broken.advice}."
    idle = [queue for queue, one in found.items() if one.state != "ok"]
    return f"Worker offline: nobody works on {' and '.join(idle)}. Start it with manage.py up." if idle else ""
