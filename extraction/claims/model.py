"""The shapes that pass between the steps: what was said (`Turn`, `Part`), and what may become a candidate (`Draft`)."""

from dataclasses import dataclass, field

MAX_QUOTE = 500

# Understanding levels, the weakest evidence first. Only facts carry one.
NOT_YET_ENGAGED = "not_yet_engaged"
ACCEPTED = "accepted"
SHAKY = "shaky"
RESISTED = "resisted"
SOLID = "solid"


@dataclass(frozen=True)
class Part:
    """One evidence item of a message: a text, or the result of an answered quiz.

    For a quiz, `quiz` holds the tool part, `text` the stored form of its result, and `call_id` and `call_text` the item
    of its call, which holds the question.
    """

    evidence_id: str
    text: str
    quiz: dict | None = None
    call_id: str | None = None
    call_text: str = ""


@dataclass(frozen=True)
class Evidence:
    """A verbatim quote and the item it stands in.

    `also` names items that belong to it without holding the quote; `level` is what this place alone shows (a quiz), None
    where the draft's level stands.
    """

    evidence_id: str
    quote: str
    also: tuple[str, ...] = ()
    level: str | None = None


@dataclass(frozen=True)
class Turn:
    """One message: everything a speaker said at one position, in order."""

    position: int
    speaker: str
    said_at: str | None
    parts: tuple[Part, ...]

    @property
    def said(self) -> str:
        """The spoken text of the message, quizzes left out."""
        return "\n\n".join(part.text for part in self.parts if part.quiz is None)


@dataclass(frozen=True)
class Sentence:
    """One sentence with its exact place.

    `quote` is the exact slice `source[start:start + len(quote)]`; `text` is the same without Markdown and with single
    spaces. `block` numbers the paragraph or list item it stands in; `bullet` says that it came from a list item.
    """

    text: str
    quote: str
    start: int
    block: int
    bullet: bool = False
    paragraph: int = 0


@dataclass
class Draft:
    """A claim on its way to the staging area, with every place that shows it, the first one first."""

    kind: str
    claim: str
    evidence: list[Evidence]
    position: int
    order: int
    speaker: str
    language: str
    understanding: str | None = None
    staleness: str | None = None
    origin: str = "statement"
    score: float = 0.0
    # The items in which the learner shows the level, where the quotes are the assistant's.
    shown: tuple[str, ...] = ()
    said_at: str | None = None
    words: frozenset[str] = field(default_factory=frozenset)
