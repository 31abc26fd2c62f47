"""The labelled set: excerpts of chats with the propositions that a careful reader would stage, and those nobody should.

One TOML file per excerpt, in `tuning/` or `heldout/`. The halves were drawn once, per language: file names without their
ending, in the order of the blake2b hash (128 bit) of that name; the first half is for tuning.
"""

import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from coverage.services import IncomingMessage
from graphctx.models import Kind, Level

HALVES = ("tuning", "heldout")
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Label:
    """One proposition: its kinds (none = any), words that a claim must hold and must not hold, and its level, if it matters.

    A word may be several of which one must stand (`"litre|liter"`), and may end in `*` (`"ferment*"`).
    """

    kinds: tuple[str, ...]
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    level: str | None = None
    why: str = ""

    @classmethod
    def read(cls, given: dict[str, Any]) -> "Label":
        """Raises ValueError where a label says something that no claim could be held against."""
        unknown = set(given) - {"kind", "has", "lacks", "level", "why"}
        kinds = tuple(given.get("kind", "").split("|")) if given.get("kind") else ()
        if unknown or not given.get("has") or set(kinds) - set(Kind.values):
            raise ValueError(f"not a label: {given}")
        if given.get("level") not in {None, *Level.values}:
            raise ValueError(f"no such level: {given}")
        return cls(kinds, tuple(given["has"]), tuple(given.get("lacks", ())), given.get("level"), given.get("why", ""))


@dataclass(frozen=True)
class Excerpt:
    """A chat, or a piece of one, with its labels. `half` is "tuning" or "heldout"."""

    name: str
    half: str
    language: str
    domain: str
    messages: tuple[IncomingMessage, ...]
    expected: tuple[Label, ...]
    acceptable: tuple[Label, ...]
    forbidden: tuple[Label, ...]


def load(half: str | None = None) -> list[Excerpt]:
    """The excerpts of one half, or of both, by name. Raises ValueError naming the file that cannot be read."""
    halves = HALVES if half is None else (half,)
    return [read(path) for one in halves for path in sorted((FOLDER / one).glob("*.toml"))]


def read(path: Path) -> Excerpt:
    """The excerpt in this file. Raises ValueError with the file's name and what is wrong in it."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        labels = {key: tuple(Label.read(one) for one in given["labels"][key]) for key in _LABELS}
        return Excerpt(
            path.stem, path.parent.name, given["language"], given["domain"], _messages(given["said"]), **labels
        )
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path.name}: {error!r}") from error


_LABELS = ("expected", "acceptable", "forbidden")
_SPEAKERS = ("user", "assistant")


def _messages(said: list[dict[str, Any]]) -> tuple[IncomingMessage, ...]:
    """The messages, a minute apart unless one says when it was said (`at`)."""
    made = []
    at: datetime | None = None
    for number, one in enumerate(said):
        at = datetime.fromisoformat(one["at"]) if "at" in one else at and at + timedelta(minutes=1)
        (speaker,) = [name for name in _SPEAKERS if name in one]
        parts = [{"type": "text", "text": one[speaker].strip("\n")}]
        parts += [_quiz_part(one["quiz"], number)] if "quiz" in one else []
        parts += [_tool_part(one["tool"], number)] if "tool" in one else []
        made.append(IncomingMessage(message_id=f"message-{number}", role=speaker, parts=parts, said_at=at))
    return tuple(made)


def _quiz_part(quiz: dict[str, Any], number: int) -> dict[str, Any]:
    """An answered quiz as a tutor's tool stores it; `right` is the right option where the answer was wrong."""
    output = {"answer": quiz["answer"], "correct": quiz["correct"]}
    output |= {"explanation": quiz["explanation"]} if "explanation" in quiz else {}
    right = quiz["options"].index(quiz.get("right", quiz["answer"]))
    given = {"question": quiz["question"], "options": quiz["options"], "correctIndex": right}
    return _part("quiz", given, output, number)


def _tool_part(tool: dict[str, Any], number: int) -> dict[str, Any]:
    return _part(tool["name"], tool["input"], {"text": tool["output"]}, number)


def _part(name: str, given: dict[str, Any], output: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "type": f"tool-{name}",
        "toolCallId": f"call-{number}",
        "state": "output-available",
        "input": given,
        "output": output,
    }
