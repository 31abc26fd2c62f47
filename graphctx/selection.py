"""Selection: which propositions a topic's block holds, and its exact text.

Similarity only ranks. The token budget decides where the block ends: lines are taken in order of similarity until the
first that would exceed it. No threshold, no skipping ahead to a shorter line.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from coverage.models import GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP, Learner
from coverage.view import count_tokens
from coverage.words import counted

from .embedding import active_space, embedder_of
from .fence import one_line
from .models import EmbeddingSpace, Instance, Level, Proposition
from .prompts import context_frame
from .scan import nearest

MAX_LINES = 64
SIMILARITY_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One ranked proposition and its line in the block."""

    proposition_id: UUID
    text: str
    level: str | None
    similarity: float
    line: str

    @property
    def tokens(self) -> int:
        return count_tokens(self.line)

    def to_dict(self) -> dict[str, Any]:
        return {
            "proposition_id": str(self.proposition_id),
            "text": self.text,
            "level": self.level,
            "similarity": self.similarity,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """A block and how it came about. ``ranked`` holds every candidate; the first ``count`` of them are in the block."""

    budget: int
    ranked: Sequence[Line]
    count: int
    block: str
    reason: str
    """Why the block ends where it ends, or why there is none."""
    space: EmbeddingSpace | None = None
    timings: dict[str, float] = field(default_factory=dict)
    """Milliseconds per stage."""

    @property
    def tokens(self) -> int:
        return count_tokens(self.block)

    @property
    def items(self) -> Sequence[Line]:
        return self.ranked[: self.count]

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "count": self.count,
            "budget": self.budget,
            "items": [line.to_dict() for line in self.items],
            "block": self.block,
        }

    def explain(self) -> dict[str, Any]:
        """The selection with what it left out: ranked candidates, why it ended, the space, milliseconds per stage."""
        candidates = [
            {"rank": rank, "included": rank <= self.count, **line.to_dict()}
            for rank, line in enumerate(self.ranked, start=1)
        ]
        space = {"name": self.space.name, "dimension": self.space.dimension} if self.space else None
        return {
            **self.to_dict(),
            "candidates": candidates,
            "reason": self.reason,
            "space": space,
            "timings_ms": {stage: round(value, 3) for stage, value in self.timings.items()},
        }


def check_budget(budget: int) -> int:
    """The budget, if it is one of 0, 128, …, 4096; else ValueError naming what is allowed."""
    if not 0 <= budget <= GRAPH_CONTEXT_MAX_TOKENS or budget % GRAPH_CONTEXT_STEP:
        raise ValueError(
            f"the graph-context budget must be 0 to {GRAPH_CONTEXT_MAX_TOKENS} in steps of {GRAPH_CONTEXT_STEP}, "
            f"not {budget}"
        )
    return budget


def select(learner: Learner, topic: str, budget: int) -> Selection:
    """The block of what ``learner`` knows about ``topic``, within ``budget`` tokens.

    Raises ValueError for an empty topic or a budget that is not allowed, SpaceMismatch and EmbeddingError.
    """
    check_budget(budget)
    if not topic.strip():
        raise ValueError("the topic is empty")
    if budget == 0:
        return Selection(budget, [], 0, "", "graph context is off: the budget is 0")
    timings: dict[str, float] = {}
    with _timed(timings, "space"):
        space = active_space()
    with _timed(timings, "embed"):
        query = embedder_of(space).embed_query(topic)
    with _timed(timings, "scan"):
        # One more than fits, so that the end of the block can be explained.
        ranking = nearest(space, learner.pk, query, MAX_LINES + 1)
    with _timed(timings, "lines"):
        ranked = _lines(ranking)
    with _timed(timings, "block"):
        count, block, reason = fill(ranked, budget)
    if not ranked:
        reason = _why_empty(learner)
    return Selection(budget, ranked, count, block, reason, space, timings)


def _why_empty(learner: Learner) -> str:
    unembedded = Proposition.objects.retrievable().filter(learner=learner).count()
    if unembedded:
        have = "has" if unembedded == 1 else "have"
        return f"{counted(unembedded, 'proposition')} {have} no vector yet: run `manage.py backfill_embeddings`"
    return "the graph holds nothing for this learner yet"


@contextmanager
def _timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    timings[stage] = (time.perf_counter() - begun) * 1000


def _lines(ranking: Sequence[tuple[UUID, float]]) -> list[Line]:
    """The ranked propositions with text and level, in order; one query."""
    found = with_latest_level(Proposition.objects.retrievable().filter(pk__in=[key for key, _score in ranking]))
    rows = {key: (text, level) for key, text, level in found.values_list("pk", "text", "latest_level")}
    return [
        _line(key, *rows[key], round(similarity, SIMILARITY_DIGITS))
        for key, similarity in ranking
        if key in rows  # what was retired since the scan is out
    ]


def _line(proposition_id: UUID, text: str, level: str | None, similarity: float) -> Line:
    mark = f"[{Level(level).label}] " if level else ""
    return Line(proposition_id, text, level, similarity, f"- {mark}{one_line(text)}")


def with_latest_level(propositions: QuerySet[Proposition]) -> QuerySet[Proposition]:
    """Annotate ``latest_level``: that of the most recent live instance that has one, or None.

    Recency is when it was said, else when it was folded; then the position, then the id. The latest evidence is the
    best estimate of what the learner knows now, whether it rose or fell.
    """
    latest = (
        Instance.objects.filter(proposition=OuterRef("pk"), live=True, level__isnull=False)
        .order_by(
            Coalesce("occurred_at", "folded_at").desc(), F("position").desc(nulls_last=True), F("id").desc()
        )
        .values("level")[:1]
    )  # fmt: skip
    return propositions.annotate(latest_level=Subquery(latest))


def fill(ranked: Sequence[Line], budget: int) -> tuple[int, str, str]:
    """(count, block, reason): lines in order up to the first that would exceed ``budget``; header and fence count."""
    before, after = context_frame()
    size = len(before) + len(after)
    count = 0
    reason = "every candidate is in"
    for line in ranked:
        if count == MAX_LINES:
            reason = f"the block holds at most {MAX_LINES} lines"
            break
        size += len(line.line) + 1
        if count_tokens(size) > budget:
            reason = f"line {count + 1} would make it {count_tokens(size)} tokens, more than {budget}"
            break
        count += 1
    if count == 0:
        return 0, "", reason
    body = "".join(f"{line.line}\n" for line in ranked[:count])
    return count, f"{before}{body}{after}", reason
