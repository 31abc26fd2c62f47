"""The marker of a delivered steer in a transcript: composed when the transcript is read, stored nowhere in it.

It is a data part, which the transcript view does not see, at the end of the message after which the steer was given.
A part of this type that a client stores is shown to nobody: the steer's row is the only source.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .models import Steer

PART_TYPE = "data-osii-context"


def without_markers(parts: Any) -> Any:
    """``parts`` without marker parts; what is no list is returned as it is, for whoever checks it."""
    if not isinstance(parts, list):
        return parts
    return [part for part in parts if not (isinstance(part, Mapping) and part.get("type") == PART_TYPE)]


def marker(steer: Steer) -> dict[str, Any]:
    """The marker part: tokens, count, the exact text, and when it was given."""
    return {
        "type": PART_TYPE,
        "id": str(steer.pk),
        "data": {
            "tokens": steer.tokens,
            "count": steer.count,
            "text": steer.text,
            "delivered_at": steer.delivered_at and steer.delivered_at.isoformat(),
        },
    }


def place(message_ids: Sequence[str], steer: Steer | None) -> int | None:
    """Index of the message whose end carries the marker; None when there is none to show.

    When the message it was given after has left the transcript, that is the first one: the topic stays.
    """
    if steer is None or steer.status != Steer.Status.DELIVERED or not message_ids:
        return None
    return message_ids.index(steer.offered_after) if steer.offered_after in message_ids else 0


def compose(messages: Sequence[Mapping[str, Any]], steer: Steer | None) -> list[dict[str, Any]]:
    """UIMessages with ``id`` and ``parts``, in order, with the steer's marker and no other one."""
    composed = [{**message, "parts": without_markers(message["parts"])} for message in messages]
    at = place([message["id"] for message in composed], steer)
    if at is not None and steer is not None:
        composed[at]["parts"] = [*composed[at]["parts"], marker(steer)]
    return composed
