"""ShareGPT: ``{id, conversations: [{from: human | gpt | system | function_call | observation, value}]}``.

Nothing in it says when anything was said, nor which call an observation belongs to: it follows its call.
"""

from collections.abc import Iterator
from typing import Any

from . import blocks, lists
from .assembly import Assembly, Call, Piece, Result
from .documents import Document
from .lists import Conversation
from .records import Draft, Fit, ParsedChat, Problem

NAME = SOURCE = "sharegpt"
LABEL = "ShareGPT"

_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "model": "assistant",
    "system": "system",
}
_CALLS = {"function_call", "tool_call"}
_RESULTS = {"observation", "tool", "tool_response", "function_response", "function"}


def recognises(value: Any) -> Fit:
    """A conversation of turns, or one turn."""
    found = _unwrap(value)
    listed = [value] if found is None else found.messages
    return Fit.SURE if any(_is_turn(turn) for turn in listed) else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    return lists.read(document, _FORM)


def _unwrap(value: Any) -> Conversation | None:
    if isinstance(value, list):
        return Conversation(value) if any(_is_turn(turn) for turn in value) else None
    turns = value.get("conversations") if isinstance(value, dict) else None
    if not isinstance(turns, list):
        return None
    system = value.get("system")
    return Conversation(
        turns,
        ahead=[{"from": "system", "value": system}] if isinstance(system, str) and system else [],
        external_id=value.get("id"),
        title=value.get("title"),
        learner=value.get("learner"),
        created_at=value.get("created_at"),
        updated_at=value.get("updated_at"),
    )


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("from"), str) and "value" in value


def _said_by_user(value: Any) -> bool:
    return _is_turn(value) and _ROLES.get(value["from"].lower()) == "user"


class _Reader:
    def __init__(self, draft: Draft):
        self._draft = draft
        self._assembly = Assembly(draft)

    def take(self, number: int, value: Any) -> None:
        """One turn."""
        if not _is_turn(value) or not isinstance(value["value"], str):
            self.refuse(number, 'the turn has no text "from" and "value"', "correct it, or remove it")
            return
        speaker, text = value["from"].lower(), value["value"]
        message_id = lists.derived_message_id(self._draft, number)
        if speaker in _ROLES:
            self._assembly.take(number, message_id, _ROLES[speaker], blocks.text_part(text))
        elif speaker in _CALLS:
            self._assembly.take(number, message_id, "assistant", list(_calls(text)))
        elif speaker in _RESULTS:
            result: list[Piece] = [Result(output=text)]
            self._assembly.take(number, message_id, "assistant", result)
        else:
            self.refuse(number, f"turns from {value['from'][:60]!r} are not known", "imported without it")

    def refuse(self, number: int, reason: str, remedy: str) -> None:
        self._assembly.refuse(number, lists.derived_message_id(self._draft, number), reason, remedy)

    def finish(self) -> None:
        self._assembly.finish()


def _calls(text: str) -> Iterator[Call]:
    """The calls that a turn writes as JSON, one or a list; a text that is none is the input of a call without name."""
    value = blocks.json_or_text(text)
    for call in value if isinstance(value, list) else [value]:
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            given = call.get("arguments", call.get("parameters", {}))
            yield Call(call["name"], blocks.json_or_text(given))
        else:
            yield Call("", call)


_FORM = lists.ListFormat(_unwrap, _is_turn, _said_by_user, _Reader)
