"""Batches of messages: consecutive uncovered messages, oldest first, under the chunk budget."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Sized(Protocol):
    """A message's size in tokens."""

    @property
    def tokens(self) -> int: ...


class Readable(Sized, Protocol):
    """What batching needs besides: whether the message may be read now."""

    @property
    def extractable(self) -> bool: ...


R = TypeVar("R", bound=Readable)
S = TypeVar("S", bound=Sized)


def first_batch(rows: Iterable[R], budget: int) -> list[R]:
    """The next batch of a transcript given in order: empty when nothing may be read.

    Messages are taken while they follow one another and fit into ``budget`` tokens. A message with content that is
    not extractable (covered, parked, unsettled) ends the group; an empty one does not. One message larger than the
    budget is a batch of its own: no message is split, truncated or skipped.
    """
    group: list[R] = []
    tokens = 0
    for row in rows:
        if row.tokens == 0:
            continue
        if not row.extractable:
            if group:
                break
            continue
        if group and tokens + row.tokens > budget:
            break
        group.append(row)
        tokens += row.tokens
    return group


def context_before(rows_backwards: Iterable[S], budget: int) -> list[S]:
    """Of the messages before a batch, given nearest first: those that fit into ``budget`` tokens, in transcript order.

    They are shown read-only so that an answer is not read without its question; they are never counted or citable.
    """
    shown: list[S] = []
    for row in rows_backwards:
        budget -= row.tokens
        if budget < 0:
            break
        shown.append(row)
    return shown[::-1]
