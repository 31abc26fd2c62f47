"""The active branch of a conversation whose messages name the one before them."""

from collections.abc import Mapping, Sequence


def branch(order: Sequence[str], parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """The ids from the root to ``leaf``, or to the last id in ``order`` when there is no such leaf.

    ``order`` is the file's. Where a message names one before it that is missing, the path goes on with the message
    that stands before it in the file: what is lost must not take along everything that came earlier. A circle ends
    the path.
    """
    if not order:
        return []
    places = {message_id: place for place, message_id in enumerate(order)}
    current: str | None = leaf if leaf in places else order[-1]
    path: list[str] = []
    seen: set[str] = set()
    while current is not None and current not in seen:
        seen.add(current)
        path.append(current)
        before = parents.get(current)
        if before is not None and before not in places:
            place = places[current]
            before = order[place - 1] if place else None
        current = before
    path.reverse()
    return path
