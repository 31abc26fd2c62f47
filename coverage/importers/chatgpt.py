"""ChatGPT exports: ``conversations.json``, or its shards ``conversations-000.json``…

A conversation is a tree of nodes. The transcript is the active path: from ``current_node`` back to the root.
Each node on it stays a message of its own, under the id that the export gives it, with two exceptions: the result of
a tool joins the message that called the tool, as one ``dynamic-tool`` part, and reasoning joins the answer that
follows it. What the person never saw (hidden and system nodes, custom instructions) is not imported.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from . import chatgpt_content, values
from .chatgpt_path import active_path
from .documents import Document
from .records import Draft, Fit, ParsedChat, Problem, UnusableChat
from .trees import NODES

NAME = SOURCE = "chatgpt"
LABEL = "ChatGPT export"

_ROLES = ("user", "assistant", "system", "tool")
_VISIBLE_RECIPIENTS = ("all", "", None)


def recognises(value: Any) -> Fit:
    """A conversation with its tree of nodes."""
    return Fit.SURE if isinstance(value, dict) and isinstance(value.get(NODES), Mapping) else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem]:
    """The conversations of a document, one at a time."""
    for item in document.items():
        place = f"{document.unit} {item.number}"
        if item.error:
            yield Problem(document.source.label, place, item.error, item.remedy)
            continue
        try:
            parsed = _read_conversation(document, place, item.value)
            # Storing the messages does not need the tree.
            item.value = None
            yield parsed
        except UnusableChat as error:
            yield Problem(document.source.label, place, error.reason, error.remedy)


def _read_conversation(document: Document, place: str, value: Any) -> ParsedChat:
    if not isinstance(value, dict):
        raise UnusableChat("the conversation is not an object", "remove it")
    mapping = value.get(NODES)
    if not isinstance(mapping, Mapping):
        raise UnusableChat('the conversation has no "mapping" of nodes', "export it again, or remove it")
    path = active_path(mapping, value.get("current_node"))
    external_id = value.get("conversation_id") or value.get("id")
    if not external_id:
        # The first nodes of a conversation keep their ids while it grows.
        external_id = values.derived_id("chat", value.get("create_time"), path.nodes[:2])
    draft = Draft(document.source.label, place, external_id, value.get("title"))
    draft.chat.created_at = values.parse_time(value.get("create_time"))
    draft.chat.updated_at = values.parse_time(value.get("update_time"))
    for reason, remedy in path.problems:
        draft.problem(reason, remedy)
    transcript = _Transcript(draft)
    number = 0
    for node_id in path.nodes:
        message = mapping[node_id].get("message")
        if message is not None:
            number += 1
            transcript.take(number, node_id, message)
    transcript.finish()
    return draft.chat


@dataclass(slots=True)
class _Entry:
    """A message in the making; a tool call waits for its results."""

    number: int
    message_id: str
    role: str
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] = field(default_factory=dict)
    said_at: datetime | None = None
    tool: str = ""
    results: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        return bool(self.results or self.errors)

    def fill_results(self) -> None:
        """Write the results into the tool part; several of one call become a list, in order."""
        if not self.answered:
            return
        part = self.parts[-1]
        if self.results:
            results = [*self.results, *self.errors]
            part.update(state="output-available", output=results[0] if len(results) == 1 else results)
        else:
            part.update(state="output-error", errorText="\n".join(self.errors))


@dataclass(slots=True)
class _Refusal:
    """A message that cannot be read, at its place in the transcript."""

    number: int
    message_id: str
    reason: str


class _Transcript:
    """Turns the messages of the path into entries, then hands them to the draft in order."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._entries: deque[_Entry | _Refusal] = deque()
        self._reasoning: _Entry | None = None
        # Calls since the last message of the user, and those of them that nothing visible has followed yet.
        self._calls: list[_Entry] = []
        self._open_calls: list[_Entry] = []

    def take(self, number: int, node_id: str, message: Any) -> None:
        """One message of the path, hidden or not."""
        problem = _why_unreadable(message)
        if problem:
            message_id = _message_id(message, node_id) if isinstance(message, dict) else node_id
            self._add(_Refusal(number, message_id, problem))
            return
        author, content = message["author"], message["content"]
        entry = _Entry(number, _message_id(message, node_id), author["role"], [], _metadata(message))
        entry.said_at = values.parse_time(message.get("create_time"))
        if author["role"] == "tool":
            self._take_result(entry, str(author.get("name") or ""), content, hidden=_hidden(message))
        elif _hidden(message) or content.get("content_type") in chatgpt_content.INSTRUCTIONS:
            return
        elif author["role"] == "assistant":
            self._take_assistant(entry, message)
        else:
            self._take_said(entry, message)

    def _take_assistant(self, entry: _Entry, message: Mapping[str, Any]) -> None:
        content = message["content"]
        if content.get("content_type") in chatgpt_content.REASONING or message.get("channel") == "analysis":
            self._take_reasoning(entry, content)
        elif message.get("recipient") in _VISIBLE_RECIPIENTS:
            self._take_said(entry, message)
        else:
            self._add_call(entry, str(message["recipient"]), chatgpt_content.tool_input(content))
            self._calls.append(entry)
            self._open_calls.append(entry)

    def _take_reasoning(self, entry: _Entry, content: Mapping[str, Any]) -> None:
        parts = chatgpt_content.reasoning_parts(content)
        if self._reasoning:
            self._reasoning.parts += parts
        elif parts:
            entry.parts = parts
            self._reasoning = entry

    def _take_said(self, entry: _Entry, message: Mapping[str, Any]) -> None:
        entry.parts = chatgpt_content.said_parts(message["content"], message.get("metadata"))
        if not entry.parts:
            return
        self._open_calls.clear()
        if entry.role == "user":
            self._calls.clear()
        self._add(entry)

    def _take_result(self, entry: _Entry, name: str, content: Mapping[str, Any], *, hidden: bool) -> None:
        """Join a result to its call: the oldest open call of this tool, else the latest call of it in this turn.

        A result under another name belongs to the call right before it. One without any call stands for itself.
        """
        call = next((call for call in self._open_calls if call.tool == name and not call.answered), None)
        if call is None:
            call = next((call for call in reversed(self._calls) if call.tool == name), None)
        if call is None and self._entries and self._entries[-1] in self._open_calls:
            call = self._entries[-1]
        output, error = chatgpt_content.tool_output(content)
        if call is None:
            if hidden or not (output or error):
                return
            call = self._add_call(entry, name, None)
        if error:
            call.errors.append(error)
        else:
            call.results.append(output)

    def _add_call(self, entry: _Entry, tool: str, tool_input: Any) -> _Entry:
        entry.role, entry.tool = "assistant", tool
        call = {"type": "dynamic-tool", "toolName": tool, "toolCallId": entry.message_id}
        entry.parts = [{**call, "state": "input-available", "input": tool_input}]
        self._add(entry)
        return entry

    def _add(self, entry: _Entry | _Refusal) -> None:
        if self._reasoning and isinstance(entry, _Entry):
            if entry.role == "assistant":
                entry.parts[:0] = self._reasoning.parts
            else:
                self._entries.append(self._reasoning)
            self._reasoning = None
        self._entries.append(entry)

    def finish(self) -> None:
        """Hand everything to the draft, and keep nothing of it."""
        if self._reasoning:
            self._entries.append(self._reasoning)
        while self._entries:
            entry = self._entries.popleft()
            if isinstance(entry, _Refusal):
                self._draft.refuse(entry.number, entry.reason, "imported without it", entry.message_id)
                continue
            entry.fill_results()
            self._draft.add(
                entry.number, entry.message_id, entry.role, entry.parts, metadata=entry.metadata, said_at=entry.said_at
            )


def _why_unreadable(message: Any) -> str:
    """What is wrong with the shape of a message; ``""`` when it can be read."""
    if not isinstance(message, dict):
        return "the message is not an object"
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    if role not in _ROLES:
        return f"the author's role {role!r} is not one of {', '.join(_ROLES)}"
    if not isinstance(message.get("content"), dict):
        return "the message has no content"
    return ""


def _message_id(message: Mapping[str, Any], node_id: str) -> str:
    message_id = message.get("id")
    return message_id if isinstance(message_id, str) and message_id else node_id


def _hidden(message: Mapping[str, Any]) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and bool(
        metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    )


def _metadata(message: Mapping[str, Any]) -> dict[str, Any]:
    """What is worth keeping beside the parts: the model, and a status other than the usual one."""
    metadata = message.get("metadata")
    model = metadata.get("model_slug") if isinstance(metadata, dict) else None
    status = message.get("status")
    kept = {"model": model, "status": None if status == "finished_successfully" else status}
    return {key: value for key, value in kept.items() if isinstance(value, str) and value}
