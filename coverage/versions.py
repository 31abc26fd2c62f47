"""Which of two contents of one message is the newer one, when a slow client delivers late.

A client may say so: ``metadata.version``, a whole number, or ``metadata.updatedAt``, an ISO 8601 time or an epoch. Where
both contents carry one and the two differ, the higher is the newer. Where that does not decide, a content that would undo
something is taken for the older: one that is still streaming never replaces a settled one, nor does one in which a
tool call has got less far (``input-available`` after ``output-available``, say). Else the last write wins.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from .importers.values import parse_time
from .view import is_streaming

_PROGRESS = {
    "input-streaming": 1,
    "input-available": 2,
    "approval-requested": 3,
    "approval-responded": 4,
    "output-available": 5,
    "output-error": 5,
    "output-denied": 5,
}


class Content(Protocol):
    """What is compared of a message, stored or given."""

    parts: list[dict[str, Any]]
    metadata: dict[str, Any]


def is_stale(stored: Content, given: Content) -> bool:
    """Whether ``given`` is older than ``stored``, and so must not replace it."""
    for read in (_version, _updated_at):
        old, new = read(stored.metadata), read(given.metadata)
        if old is not None and new is not None and old != new:
            return new < old  # type: ignore[operator]  # both come from one reader
    if is_streaming(given.parts) and not is_streaming(stored.parts):
        return True
    before, after = _progress(stored.parts), _progress(given.parts)
    return any(after[call] < before[call] for call in after.keys() & before.keys())


def _version(metadata: Mapping[str, Any]) -> int | None:
    version = metadata.get("version")
    # jsonb gives 3.0 back for a client that counts in floats; true is not a number here.
    if isinstance(version, float) and version.is_integer():
        return int(version)
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def _updated_at(metadata: Mapping[str, Any]) -> datetime | None:
    return parse_time(metadata.get("updatedAt"))


def _progress(parts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How far each tool call of a message has got, by its id."""
    calls = {}
    for part in parts:
        call = part.get("toolCallId")
        if isinstance(call, str):
            state = part.get("state")
            done = part.get("output") is not None or bool(part.get("errorText"))
            calls[call] = _PROGRESS.get(state if isinstance(state, str) else "", 5 if done else 0)
    return calls
