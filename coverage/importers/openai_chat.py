"""OpenAI Chat messages: ``{role, content, tool_calls?}``, results in messages of role ``tool``."""

from typing import Any

from . import messages
from .records import Fit

NAME = "openai-chat"
LABEL = "OpenAI Chat messages"
SOURCE = messages.SOURCE
read = messages.read

_OWN_ROLES = ("tool", "function", "developer")
_OWN_BLOCKS = ("image_url", "input_audio")


def recognises(value: Any) -> Fit:
    """A chat, a request or one message. Plain ``{role, content}`` is taken for this format if nothing else fits."""
    found = messages.unwrap(value)
    listed = [value] if found is None else found.messages
    if any(_is_own(message) for message in listed if messages.is_message(message)):
        return Fit.SURE
    return Fit.LIKELY if any(messages.is_message(message) for message in listed) else Fit.NO


def _is_own(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return (
        message.get("role") in _OWN_ROLES
        or "tool_calls" in message
        or "function_call" in message
        or (isinstance(content, list) and any(isinstance(b, dict) and b.get("type") in _OWN_BLOCKS for b in content))
    )
