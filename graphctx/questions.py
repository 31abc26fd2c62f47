"""Pending questions: a tool part that asks the learner something and has no answer yet.

A steer queues behind one. Which tools ask is declared: ``OSII_INTERACTIVE_TOOLS`` for all chats, and the chat's own
setting ``interactive_tools``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings

from coverage.models import Chat, Message
from coverage.view import transcript_view

SETTING = "interactive_tools"
ANSWERED = {"output", "error", "denied"}


def interactive_tools(chat: Chat) -> frozenset[str]:
    """Lower-case names of the tools that ask the learner something in this chat."""
    own = chat.settings.get(SETTING)
    names = [*settings.OSII_INTERACTIVE_TOOLS, *(own if isinstance(own, list) else [])]
    return frozenset(name.lower() for name in names if isinstance(name, str))


def asks(role: str, parts: Iterable[Mapping[str, Any]], tools: frozenset[str]) -> bool:
    """Whether a message holds a call of one of these tools without output or error."""
    if role != Message.Role.ASSISTANT:
        return False
    return any(
        part["type"] == "tool" and part["name"].lower() in tools and not ANSWERED & part.keys()
        for part in transcript_view(role, list(parts))["parts"]
    )


def pending(chat: Chat, last: Message | None) -> bool:
    """Whether the chat waits for an answer; ``last`` is the last message on its active path.

    Only that one is asked: whoever writes on instead of answering has left the question behind.
    """
    return last is not None and asks(last.role, last.parts, interactive_tools(chat))
