"""Anthropic Messages: content in blocks, tool results as blocks in the *user* role."""

from typing import Any

from . import messages
from .records import Fit

NAME = "anthropic"
LABEL = "Anthropic Messages"
SOURCE = messages.SOURCE
read = messages.read

_OWN_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")


def recognises(value: Any) -> Fit:
    """A request (``system`` stands beside its messages), a response, or one message."""
    found = messages.unwrap(value)
    if found is not None and isinstance(value, dict) and "system" in value:
        return Fit.SURE
    listed = [value] if found is None else found.messages
    return Fit.SURE if any(_is_own(message) for message in listed if messages.is_message(message)) else Fit.NO


def _is_own(message: dict[str, Any]) -> bool:
    blocks = message.get("content")
    if not isinstance(blocks, list):
        return False
    return any(
        isinstance(block, dict)
        and (block.get("type") in _OWN_BLOCKS or (block.get("type") == "image" and "source" in block))
        for block in blocks
    )
