"""Claude.ai exports: conversations with ``chat_messages``, each with ``content`` blocks that its ``text`` repeats.

Where messages name the one before them, the branch that ends in the conversation's current message is the transcript,
else the branch of the newest message; without such names the messages stand in order.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from . import blocks, lists, values
from .assembly import Assembly, Part, Piece
from .branches import branch
from .documents import Document
from .records import Draft, Fit, ParsedChat, Problem, UnusableChat

NAME = SOURCE = "claude"
LABEL = "Claude.ai export"

_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
# What the app writes into ``text`` for a block that it could not show.
_PLACEHOLDER = "This block is not supported on your current device yet."


def recognises(value: Any) -> Fit:
    """A conversation with its messages."""
    return Fit.SURE if isinstance(value, dict) and isinstance(value.get("chat_messages"), list) else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    for item in document.items():
        place = f"{document.unit} {item.number}"
        if item.error:
            yield Problem(document.source.label, place, item.error, item.remedy)
            continue
        try:
            yield _read_conversation(document, place, item.value)
        except UnusableChat as error:
            yield Problem(document.source.label, place, error.reason, error.remedy)


def _read_conversation(document: Document, place: str, value: Any) -> ParsedChat:
    if not isinstance(value, dict):
        raise UnusableChat("the conversation is not an object", "remove it")
    listed = value.get("chat_messages")
    if not isinstance(listed, list):
        raise UnusableChat('the conversation has no "chat_messages"', "export it again, or remove it")
    external_id = value.get("uuid") or value.get("id")
    if not external_id:
        opening = [_field(message, "uuid") or _field(message, "text") for message in listed[:1]]
        external_id = values.derived_id("chat", value.get("created_at"), opening)
    draft = Draft(document.source.label, place, external_id, value.get("name") or value.get("title") or None)
    draft.chat.created_at = values.parse_time(value.get("created_at"))
    draft.chat.updated_at = values.parse_time(value.get("updated_at"))
    assembly = Assembly(draft)
    for number in _active(listed, value.get("current_leaf_message_uuid")):
        _take(assembly, number, listed[number - 1])
    assembly.finish()
    return draft.chat


def _active(listed: list[Any], current: Any) -> list[int]:
    """The numbers (from 1) of the messages along the active branch; of messages that cannot be read, all."""
    linked = {
        uuid for message in listed if (uuid := _field(message, "uuid")) and _field(message, "parent_message_uuid")
    }
    if not linked:
        return list(range(1, len(listed) + 1))
    numbers: dict[str, int] = {}
    for number, message in enumerate(listed, 1):
        numbers.setdefault(_field(message, "uuid") or f"#{number}", number)
    first = next(iter(numbers))
    parents: dict[str, str | None] = {}
    for uuid, number in numbers.items():
        parent = _field(listed[number - 1], "parent_message_uuid")
        # The first messages name a root that is no message, or nothing.
        parents[uuid] = (
            None if uuid == first or (parent not in numbers and _is_root(parent, listed, numbers)) else parent
        )
    leaf = current if isinstance(current, str) and current in numbers else _newest(listed, numbers, parents)
    return [numbers[uuid] for uuid in branch(list(numbers), parents, leaf)]


def _is_root(parent: str, listed: list[Any], numbers: Mapping[str, int]) -> bool:
    """Whether a parent that is no message is the root: the one that the first message names too."""
    return parent == _field(listed[next(iter(numbers.values())) - 1], "parent_message_uuid")


def _newest(listed: list[Any], numbers: Mapping[str, int], parents: Mapping[str, str | None]) -> str:
    inner = {parent for parent in parents.values() if parent}
    leaves = [uuid for uuid in numbers if uuid not in inner] or list(numbers)
    return max(leaves, key=lambda uuid: (_moment(listed[numbers[uuid] - 1]), numbers[uuid]))


def _moment(message: Any) -> float:
    moment = _said_at(message)
    return moment.timestamp() if moment else 0.0


def _said_at(message: Any) -> datetime | None:
    return values.parse_time(message.get("created_at")) if isinstance(message, dict) else None


def _take(assembly: Assembly, number: int, message: Any) -> None:
    message_id = _field(message, "uuid") or lists.derived_message_id(assembly.draft, number)
    if not isinstance(message, dict):
        assembly.refuse(number, message_id, "the message is not an object")
        return
    role = _ROLES.get(str(message.get("sender")))
    if role is None:
        known = ", ".join(_ROLES)
        assembly.refuse(number, message_id, f"the sender {str(message.get('sender'))[:60]!r} is not one of {known}")
        return
    assembly.take(number, message_id, role, [*_said(message), *_beside(message)], said_at=_said_at(message))


def _said(message: Mapping[str, Any]) -> list[Piece]:
    """The blocks; the text only where they hold none of it, for it repeats them."""
    content = message.get("content")
    found = list(blocks.pieces(content)) if isinstance(content, list | str) else []
    says = any(not isinstance(piece, dict) or piece["type"] == "text" for piece in found)
    text = message.get("text")
    if says or not isinstance(text, str) or _PLACEHOLDER in text:
        return found
    return [*found, *blocks.text_part(text)]


def _beside(message: Mapping[str, Any]) -> Iterator[Part]:
    """Attachments with the text that was taken from them, and files, of which the export has only the name."""
    for attachment in _list(message.get("attachments")):
        if isinstance(attachment, dict) and isinstance(attachment.get("extracted_content"), str):
            yield blocks.attachment_part(attachment.get("file_name"), attachment["extracted_content"])
    for file in _list(message.get("files")) or _list(message.get("files_v2")):
        name = _field(file, "file_name")
        if name:
            yield blocks.file_part("", _field(file, "file_type") or "application/octet-stream", name)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _field(value: Any, name: str) -> str:
    """A text field of an object, ``""`` when it is not there."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
