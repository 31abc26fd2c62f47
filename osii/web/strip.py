"""Geometry of the coverage strip and the coverage bar: plain numbers for SVG attributes, in percent.

One segment per message, as wide as its share of the tokens; beyond MAX_SEGMENTS messages, neighbours share a bucket
whose bands show how its tokens are divided among the states.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from extraction.selectors import COVERED, EMPTY, IN_FLIGHT, PARKED, REOPENED, STATES, UNCOVERED, UNSETTLED

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


def build(rows: Sequence[Any]) -> Strip:
    """The strip of a transcript's rows in order, each with ``position``, ``role``, ``tokens`` and ``state``."""
    groups = _groups(rows)
    weights = [sum(row.tokens for row in group) for group in groups]
    widths = _widths(weights)
    segments, x = [], 0.0
    for group, width in zip(groups, widths, strict=True):
        segments.append(_segment(group, x, width))
        x += width
    return Strip(segments, totals(rows), bucketed=len(rows) > MAX_SEGMENTS)


def totals(rows: Sequence[Any]) -> list[Total]:
    """Messages and tokens per state, in the order of the legend; states that do not occur are left out."""
    messages: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for row in rows:
        messages[row.state] += 1
        tokens[row.state] += row.tokens
    return [
        Total(state, status_of("message", state), messages[state], tokens[state]) for state in STATES if messages[state]
    ]


def _groups(rows: Sequence[Any]) -> list[Sequence[Any]]:
    if len(rows) <= MAX_SEGMENTS:
        return [[row] for row in rows]
    edges = [round(index * len(rows) / BUCKETS) for index in range(BUCKETS + 1)]
    return [rows[start:end] for start, end in pairwise(edges)]


def _widths(weights: Sequence[int]) -> list[float]:
    """Percent per segment: by tokens, none thinner than THINNEST of an even share, 100 in all."""
    if not weights:
        return []
    least = THINNEST * (sum(weights) or 1) / len(weights)
    padded = [max(weight, least) for weight in weights]
    whole = sum(padded)
    return [100 * weight / whole for weight in padded]


def _segment(group: Sequence[Any], x: float, width: float) -> Segment:
    return Segment(
        x=round(x, 4),
        width=round(width, 4),
        bands=_bands(group),
        first=group[0].position,
        last=group[-1].position,
        label=_label(group),
    )


def _bands(group: Sequence[Any]) -> list[Band]:
    tokens: Counter[str] = Counter()
    for row in group:
        tokens[row.state] += row.tokens
    whole = sum(tokens.values())
    if not whole:
        return [Band(0, 100, EMPTY)]
    bands, bottom = [], 100.0
    for state in STACK:
        if tokens[state]:
            height = 100 * tokens[state] / whole
            bottom -= height
            bands.append(Band(round(max(0.0, bottom), 4), round(height, 4), state))
    return bands


def _label(group: Sequence[Any]) -> str:
    if len(group) == 1:
        row = group[0]
        return f"Message {row.position}, {row.role}, {row.tokens:,} tokens: {status_of('message', row.state).word}"
    parts = ", ".join(f"{total.tokens:,} tokens {total.status.word}" for total in totals(group) if total.tokens)
    return f"Messages {group[0].position} to {group[-1].position}: {parts or 'nothing to extract'}"


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
