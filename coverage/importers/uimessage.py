"""AI SDK UIMessages, the form in which chats are stored: whole chats, or the bare messages of one chat.

Accepted: ``{"chats": [chat…]}``, an array of chats, one chat, a line per chat (JSONL); an array of UIMessages or a
line per UIMessage (one chat). A chat is ``{id?, title?, learner?, created_at?, messages: [UIMessage…]}``.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from . import values
from .documents import Document, Item, Layout
from .records import Draft, ParsedChat, Problem, UnusableChat

NAME = "uimessage"
LABEL = "AI SDK UIMessages"

_LOOK_AT = 20
_ADD_PARTS = "give it a list of parts, or remove it"


def recognises(value: Any) -> bool:
    """A chat of UIMessages, or one UIMessage."""
    return _is_chat(value) or _is_message(value)


def _is_chat(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    messages = value["messages"]
    return not messages or any(_is_message(message) for message in messages)


def _is_message(value: Any) -> bool:
    # Other formats have a role too, but keep what was said in ``content``.
    return isinstance(value, dict) and "role" in value and ("parts" in value or "content" not in value)


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The chats of a document, one at a time."""
    if _holds_bare_messages(document):
        yield from _read_bare_messages(document)
        return
    met: dict[str, int] = {}
    for item in document.items():
        place = f"{document.unit} {item.number}"
        if item.error:
            yield Problem(document.source.label, place, item.error, item.remedy)
            continue
        try:
            yield _read_chat(document, item, met)
        except UnusableChat as error:
            yield Problem(document.source.label, place, error.reason, error.remedy)


def _holds_bare_messages(document: Document) -> bool:
    if document.wrapper:
        return False
    for item in islice(document.items(), _LOOK_AT):
        if _is_chat(item.value):
            return False
        if _is_message(item.value):
            return True
    return False


def _read_chat(document: Document, item: Item, met: dict[str, int]) -> ParsedChat:
    value = item.value
    if not isinstance(value, dict):
        raise UnusableChat("the conversation is not an object", "give an object with its messages, or remove it")
    messages = value.get("messages")
    if not isinstance(messages, list):
        raise UnusableChat("the conversation has no list of messages", "give it one, or remove the conversation")
    external_id = value.get("id")
    if external_id is None or external_id == "":
        external_id = _derive_id(document, value, messages, met)
    draft = Draft(document.source.label, f"{document.unit} {item.number}", external_id, value.get("title"))
    draft.take_learner(value.get("learner"))
    draft.chat.created_at = values.parse_time(value.get("created_at", value.get("createdAt")))
    draft.chat.updated_at = values.parse_time(value.get("updated_at", value.get("updatedAt")))
    for number, message in enumerate(messages, 1):
        _add_message(draft, number, message)
    return draft.chat


def _read_bare_messages(document: Document) -> Iterator[ParsedChat]:
    """All items of the document are the messages of one chat."""
    items = document.items()
    held_back: list[Item] = []
    first: Any = None
    for item in items:
        held_back.append(item)
        if not item.error:
            first = item.value
            break
    draft = Draft(document.source.label, "", _derive_id(document, {}, [first], {}))
    draft.unit = "line" if document.layout is Layout.LINES else "message"
    for item in (*held_back, *items):
        number = item.number
        if item.error:
            draft.refuse(number, item.error, item.remedy)
            draft.chat.complete = draft.chat.complete and not item.last
        else:
            _add_message(draft, number, item.value)
    yield draft.chat


def _derive_id(document: Document, chat: dict[str, Any], messages: list[Any], met: dict[str, int]) -> str:
    """An id for a chat without one: from the file's name and what does not change while the chat grows.

    Chats of one file that begin alike are told apart by their order.
    """
    first = messages[0] if messages else None
    if isinstance(first, dict):
        first = first.get("id") or [first.get("role"), first.get("parts")]
    key = values.derived_id("chat", document.source.name, chat.get("created_at"), first)
    met[key] = met.get(key, 0) + 1
    return key if met[key] == 1 else values.derived_id("chat", key, met[key])


def _add_message(draft: Draft, number: int, value: Any) -> None:
    if not isinstance(value, dict):
        draft.refuse(number, "the message is not an object", "give a UIMessage, or remove it")
        return
    message_id = value.get("id")
    if message_id is None or message_id == "":
        message_id = values.derived_id("msg", draft.chat.external_id, number)
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
