"""LangChain dumps: ``{type: human | ai | system | tool, data: {content, tool_calls, …}}``.

The two other forms in which LangChain writes the same messages are read too: the fields beside ``type``, and its
serialised constructors (``{lc, type: "constructor", id: […, "HumanMessage"], kwargs}``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import lists, messages
from .documents import Document
from .lists import Conversation
from .records import Draft, Fit, ParsedChat, Problem

NAME = SOURCE = "langchain"
LABEL = "LangChain dump"

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "developer": "developer",
}


def recognises(value: Any) -> Fit:
    """A list of dumped messages, an object that holds one, or one message."""
    found = _unwrap(value)
    listed = [value] if found is None else found.messages
    return Fit.SURE if any(_is_message(message) for message in listed) else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    return lists.read(document, _FORM)


def _unwrap(value: Any) -> Conversation | None:
    if isinstance(value, list):
        return Conversation(value) if any(_is_message(item) for item in value) else None
    if not isinstance(value, dict):
        return None
    for name in ("messages", "history", "chat_history"):
        listed = value.get(name)
        if isinstance(listed, list) and any(_is_message(item) for item in listed):
            return Conversation(
                listed,
                external_id=value.get("id") or value.get("session_id") or value.get("thread_id"),
                title=value.get("title"),
                learner=value.get("learner"),
                created_at=value.get("created_at"),
                updated_at=value.get("updated_at"),
            )
    return None


def _is_message(value: Any) -> bool:
    found = _opened(value)
    return found is not None and _role(*found) is not None and "content" in found[1]


def _opened(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """(kind, fields) of a message in any of its three forms; the kind is "human", "HumanMessageChunk"…"""
    if not isinstance(value, dict) or "role" in value:
        return None
    if value.get("type") == "constructor" and isinstance(value.get("kwargs"), dict):
        path = value.get("id")
        return (str(path[-1]), value["kwargs"]) if isinstance(path, list) and path else None
    kind = value.get("type")
    if not isinstance(kind, str):
        return None
    return kind, value["data"] if isinstance(value.get("data"), dict) else value


def _role(kind: str, fields: Mapping[str, Any]) -> str | None:
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    if kind == "chat":
        kind = str(fields.get("role"))
        return kind if kind in messages.ROLES else _ROLES.get(kind)
    return _ROLES.get(kind)


def _said_by_user(value: Any) -> bool:
    found = _opened(value)
    return found is not None and _role(*found) == "user"


class _Reader:
    """Turns each message into the form that ``messages`` reads."""

    def __init__(self, draft: Draft):
        self._inner = messages.Reader(draft)

    def take(self, number: int, value: Any) -> None:
        found = _opened(value)
        if found is None:
            self.refuse(number, "it is not a message with a type and data", "correct it, or remove it")
            return
        kind, fields = found
        role = _role(kind, fields)
        if role is None:
            self.refuse(number, f"messages of type {kind[:60]!r} are not known", "imported without it")
            return
        self._inner.take(number, {**fields, "role": role, "tool_calls": _calls(fields), **_times_and_model(fields)})

    def refuse(self, number: int, reason: str, remedy: str) -> None:
        self._inner.refuse(number, reason, remedy)

    def finish(self) -> None:
        self._inner.finish()


def _calls(fields: Mapping[str, Any]) -> list[Any]:
    """The calls, those with arguments that are no JSON included; older dumps have them only as the vendor wrote them."""
    listed = [*_list(fields.get("tool_calls")), *_list(fields.get("invalid_tool_calls"))]
    beside = fields.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    if listed:
        return listed
    return [
        *_list(beside.get("tool_calls")),
        *_list([{"function": call} for call in [beside.get("function_call")] if call]),
    ]


def _times_and_model(fields: Mapping[str, Any]) -> dict[str, Any]:
    """From where models' answers carry them; what stands beside the content itself counts first."""
    about = fields.get("response_metadata")
    about = about if isinstance(about, dict) else {}
    beside = fields.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    time = fields.get("created_at") or beside.get("created_at") or beside.get("timestamp") or about.get("created_at")
    model = fields.get("model") or about.get("model_name") or about.get("model")
    return {"created_at": time, "model": model}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_FORM = lists.ListFormat(_unwrap, _is_message, _said_by_user, _Reader)
