"""A proposition's levels over time, as a chart: one lane per level, one mark per piece of evidence, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from graphctx.models import Instance, Level

LANES = (Level.SOLID, Level.ACCEPTED, Level.NOT_YET_ENGAGED, Level.SHAKY, Level.RESISTED)
"""From top to bottom."""

MARGIN = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One piece of evidence; ``x`` and ``y`` in percent of the drawing. ``was`` is the mark before it, if any."""

    x: float
    y: float
    level: str
    live: bool
    when: datetime
    was: tuple[float, float] | None

    @property
    def label(self) -> str:
        gone = "" if self.live else ", quote no longer stands"
        return f"{Level(self.level).label}, {self.when:%Y-%m-%d %H:%M}{gone}"


@dataclass(frozen=True, slots=True)
class Lane:
    level: str
    y: float


@dataclass(frozen=True, slots=True)
class Tick:
    """The time of a mark, below it; ``anchor`` keeps the first and the last inside the drawing."""

    x: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Chart:
    lanes: Sequence[Lane]
    marks: Sequence[Mark]
    ticks: Sequence[Tick]

    @property
    def label(self) -> str:
        return f"Levels in order: {'; '.join(mark.label for mark in self.marks)}"


def level_chart(instances: Sequence[Instance]) -> Chart:
    """The chart of instances that have a level, oldest first. Marks keep equal distances: what matters is whether the
    level rose or fell, and one evening's ten answers would be one dot beside last year's. The first, a middle and the last
    time stand below; all are in the table.
    """
    marks: list[Mark] = []
    step = (100 - 2 * MARGIN) / max(1, len(instances) - 1)
    for index, instance in enumerate(instances):
        x = round(MARGIN + index * step, 2) if len(instances) > 1 else 50.0
        was = (marks[-1].x, marks[-1].y) if marks else None
        marks.append(
            Mark(
                x,
                _height(instance.level),
                instance.level,
                instance.live,
                instance.occurred_at or instance.folded_at,
                was,
            )
        )
    return Chart([Lane(level, _height(level)) for level in LANES], marks, _ticks(marks))


def _ticks(marks: Sequence[Mark]) -> list[Tick]:
    """The times of the first, a middle and the last mark: more would run into each other on a phone."""
    last = len(marks) - 1
    places = sorted({0, last // 2, last}) if marks else []
    one_day = len({marks[place].when.date() for place in places}) == 1
    ticks = []
    for place in places:
        when = marks[place].when
        text = f"{when:%Y-%m-%d}" if not one_day else f"{when:%H:%M}" if place else f"{when:%Y-%m-%d %H:%M}"
        anchor = "start" if place == 0 < last else "end" if place == last > 0 else "middle"
        ticks.append(Tick(marks[place].x, text, anchor))
    return ticks


def _height(level: str) -> float:
    """The middle of a level's lane, in percent from the top."""
    return (LANES.index(Level(level)) + 0.5) * 100 / len(LANES)
