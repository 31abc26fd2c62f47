"""Why a context holds what it holds: each ranked candidate with its levels over time, where the budget cut, the times."""

from dataclasses import dataclass
from datetime import datetime

from coverage.models import Learner
from graphctx.selection import Line, Selection, select
from osii.propositions import level_histories


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
