"""Small readings that all formats share: times in their three notations, ids that files leave out."""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any

# From this number on, an epoch is in milliseconds: in seconds it would be the year 5138.
_MILLISECONDS_FROM = 1e11


def parse_time(value: Any) -> datetime | None:
    """An aware datetime from epoch seconds, epoch milliseconds (numbers or digits) or ISO 8601.

    None for everything else, and for 0 and below, which exporters write where they know no time. A time without an
    offset is UTC.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return _from_epoch(float(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _from_epoch(number: float) -> datetime | None:
    try:
        seconds = float(number)
        if not math.isfinite(seconds) or seconds <= 0:
            return None
        if seconds >= _MILLISECONDS_FROM:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def derived_id(prefix: str, *pieces: Any) -> str:
    """A stable id for something that has none: ``prefix`` and the 128-bit blake2b of the pieces as JSON."""
    text = json.dumps(pieces, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{prefix}-{digest}"


def printable(text: str) -> str:
    """The text with what a terminal or a log cannot carry written as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
