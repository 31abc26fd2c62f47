"""Planning a long chat batch after batch: what lies before the first message that may be read is not derived again.

A frontier is a position with the promise that nothing before it may be read. It is kept in this process only, and holds
while everything holds that could break the promise: no message of the chat changed, no coverage was released, no batch
was unparked, and no message before it became readable by its age. Otherwise the whole diff is derived again. What lies
behind the frontier comes from the diff each time.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Min
from django.utils import timezone

from coverage.models import ChatSummary, CoverageEntry, Message

from ..models import Batch
from ..selectors import MessageState, message_states, states_between

FIRST_WINDOW, LAST_WINDOW = 200, 5_000
"""Messages that are asked for at once: more each time, so that reading to the end costs no more than one derivation."""
KEPT = 256
"""Chats whose frontier is remembered."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """``holding`` are the batches that keep messages from being read; ``unsettled_since`` is when the
    oldest message there that is still being written changed last."""

    position: int
    transcript_revision: int
    release: int
    holding: frozenset[UUID]
    unsettled_since: datetime | None


_known: OrderedDict[UUID, Frontier] = OrderedDict()


class Ahead:
    """The states of a chat's transcript, in order, from a position before which nothing may be read; read as far as someone
    looks."""

    def __init__(self, chat_id: UUID, start: int | None) -> None:
        """``start`` None: all of it, in one derivation."""
        self.chat_id = chat_id
        self._rows: list[MessageState] = [] if start else message_states(chat_id)
        self._next = start
        self._size = FIRST_WINDOW

    def __iter__(self) -> Iterator[MessageState]:
        index = 0
        while index < len(self._rows) or self._more():
            yield self._rows[index]
            index += 1

    def _more(self) -> bool:
        if self._next is None:
            return False
        rows = states_between(self.chat_id, self._next, self._next + self._size - 1)
        self._rows += rows
        self._next = self._next + self._size if rows else None
        self._size = min(2 * self._size, LAST_WINDOW)
        return bool(rows)

    def reaches(self, tokens: int) -> bool:
        """Whether at least so many tokens may be read."""
        for row in self:
            tokens -= row.tokens if row.extractable else 0
            if tokens <= 0:
                return True
        return False


def ahead(chat_id: UUID) -> Ahead:
    """What lies before the next batch; the caller holds the chat's lock."""
    frontier = _known.get(chat_id)
    return Ahead(chat_id, frontier.position if frontier and _holds(chat_id, frontier) else None)


def remember(chat_id: UUID, rows: Iterable[MessageState]) -> None:
    """Note how far the first message that may be read is; the caller holds the chat's lock since it asked for ``rows``."""
    old = _known.pop(chat_id, None)
    position = old.position if old else 1
    for row in rows:
        position = row.position
        if row.extractable:
            break
    _known[chat_id] = Frontier(
        position, _revision(chat_id), _last_release(chat_id), _holding(chat_id), _unsettled_since(chat_id, position)
    )
    while len(_known) > KEPT:
        _known.popitem(last=False)


def forget() -> None:
    """Forget every frontier."""
    _known.clear()


def _holds(chat_id: UUID, frontier: Frontier) -> bool:
    limit = timezone.now() - timedelta(seconds=settings.EXTRACTION_UNSETTLED_SECONDS)
    return (
        (frontier.unsettled_since is None or frontier.unsettled_since > limit)
        and frontier.transcript_revision == _revision(chat_id)
        and frontier.release == _last_release(chat_id)
        and frontier.holding <= _holding(chat_id)
    )


def _revision(chat_id: UUID) -> int:
    return ChatSummary.objects.values_list("transcript_revision", flat=True).get(pk=chat_id)


def _last_release(chat_id: UUID) -> int:
    releases = CoverageEntry.objects.filter(chat=chat_id, kind=CoverageEntry.Kind.RELEASE)
    return releases.aggregate(last=Max("pk"))["last"] or 0


def _holding(chat_id: UUID) -> frozenset[UUID]:
    held = Batch.objects.filter(chat=chat_id, status__in=(Batch.Status.PARKED, Batch.Status.RUNNING))
    return frozenset(held.values_list("pk", flat=True))


def _unsettled_since(chat_id: UUID, position: int) -> datetime | None:
    """Of all messages before ``position`` that are still being written, covered or not: asking too early costs little."""
    limit = timezone.now() - timedelta(seconds=settings.EXTRACTION_UNSETTLED_SECONDS)
    written = Message.objects.filter(
        chat=chat_id, streaming=True, settled_at=None, position__lt=position, changed_at__gt=limit
    )
    return written.aggregate(since=Min("changed_at"))["since"]
