"""Precision, recall and F1 with their counts, per kind and per language."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from graphctx.models import Kind
from tests.quality.matching import Judged

MAIN_KINDS = ("fact", "decision", "constraint", "preference")
_Z = 1.959964  # 95 %


@dataclass(frozen=True)
class Score:
    """Counts of hits, false claims and missed labels, and what follows from them. A share of nothing is None."""

    hits: int = 0
    false: int = 0
    missed: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.hits + other.hits, self.false + other.false, self.missed + other.missed)

    @property
    def precision(self) -> float | None:
        return share(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        return share(self.hits, self.hits + self.missed)

    @property
    def f1(self) -> float | None:
        return share(2 * self.hits, 2 * self.hits + self.false + self.missed)

    def as_json(self) -> dict[str, object]:
        return {
            "hits": self.hits, "false": self.false, "missed": self.missed,
            "precision": self.precision, "precision_95": wilson(self.hits, self.hits + self.false),
            "recall": self.recall, "recall_95": wilson(self.hits, self.hits + self.missed),
            "f1": self.f1,
        }  # fmt: skip


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def wilson(part: int, whole: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of a share; None of nothing."""
    if not whole:
        return None
    rate, square = part / whole, _Z**2 / whole
    middle = (rate + square / 2) / (1 + square)
    half = _Z * sqrt(rate * (1 - rate) / whole + square / (4 * whole)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def per_kind(judged: Iterable[Judged]) -> dict[str, Score]:
    """A score per kind. A hit or a false claim counts for the claim's kind, a missed label for the first it names."""
    scores = dict.fromkeys(Kind.values, Score())
    for one in judged:
        for claim, _ in one.hits:
            scores[claim.kind] += Score(hits=1)
        for claim, _ in one.false:
            scores[claim.kind] += Score(false=1)
        for label in one.missed:
            scores[label.kinds[0]] += Score(missed=1)
    return scores


def table(judged: list[Judged]) -> dict[str, Score]:
    """The rows of a report for these excerpts: each kind, the four main kinds together, and all."""
    kinds = per_kind(judged)
    main = sum((kinds[kind] for kind in MAIN_KINDS), Score())
    return kinds | {"main four": main, "all": sum(kinds.values(), Score())}


def forbidden(judged: Iterable[Judged]) -> int:
    """How many claims were staged that a label forbids."""
    return sum(reason != "not labelled" for one in judged for _, reason in one.false)
