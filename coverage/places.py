"""Where messages stand in a transcript when they are put in parts, and not always in the order they were said."""

from collections.abc import Sequence


def keeps_order(places: Sequence[int | None]) -> bool:
    """Whether a list agrees with the stored order: known places ascend, and what is new (None) stands behind them."""
    last = 0
    new = False
    for place in places:
        if place is None:
            new = True
        elif new or place < last:
            return False
        else:
            last = place
    return True


def woven(stored: Sequence[str], given: Sequence[str]) -> list[str]:
    """The stored order with the given one woven in.

    Stored ids that are given come in the given order, in the places that they hold together. A new id stands right
    before the stored one that follows it in ``given``, else at the end. All others keep their order.
    """
    known = set(stored)
    given_known = iter([key for key in given if key in known])
    before: dict[str, list[str]] = {}
    waiting: list[str] = []
    for key in given:
        if key in known:
            before[key], waiting = waiting, []
        else:
            waiting.append(key)
    order: list[str] = []
    for place in stored:
        key = next(given_known) if place in before else place
        order += before.get(key, ())
        order.append(key)
    return order + waiting
