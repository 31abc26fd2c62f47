"""Rows for tests, through the product's own services where these make them."""

from typing import Any

from coverage.models import Chat, Learner
from coverage.services import IncomingMessage, get_or_create_learner, put_messages


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def quiz(question: str, answer: str | None = None, *, correct: bool | None = None, **more: Any) -> dict[str, Any]:
    """A quiz tool part: pending without an answer."""
    part = {"type": "tool-quiz", "toolCallId": f"call-{question}", "input": {"question": question}}
    if answer is None:
        return part | {"state": "input-available"} | more
    return part | {"state": "output-available", "output": {"answer": answer, "correct": correct}} | more


def message(message_id: str, value: str | list[dict[str, Any]], role: str = "user", **more: Any) -> IncomingMessage:
    parts = [text(value)] if isinstance(value, str) else value
    return IncomingMessage(message_id=message_id, role=role, parts=parts, **more)


def chat(*messages: IncomingMessage, learner: str | Learner = "Ada", title: str = "A chat", **more: Any) -> Chat:
    """A chat with these messages as its transcript."""
    owner = get_or_create_learner(learner) if isinstance(learner, str) else learner
    made = Chat.objects.create(learner=owner, title=title, **more)
    put_messages(made.pk, list(messages), whole_transcript=True)
    return made
