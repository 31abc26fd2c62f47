"""A quiz of the built-in chat: one tool part, asked, answered and graded."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

TOOL = "quiz"
PART_TYPE = f"tool-{TOOL}"
NOT_KNOWN = "I don't know"

Part = dict[str, Any]

_ARTICLES = re.compile(r"^(?:the|an?|der|die|das|le|la|les|el|los|las|il|lo|o|os|as|de|het)\s+")
_NOT_WORDS = re.compile(r"[^\w%°.,+\-]+|(?<!\d)[.,]|[.,](?!\d)|_")


def asked(call_id: str, question: str, answer: str, options: Sequence[str] = (), explanation: str = "") -> Part:
    """A quiz that waits for its answer; ``options`` may be none, then the learner writes."""
    given: dict[str, Any] = {"question": question, "correctAnswer": answer}
    if options:
        given["options"] = list(options)
    if explanation:
        given["explanation"] = explanation
    return {"type": PART_TYPE, "toolCallId": call_id, "state": "input-available", "input": given}


def answered(part: Mapping[str, Any], given: str) -> Part:
    """The part with the learner's answer and whether it is right; an answer that names an option becomes that option."""
    quiz = part["input"]
    right = str(quiz["correctAnswer"])
    said = next((option for option in quiz.get("options", ()) if same(option, given)), given)
    output = {"answer": said, "correct": same(said, right), "correctAnswer": right}
    if quiz.get("explanation"):
        output["explanation"] = quiz["explanation"]
    return {**part, "state": "output-available", "output": output}


def is_quiz(part: Mapping[str, Any]) -> bool:
    """A quiz that this chat asked: others may lack what grading needs."""
    quiz = part.get("input")
    return part.get("type") == PART_TYPE and isinstance(quiz, dict) and {"question", "correctAnswer"} <= quiz.keys()


def waits(part: Mapping[str, Any]) -> bool:
    return is_quiz(part) and part.get("state") == "input-available"


def done(parts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answered quizzes of a message."""
    return [part for part in parts if is_quiz(part) and isinstance(part.get("output"), dict)]


def same(one: str, other: str) -> bool:
    """Whether two answers are the same but for case, accents' form, an article, punctuation and blanks."""
    return normal(one) == normal(other)


def normal(answer: str) -> str:
    """What the same answers have in common."""
    text = unicodedata.normalize("NFKC", str(answer)).casefold()
    plain = " ".join(_NOT_WORDS.sub(" ", text).split())
    return _ARTICLES.sub("", plain) or text.strip()
