"""Reads formats in which a conversation is a plain list of messages: one or many per file, or bare messages.

Such lists often have no ids. They are derived, so that the next import finds the same chat and the same messages.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from . import values
from .documents import Document, Item, Layout
from .records import Draft, ParsedChat, Problem, UnusableChat

_LOOK_AT = 20


@dataclass(slots=True)
class Conversation:
    """A conversation as its file wraps it. ``ahead`` are messages that it keeps outside of the list."""

    messages: list[Any]
    ahead: list[Any] = field(default_factory=list)
    external_id: Any = None
    title: Any = None
    learner: Any = None
    created_at: Any = None
    updated_at: Any = None


class Reader(Protocol):
    """Takes the messages of one conversation; ``number`` counts as the file counts, from 1 (0: ahead of the list)."""

    def take(self, number: int, value: Any) -> None: ...

    def refuse(self, number: int, reason: str, remedy: str) -> None:
        """Message ``number`` is in the file, but cannot be read."""

    def finish(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ListFormat:
    """What differs between the formats. ``unwrap`` gives None for what is no conversation."""

    unwrap: Callable[[Any], Conversation | None]
    is_message: Callable[[Any], bool]
    said_by_user: Callable[[Any], bool]
    reader: Callable[[Draft], Reader]


def read(document: Document, form: ListFormat) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    if _holds_bare_messages(document, form):
        yield from _read_bare_messages(document, form)
        return
    met: dict[str, int] = {}
    for item in document.items():
        place = f"{document.unit} {item.number}"
        if item.error:
            yield Problem(document.source.label, place, item.error, item.remedy)
            continue
        try:
            yield _read_conversation(document, form, item, met)
        except UnusableChat as error:
            yield Problem(document.source.label, place, error.reason, error.remedy)


def _holds_bare_messages(document: Document, form: ListFormat) -> bool:
    if document.wrapper:
        return False
    for item in islice(document.items(), _LOOK_AT):
        if form.unwrap(item.value) is not None:
            return False
        if form.is_message(item.value):
            return True
    return False


def _read_conversation(document: Document, form: ListFormat, item: Item, met: dict[str, int]) -> ParsedChat:
    found = form.unwrap(item.value)
    if found is None:
        if not isinstance(item.value, dict):
            raise UnusableChat("the conversation is not an object", "give an object with its messages, or remove it")
        raise UnusableChat("the conversation has no list of messages", "give it one, or remove the conversation")
    external_id = found.external_id
    if external_id is None or external_id == "":
        opening = _opening([*found.ahead, *islice(found.messages, _LOOK_AT)], form)
        external_id = _derived_chat_id(document, found.created_at, opening, met)
    draft = Draft(document.source.label, f"{document.unit} {item.number}", external_id, found.title)
    draft.take_learner(found.learner)
    draft.chat.created_at = values.parse_time(found.created_at)
    draft.chat.updated_at = values.parse_time(found.updated_at)
    reader = form.reader(draft)
    for message in found.ahead:
        reader.take(0, message)
    for number, message in enumerate(found.messages, 1):
        reader.take(number, message)
    reader.finish()
    return draft.chat


def _read_bare_messages(document: Document, form: ListFormat) -> Iterator[ParsedChat]:
    """All items of the document are the messages of one chat."""
    items = document.items()
    held_back: list[Item] = []
    for item in items:
        held_back.append(item)
        if form.said_by_user(item.value) or len(held_back) == _LOOK_AT:
            break
    opening = _opening([item.value for item in held_back if not item.error], form)
    draft = Draft(document.source.label, "", _derived_chat_id(document, None, opening, {}))
    draft.unit = "line" if document.layout is Layout.LINES else "message"
    reader = form.reader(draft)
    for item in (*held_back, *items):
        if item.error:
            reader.refuse(item.number, item.error, item.remedy)
            draft.chat.complete = draft.chat.complete and not item.last
        else:
            reader.take(item.number, item.value)
    reader.finish()
    yield draft.chat


def _opening(messages: list[Any], form: ListFormat) -> list[Any]:
    """What tells a chat from others and does not change while it grows: its messages up to the user's first.

    Many chats begin with the same system message; without any message of the user, the first one must do.
    """
    first = next((index for index, message in enumerate(messages) if form.said_by_user(message)), 0)
    return [_essence(message) for message in messages[: first + 1]]


def _essence(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    if "role" not in message:
        return message
    return message.get("id") or [message["role"], message.get("parts", message.get("content"))]


def derived_message_id(draft: Draft, number: int) -> str:
    """The id of a message that has none: its chat and its place in the list."""
    return values.derived_id("msg", draft.chat.external_id, number)


def _derived_chat_id(document: Document, created_at: Any, opening: list[Any], met: dict[str, int]) -> str:
    """From the file's name and how the chat begins. Chats of one file that begin alike are told apart by their order."""
    key = values.derived_id("chat", document.source.name, created_at, opening)
    met[key] = met.get(key, 0) + 1
    return key if met[key] == 1 else values.derived_id("chat", key, met[key])
