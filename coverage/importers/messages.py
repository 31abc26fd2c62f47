"""Lists of messages as model APIs take them: OpenAI Chat, OpenAI Responses and Anthropic Messages.

One reader for the three, because one transcript may pass for several of them: a list of ``{role, content}`` that is
plain today may hold tool calls tomorrow, and must then still be the same chat. What a message holds decides, one by
one. Their chats are therefore stored under one source.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import blocks, lists, values
from .assembly import Assembly, Call, Part, Piece, Result
from .documents import Document
from .lists import Conversation
from .records import Draft, ParsedChat, Problem

SOURCE = "messages"

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_TOOL_ROLES = {"tool", "function"}
_TIMES = ("created_at", "createdAt", "timestamp", "create_time", "created", "time")
_CALL_FIELDS = ("tool_calls", "function_call")
# Items of the Responses API that hold no part of the conversation.
_NO_PART = {"item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction"}
_OUTPUT_END = "_call_output"
# Of a hosted tool's call, what is not its input.
_ENVELOPE = {
    "type",
    "id",
    "call_id",
    "status",
    "name",
    "server_label",
    "output",
    "outputs",
    "result",
    "results",
    "error",
}


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    return lists.read(document, _FORM)


def unwrap(value: Any) -> Conversation | None:
    """The conversation in a request, a response, a stored chat or a bare list of messages."""
    if isinstance(value, list):
        return Conversation(value) if any(is_message(item) for item in value) else None
    if not isinstance(value, dict) or is_message(value):
        return None
    messages = _messages_of(value)
    if messages is None or (messages and not any(is_message(message) for message in messages)):
        return None
    system = value.get("system") or value.get("instructions")
    return Conversation(
        messages,
        ahead=[{"role": "system", "content": system}] if isinstance(system, str | list) else [],
        external_id=value.get("id") or value.get("conversation_id"),
        title=value.get("title"),
        learner=value.get("learner"),
        created_at=next((value[name] for name in _TIMES if value.get(name) is not None), None),
        updated_at=value.get("updated_at", value.get("updatedAt")),
    )


def _messages_of(value: Mapping[str, Any]) -> list[Any] | None:
    for name in ("messages", "items", "data"):
        if isinstance(value.get(name), list):
            return value[name]
    given, output = value.get("input"), value.get("output")
    if not isinstance(output, list) and not isinstance(given, list) and "model" not in value:
        return None
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    messages = [*(given if isinstance(given, list) else []), *(output if isinstance(output, list) else [])]
    return messages or None


def is_message(value: Any) -> bool:
    """A message with a role and content, or an item of the Responses API."""
    if not isinstance(value, dict) or "parts" in value:
        return False
    role = value.get("role")
    if isinstance(role, str):
        known = role in ROLES or role in _TOOL_ROLES
        return known and ("content" in value or any(name in value for name in _CALL_FIELDS))
    return is_item(value)


def is_item(value: Any) -> bool:
    """An item of the Responses API that is no message."""
    kind = value.get("type") if isinstance(value, dict) and "role" not in value else None
    return isinstance(kind, str) and (
        kind in _NO_PART
        or kind.endswith((_OUTPUT_END, "_call"))
        or (kind == "reasoning" and isinstance(value.get("summary"), list))
    )


def said_by_user(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "user"


class Reader:
    """Takes messages and items one by one."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._assembly = Assembly(draft)

    def take(self, number: int, value: Any) -> None:
        """A message with a role, or an item with a type."""
        if not isinstance(value, dict):
            self.refuse(number, "the message is not an object", "give an object with a role and content")
            return
        message_id = value.get("id")
        if not isinstance(message_id, str) or not message_id:
            message_id = lists.derived_message_id(self._draft, number)
        role = value.get("role")
        if role is None and isinstance(value.get("type"), str):
            self._take_item(number, message_id, value)
        elif not isinstance(role, str):
            self._assembly.refuse(number, message_id, "the message has no role")
        elif role in _TOOL_ROLES:
            self._put(number, message_id, "assistant", _tool_message(value), value)
        elif role in ROLES:
            self._take_message(number, message_id, value)
        else:
            known = ", ".join([*ROLES, *sorted(_TOOL_ROLES)])
            self._assembly.refuse(number, message_id, f"role {role[:60]!r} is not one of {known}")

    def refuse(self, number: int, reason: str, remedy: str) -> None:
        self._assembly.refuse(number, lists.derived_message_id(self._draft, number), reason, remedy)

    def finish(self) -> None:
        self._assembly.finish()

    def _take_message(self, number: int, message_id: str, value: Mapping[str, Any]) -> None:
        content = value.get("content")
        if content is not None and not isinstance(content, str | list | dict):
            reason = "the content is neither a text nor a list of blocks"
            self._assembly.refuse(number, message_id, reason)
            return
        found = [*_reasoning_beside(value), *blocks.pieces(content), *blocks.text_part(value.get("refusal"))]
        known = {piece.call_id for piece in found if isinstance(piece, Call)}
        # Libraries that speak for several vendors write a call both as a block and in ``tool_calls``.
        found += [call for call in _calls_beside(value) if not call.call_id or call.call_id not in known]
        self._put(number, message_id, ROLES[value["role"]], found, value)

    def _take_item(self, number: int, message_id: str, value: Mapping[str, Any]) -> None:
        kind = value["type"]
        if kind == "reasoning":
            self._assembly.think(number, message_id, blocks.reasoning_parts(value))
        elif kind.endswith(_OUTPUT_END):
            failed = value.get("status") == "failed"
            output = blocks.result(value.get("call_id"), "", value.get("output"), failed=failed)
            self._put(number, message_id, "assistant", [output], value)
        elif kind.endswith("_call"):
            self._put(number, message_id, "assistant", list(_item_call(value)), value)
        elif kind not in _NO_PART:
            self._assembly.refuse(number, message_id, f"items of type {kind[:60]!r} are not known")

    def _put(self, number: int, message_id: str, role: str, found: list[Piece], value: Mapping[str, Any]) -> None:
        model = value.get("model")
        self._assembly.take(
            number,
            message_id,
            role,
            found,
            metadata={"model": model} if isinstance(model, str) and model else {},
            said_at=next((time for name in _TIMES if (time := values.parse_time(value.get(name)))), None),
        )


def _reasoning_beside(value: Mapping[str, Any]) -> list[Part]:
    thought = value.get("reasoning_content") or value.get("reasoning")
    return blocks.reasoning_parts(thought) if isinstance(thought, str | list | dict) else []


def _tool_message(value: Mapping[str, Any]) -> list[Piece]:
    """The result, or the results where the content is a list of them."""
    content = value.get("content")
    if isinstance(content, list):
        found = [piece for piece in blocks.pieces(content) if isinstance(piece, Result)]
        if found:
            return list(found)
    failed = value.get("status") == "error" or bool(value.get("is_error"))
    return [blocks.result(value.get("tool_call_id"), value.get("name"), content, failed=failed)]


def _calls_beside(value: Mapping[str, Any]) -> Iterator[Call]:
    """The calls in ``tool_calls``, and the one in the older ``function_call``."""
    listed = value.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        if not isinstance(call, dict):
            continue
        inner = next((call[kind] for kind in ("function", "custom") if isinstance(call.get(kind), dict)), call)
        yield _named_call(inner, call.get("id"))
    if isinstance(value.get("function_call"), dict):
        yield _named_call(value["function_call"], None)


def _named_call(inner: Mapping[str, Any], call_id: Any) -> Call:
    given: Any = next((inner[name] for name in ("arguments", "args", "input") if inner.get(name) is not None), {})
    return Call(_text(inner.get("name")), blocks.json_or_text(given), _text(call_id))


def _item_call(value: Mapping[str, Any]) -> Iterator[Piece]:
    """A call, and its result where the item holds both (as those of hosted tools do)."""
    name = _text(value.get("name")) or value["type"].removesuffix("_call")
    call_id = _text(value.get("call_id")) or _text(value.get("id"))
    if "arguments" in value or "input" in value:
        given = blocks.json_or_text(value.get("arguments", value.get("input")))
    else:
        given = {key: item for key, item in value.items() if key not in _ENVELOPE}
    yield Call(name, given, call_id)
    if value["type"] == "image_generation_call" and isinstance(value.get("result"), str):
        picture = blocks.file_part(f"data:image/png;base64,{value['result']}", "image/png")
        yield Result(call_id, name, "", files=[picture])
        return
    if value.get("error"):
        yield blocks.result(call_id, name, value["error"], failed=True)
        return
    for field in ("output", "outputs", "results", "result"):
        if value.get(field) is not None:
            yield blocks.result(call_id, name, value[field])
            return


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_FORM = lists.ListFormat(unwrap, is_message, said_by_user, Reader)
