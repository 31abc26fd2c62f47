"""What a turn of the tutor tells while it is played."""

from collections.abc import Generator
from dataclasses import dataclass

from .writing import Reply


class TurnFailed(Exception):
    """The tutor gave no answer; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the answer's text as it comes; an empty one says only that the turn is still under way."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn is still owed and may be repeated."""

    reason: str


@dataclass(frozen=True, slots=True)
class Busy:
    """The same turn is being played elsewhere."""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer stands in the transcript."""


Event = Said | Failed | Busy | Done
Playing = Generator[Said, None, Reply]
