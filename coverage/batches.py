"""Batches of messages: consecutive uncovered messages, oldest first, under the chunk budget."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Readable(Protocol):
    """What batching needs of a message: its place, its size, whether it has content and may be read now."""

    position: int
    tokens: int
    extractable: bool


R = TypeVar("R", bound=Readable)


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


def context_before(rows: Iterable[R], first_position: int, budget: int) -> list[R]:
    """The nearest messages before ``first_position`` that fit into ``budget`` tokens, in transcript order.

    They are shown read-only so that an answer is not read without its question; they are never counted or citable.
    """
    shown: list[R] = []
    for row in reversed([row for row in rows if row.position < first_position and row.tokens]):
        budget -= row.tokens
        if budget < 0:
            break
        shown.append(row)
    return shown[::-1]
