"""Geometry of the coverage strip and the coverage bar: plain numbers for SVG attributes, in percent.

One segment per message, as wide as its share of the tokens; beyond MAX_SEGMENTS messages, neighbours share a bucket
whose bands show how its tokens are divided among the states.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from extraction.selectors import COVERED, EMPTY, IN_FLIGHT, PARKED, REOPENED, STATES, UNCOVERED, UNSETTLED, StateGroup

from .statuses import Status, status_of

MAX_SEGMENTS = 500
BUCKETS = 250
THINNEST = 0.35
"""A segment takes at least this share of an even share, so that a short message can still be seen and hit."""

STACK = (COVERED, IN_FLIGHT, REOPENED, UNCOVERED, PARKED, UNSETTLED, EMPTY)


@dataclass(frozen=True, slots=True)
class Band:
    """A part of a segment's height, from the bottom up."""

    y: float
    height: float
    state: str


@dataclass(frozen=True, slots=True)
class Segment:
    x: float
    width: float
    bands: list[Band]
    first: int
    last: int
    label: str


@dataclass(frozen=True, slots=True)
class Total:
    """The text equivalent: how much is in one state."""

    state: str
    status: Status
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Strip:
    segments: list[Segment]
    totals: list[Total]
    bucketed: bool


def buckets(messages: int) -> int:
    """Into how many segments a transcript of so many messages is cut."""
    return messages if messages <= MAX_SEGMENTS else BUCKETS


def build(groups: Sequence[StateGroup]) -> Strip:
    """The strip of a transcript that ``grouped_states`` has cut into ``buckets`` of it."""
    segments: list[list[StateGroup]] = [list(found) for _, found in groupby(groups, attrgetter("bucket"))]
    widths = _widths([sum(group.tokens for group in segment) for segment in segments])
    made, x = [], 0.0
    for segment, width in zip(segments, widths, strict=True):
        made.append(_segment(segment, x, width))
        x += width
    return Strip(made, totals(groups), bucketed=any(segment.first < segment.last for segment in made))


def totals(groups: Sequence[StateGroup]) -> list[Total]:
    """Messages and tokens per state, in the order of the legend; states that do not occur are left out."""
    messages: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for group in groups:
        messages[group.state] += group.messages
        tokens[group.state] += group.tokens
    return [
        Total(state, status_of("message", state), messages[state], tokens[state]) for state in STATES if messages[state]
    ]


def _widths(weights: Sequence[int]) -> list[float]:
    """Percent per segment: by tokens, none thinner than THINNEST of an even share, 100 in all."""
    if not weights:
        return []
    least = THINNEST * (sum(weights) or 1) / len(weights)
    padded = [max(weight, least) for weight in weights]
    whole = sum(padded)
    return [100 * weight / whole for weight in padded]


def _segment(groups: Sequence[StateGroup], x: float, width: float) -> Segment:
    first, last = min(group.first for group in groups), max(group.last for group in groups)
    return Segment(round(x, 4), round(width, 4), _bands(groups), first, last, _label(groups, first, last))


def _bands(groups: Sequence[StateGroup]) -> list[Band]:
    tokens = {group.state: group.tokens for group in groups if group.tokens}
    whole = sum(tokens.values())
    if not whole:
        return [Band(0, 100, EMPTY)]
    bands, bottom = [], 100.0
    for state in STACK:
        if state in tokens:
            height = 100 * tokens[state] / whole
            bottom -= height
            bands.append(Band(round(max(0.0, bottom), 4), round(height, 4), state))
    return bands


def _label(groups: Sequence[StateGroup], first: int, last: int) -> str:
    if first == last:
        (group,) = groups
        return f"Message {first}, {group.role}, {group.tokens:,} tokens: {status_of('message', group.state).word}"
    parts = ", ".join(f"{total.tokens:,} tokens {total.status.word}" for total in totals(groups) if total.tokens)
    return f"Messages {first} to {last}: {parts or 'nothing to extract'}"


def bar(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The coverage bar of a chat's summary: covered and parked shares in percent; the rest is uncovered."""
    whole = summary["total_tokens"]
    if not whole:
        return []
    covered = 100 * summary["covered_tokens"] / whole
    parked = 100 * summary.get("parked_tokens", 0) / whole
    bars = [{"x": 0, "width": round(covered, 2), "state": COVERED}]
    if parked:
        bars.append({"x": round(100 - parked, 2), "width": round(parked, 2), "state": PARKED})
    return bars
