"""A built-in chat as a language model reads it: instructions, the transcript within a bound, and the steer where it was given."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from coverage.models import Message
from extraction.exploring.environment import scrub
from graphctx import markers
from graphctx.models import Steer

from . import quizzes
from .state import Talk, text_of

TOKENS = 12_000
"""So much of the transcript is sent, the latest; the topic and the steer are sent whatever the length."""
LEFT = "Not answered: the learner went on without an answer."


def messages(talk: Talk, steer: Steer | None, instructions: str) -> list[ModelMessage]:
    """The whole request. ``steer`` rides this turn; one that was delivered before stands where it was given.

    Texts are sent without what is secret in them and without blocks that somebody else than the steer put there.
    """
    shown = _within_bound(talk)
    given = steer or talk.steer
    at = _place(shown, given, riding=steer is not None)
    turns: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(instructions)])]
    if talk.topic is not None and (not shown or shown[0].pk != talk.topic.pk):
        turns.append(ModelRequest(parts=[UserPromptPart(scrub(text_of(talk.topic)))]))
    for index, message in enumerate(shown):
        turns += _turns(message)
        if index == at:
            turns.append(ModelRequest(parts=[UserPromptPart(given.text)]))
    return _joined(turns)


def _within_bound(talk: Talk) -> Sequence[Message]:
    left = TOKENS
    for index, message in enumerate(reversed(talk.messages)):
        left -= message.tokens
        if left < 0 and index:
            return talk.messages[-index:]
    return talk.messages


def _place(shown: Sequence[Message], steer: Steer | None, *, riding: bool) -> int | None:
    """After which of the messages the steer stands; None where there is none to show."""
    if riding:
        return len(shown) - 1
    return markers.place([message.message_id for message in shown], steer)


def _turns(message: Message) -> Iterable[ModelMessage]:
    if message.role == Message.Role.USER:
        text = scrub(text_of(message))
        return [ModelRequest(parts=[UserPromptPart(text)])] if text.strip() else []
    if message.role != Message.Role.ASSISTANT:
        return []
    text = scrub(text_of(message))
    asked = [part for part in message.parts if quizzes.is_quiz(part)]
    said: list[ModelResponsePart] = [TextPart(text)] if text.strip() else []
    said += [ToolCallPart(quizzes.TOOL, _call(part["input"]), part["toolCallId"]) for part in asked]
    turns: list[ModelMessage] = [ModelResponse(parts=said)] if said else []
    if asked:
        turns.append(ModelRequest(parts=[_result(part) for part in asked]))
    return turns


def _call(quiz: dict[str, Any]) -> dict[str, Any]:
    """The call as the model made it."""
    shown = {"answer" if name == "correctAnswer" else name: value for name, value in quiz.items()}
    return {name: scrub(value) if isinstance(value, str) else value for name, value in shown.items()}


def _result(part: dict[str, Any]) -> ToolReturnPart:
    output = part.get("output")
    if not isinstance(output, dict):
        return ToolReturnPart(quizzes.TOOL, LEFT, part["toolCallId"])
    told = {"answer": scrub(str(output.get("answer", ""))), "correct": bool(output.get("correct"))}
    return ToolReturnPart(quizzes.TOOL, told, part["toolCallId"])


def _joined(turns: Iterable[ModelMessage]) -> list[ModelMessage]:
    """Requests that follow each other as one: several providers want the two sides in turn."""
    joined: list[ModelMessage] = []
    for turn in turns:
        last = joined[-1] if joined else None
        if isinstance(turn, ModelRequest) and isinstance(last, ModelRequest):
            parts: list[ModelRequestPart] = [*last.parts, *turn.parts]
            joined[-1] = ModelRequest(parts=parts)
        else:
            joined.append(turn)
    return joined
