"""OpenAI Responses items: messages, ``function_call`` and ``function_call_output``, joined by ``call_id``."""

from typing import Any

from . import messages
from .records import Fit

NAME = "openai-responses"
LABEL = "OpenAI Responses items"
SOURCE = messages.SOURCE
read = messages.read

_OWN_BLOCKS = ("input_text", "output_text", "input_image", "input_file")


def recognises(value: Any) -> Fit:
    """A request, a response, a stored conversation or one item."""
    found = messages.unwrap(value)
    listed = [value] if found is None else found.messages
    if found is not None and isinstance(value, dict) and value.get("object") == "response":
        return Fit.SURE
    return Fit.SURE if any(_is_own(item) for item in listed) else Fit.NO


def _is_own(item: Any) -> bool:
    if messages.is_item(item):
        return True
    content = item.get("content") if messages.is_message(item) else None
    return isinstance(content, list) and any(isinstance(b, dict) and b.get("type") in _OWN_BLOCKS for b in content)
