"""Why a context holds what it holds: each ranked candidate with its levels over time, where the budget cut, the times."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models.functions import Coalesce

from coverage.models import Learner
from graphctx.models import Instance
from graphctx.selection import Line, Selection, select

LEVELS_SHOWN = 12
"""The latest ones of a proposition."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ranked proposition; ``levels`` are (level, when) from the oldest to the latest, which is the one in the block."""

    rank: int
    included: bool
    line: Line
    levels: list[tuple[str, datetime]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A selection, and what there is to say about it."""

    selection: Selection
    candidates: list[Candidate]

    @property
    def total_ms(self) -> float:
        return sum(self.selection.timings.values())


def explain(learner: Learner, topic: str, budget: int) -> Explanation:
    """What a new chat of ``learner`` on ``topic`` would be given now, explained. Raises what ``select`` raises."""
    selection = select(learner, topic, budget)
    histories = level_histories(line.proposition_id for line in selection.ranked)
    candidates = [
        Candidate(rank, rank <= selection.count, line, histories.get(line.proposition_id, []))
        for rank, line in enumerate(selection.ranked, start=1)
    ]
    return Explanation(selection, candidates)


def level_histories(propositions: Iterable[UUID]) -> dict[UUID, list[tuple[str, datetime]]]:
    """The latest levels of live evidence per proposition, oldest first; one query."""
    rows = (
        Instance.objects.filter(proposition__in=list(propositions), live=True, level__isnull=False)
        .annotate(at=Coalesce("occurred_at", "folded_at"))
        .order_by("at", "position", "id")
        .values_list("proposition", "level", "at")
    )
    histories: dict[UUID, list[tuple[str, datetime]]] = defaultdict(list)
    for proposition, level, at in rows:
        histories[proposition].append((level, at))
    return {proposition: levels[-LEVELS_SHOWN:] for proposition, levels in histories.items()}
