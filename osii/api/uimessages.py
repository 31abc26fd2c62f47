"""From a request body to messages: a list of AI SDK UIMessages, or the whole object that ``onFinish`` has at hand."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from coverage.importers.values import parse_time
from coverage.models import Message
from coverage.services import IncomingMessage, check_message
from graphctx.markers import without_markers

from .problems import Problem, field_error, invalid

MAX_MESSAGES = 10_000
SINGLE = ("responseMessage", "message")
"""What the SDK calls the one message that a turn made: on the server, and in ``useChat``."""

_ALLOWED = "a list of UIMessages, or an object with messages or responseMessage"
_PLACE = re.compile(
    r"(?:the )?(?P<place>parts(?:\[\d+\][^\s:]*)?|metadata[^\s:]*|id|role)(?=[\s:]):?\s*(?P<what>.+)", re.S
)


def incoming_messages(body: Any) -> list[IncomingMessage]:
    """The messages of a body in their order, each once. Raises Problem 422 with the place of every flaw."""
    messages = body.get("messages") if isinstance(body, dict) else body
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES:
        raise Problem(
            422, f"{len(messages)} messages at once; {MAX_MESSAGES} are allowed. Send them in several requests."
        )
    placed = list(_placed(body))
    errors = [
        field_error(place, f"a message must be an object, not {_json_name(value)}")
        for place, value in placed
        if not isinstance(value, dict)
    ]
    if errors:
        raise invalid(errors)
    return [_message(value) for _place, value in placed]


def _placed(body: Any) -> Iterator[tuple[str, Any]]:
    """(place in the body, message as given) in transcript order."""
    if isinstance(body, list):
        yield from ((f"[{index}]", value) for index, value in enumerate(body))
        return
    single = next((name for name in SINGLE if isinstance(body, dict) and body.get(name) is not None), None)
    messages = body.get("messages") if isinstance(body, dict) else None
    if messages is None and single is None:
        raise invalid([field_error("", f"the body must be {_ALLOWED}")])
    if messages is not None and not isinstance(messages, list):
        raise invalid([field_error("messages", f"must be a list, not {_json_name(messages)}")])
    yield from ((f"messages[{index}]", value) for index, value in enumerate(messages or ()))
    if single is not None:
        # onFinish names the answer twice: in the list, and by itself.
        ids = [value.get("id") for value in messages or () if isinstance(value, dict)]
        value = body[single]
        if not isinstance(value, dict) or value.get("id") not in ids:
            yield single, value


def _message(value: dict[str, Any]) -> IncomingMessage:
    metadata = value.get("metadata")
    said = metadata.get("createdAt") if isinstance(metadata, dict) else None
    return IncomingMessage(
        message_id=value.get("id"),
        role=value.get("role"),
        # A transcript that was read here comes back with the steer's marker, which is no part of the message.
        parts=without_markers(value.get("parts")),
        metadata={} if metadata is None else metadata,
        said_at=parse_time(said if said is not None else value.get("createdAt")),
    )


def refuse_flawed(body: Any, messages: Sequence[IncomingMessage]) -> None:
    """Raise Problem 422 naming every message that cannot be stored, if there is one."""
    seen: set[str] = set()
    errors = []
    for (place, _value), message in zip(_placed(body), messages, strict=True):
        try:
            check_message(message)
        except ValueError as error:
            errors.append(_flaw(place, str(error)))
            continue
        if message.message_id in seen:
            errors.append(field_error(f"{place}.id", f"the id {message.message_id!r} occurs twice"))
        seen.add(message.message_id)
    if errors:
        raise invalid(errors)


def _flaw(place: str, text: str) -> dict[str, Any]:
    """The field error for what ``check_message`` says, its path down to the part where the text names one."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return field_error(place, text)
    allowed = Message.Role.values if found["place"] == "role" else None
    return field_error(f"{place}.{found['place']}", found["what"], allowed=allowed)


def _json_name(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), "an object")
