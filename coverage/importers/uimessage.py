"""AI SDK UIMessages, the form in which chats are stored: whole chats, or the bare messages of one chat.

Accepted: ``{"chats": [chat…]}``, an array of chats, one chat, a line per chat (JSONL); an array of UIMessages or a
line per UIMessage (one chat). A chat is ``{id?, title?, learner?, created_at?, messages: [UIMessage…]}``.
"""

from collections.abc import Iterator
from typing import Any

from coverage.models import Message

from . import lists, values
from .documents import Document
from .records import Draft, Fit, ParsedChat, Problem

NAME = SOURCE = "uimessage"
LABEL = "AI SDK UIMessages"

_ADD_PARTS = "give it a list of parts, or remove it"
_ROLES = tuple(Message.Role.values)
# Other formats have a role too, but keep what was said in one of these.
_OF_OTHERS = {"content", "tool_calls", "function_call"}


def recognises(value: Any) -> Fit:
    """A chat of UIMessages, or one UIMessage."""
    chat = _unwrap(value)
    messages = [value] if chat is None else chat.messages
    if any(isinstance(message, dict) and isinstance(message.get("parts"), list) for message in messages):
        return Fit.SURE
    return Fit.POSSIBLE if chat is not None or _is_message(value) else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The chats of a document, one at a time."""
    return lists.read(document, _FORM)


def _unwrap(value: Any) -> lists.Conversation | None:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return None
    messages = value["messages"]
    if messages and not any(_is_message(message) for message in messages):
        return None
    return lists.Conversation(
        messages,
        external_id=value.get("id"),
        title=value.get("title"),
        learner=value.get("learner"),
        created_at=value.get("created_at", value.get("createdAt")),
        updated_at=value.get("updated_at", value.get("updatedAt")),
    )


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or "role" not in value:
        return False
    return "parts" in value or (value["role"] in _ROLES and not value.keys() & _OF_OTHERS)


class _Reader:
    def __init__(self, draft: Draft):
        self._draft = draft

    def take(self, number: int, value: Any) -> None:
        """One UIMessage, kept exactly as it is."""
        draft = self._draft
        if not isinstance(value, dict):
            self.refuse(number, "the message is not an object", "give a UIMessage, or remove it")
            return
        message_id = value.get("id")
        if message_id is None or message_id == "":
            message_id = lists.derived_message_id(draft, number)
        elif isinstance(message_id, bool) or not isinstance(message_id, str | int):
            draft.refuse(number, "the message's id is neither a text nor a number", "give it a text, or leave it out")
            return
        message_id = str(message_id)
        if not isinstance(value.get("parts"), list):
            draft.refuse(number, "the message has no list of parts", _ADD_PARTS, message_id)
            return
        metadata = value.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            metadata = {"value": metadata}
        said_at = values.parse_time((metadata or {}).get("createdAt") or value.get("createdAt"))
        draft.add(number, message_id, value.get("role"), value["parts"], metadata=metadata, said_at=said_at)

    def refuse(self, number: int, reason: str, remedy: str) -> None:
        self._draft.refuse(number, reason, remedy, lists.derived_message_id(self._draft, number))

    def finish(self) -> None:
        """Nothing is held back."""


def _said_by_user(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "user"


_FORM = lists.ListFormat(_unwrap, _is_message, _said_by_user, _Reader)
