"""Puts a transcript together from messages that keep tool calls and their results apart.

A call and its result become one ``dynamic-tool`` part of the calling message; reasoning that stands alone joins the
answer that follows. A message that ends up with nothing in it, such as a user turn of results only, is not imported.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from . import values
from .records import Draft

Part = dict[str, Any]


@dataclass(slots=True)
class Call:
    """A tool call inside a message. ``call_id`` may be empty: then its result is found by name and order."""

    name: str
    tool_input: Any
    call_id: str = ""


@dataclass(slots=True)
class Result:
    """What a tool gave back: an output, or an error text. ``files`` are parts beside it (pictures, documents)."""

    call_id: str = ""
    name: str = ""
    output: Any = None
    error: str = ""
    files: list[Part] = field(default_factory=list)


Piece = Part | Call | Result


@dataclass(slots=True)
class _Open:
    """A call in the transcript, with the results that came for it."""

    name: str
    call_id: str
    part: Part
    entry: "_Entry"
    outputs: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        return bool(self.outputs or self.errors)

    def take(self, result: Result) -> None:
        if result.error:
            self.errors.append(result.error)
        else:
            self.outputs.append(result.output)
        self.entry.parts += result.files

    def fill(self) -> None:
        """Write the results into the part; several of one call become a list, in order."""
        if self.outputs:
            given = [*self.outputs, *self.errors]
            self.part.update(state="output-available", output=given[0] if len(given) == 1 else given)
        elif self.errors:
            self.part.update(state="output-error", errorText="\n".join(self.errors))


@dataclass(slots=True)
class _Entry:
    """A message in the making. ``orphan`` is a result whose call has not been met."""

    number: int
    message_id: str
    role: str
    parts: list[Part]
    metadata: dict[str, Any]
    said_at: datetime | None
    orphan: Result | None = None


@dataclass(slots=True)
class _Refusal:
    number: int
    message_id: str
    reason: str
    remedy: str


class Assembly:
    """Takes the messages of one conversation in their order; ``finish`` hands them to the draft."""

    def __init__(self, draft: Draft):
        self.draft = draft
        self._entries: list[_Entry | _Refusal] = []
        self._by_id: dict[str, list[_Open]] = {}
        self._calls: list[_Open] = []
        # Calls of this turn for results that name none: the user's next message ends the turn.
        self._turn: list[_Open] = []
        self._reasoning: _Entry | None = None

    def take(
        self,
        number: int,
        message_id: str,
        role: str,
        pieces: Iterable[Piece],
        *,
        metadata: Mapping[str, Any] | None = None,
        said_at: datetime | None = None,
    ) -> None:
        """One message. Its results go to the calls that they belong to, the rest is the message itself."""
        entry = _Entry(number, message_id, role, [], dict(metadata or {}), said_at)
        for order, piece in enumerate(pieces):
            if isinstance(piece, Result):
                self._join(entry, order, piece)
            elif isinstance(piece, Call):
                self._place(entry)
                self._add_call(entry, piece)
            else:
                self._place(entry)
                entry.parts.append(piece)

    def think(self, number: int, message_id: str, parts: list[Part]) -> None:
        """Reasoning that stands alone; it goes into the assistant's next message."""
        if not parts:
            return
        if self._reasoning is None:
            self._reasoning = _Entry(number, message_id, "assistant", [], {}, None)
        self._reasoning.parts += parts

    def refuse(self, number: int, message_id: str, reason: str, remedy: str = "imported without it") -> None:
        self._entries.append(_Refusal(number, message_id, reason, remedy))

    def _place(self, entry: _Entry) -> None:
        """Put the message into the transcript with its first piece."""
        if entry.parts:
            return
        if self._reasoning:
            if entry.role == "assistant":
                entry.parts += self._reasoning.parts
            else:
                self._entries.append(self._reasoning)
            self._reasoning = None
        if entry.role == "user":
            self._turn.clear()
        self._entries.append(entry)

    def _add_call(self, entry: _Entry, call: Call) -> _Open:
        call_id = call.call_id or values.derived_id("call", entry.message_id, len(entry.parts))
        part = {"type": "dynamic-tool", "toolName": call.name, "toolCallId": call_id}
        part |= {"state": "input-available", "input": call.tool_input}
        entry.parts.append(part)
        opened = _Open(call.name, call_id, part, entry)
        self._by_id.setdefault(call_id, []).append(opened)
        self._calls.append(opened)
        self._turn.append(opened)
        return opened

    def _join(self, entry: _Entry, order: int, result: Result) -> None:
        call = self._call_with_id(result.call_id) if result.call_id else self._call_by_order(result.name)
        if call:
            call.take(result)
            return
        if not (result.output or result.error or result.files):
            return
        # It stands for itself, unless its call turns up later.
        own = _Entry(
            entry.number, values.derived_id("msg", entry.message_id, order), "assistant", [], {}, entry.said_at
        )
        own.orphan = result
        self._entries.append(own)

    def _call_with_id(self, call_id: str) -> _Open | None:
        """Sloppy writers use an id again: then a result belongs to the oldest call that waits for one."""
        calls = self._by_id.get(call_id, [])
        return next((call for call in calls if not call.answered), calls[-1] if calls else None)

    def _call_by_order(self, name: str) -> _Open | None:
        """A result without an id: the oldest call of this turn that waits, of this tool if the result names one."""
        waiting = [call for call in self._turn if not call.answered]
        return next((call for call in waiting if name in ("", call.name)), waiting[0] if waiting else None)

    def finish(self) -> None:
        """Hand everything to the draft."""
        if self._reasoning:
            self._entries.append(self._reasoning)
        placed = [entry for entry in self._entries if not self._settle_orphan(entry)]
        for call in self._calls:
            call.fill()
        for entry in placed:
            if isinstance(entry, _Refusal):
                self.draft.refuse(entry.number, entry.reason, entry.remedy, entry.message_id)
            else:
                self.draft.add(
                    entry.number,
                    entry.message_id,
                    entry.role,
                    entry.parts,
                    metadata=entry.metadata,
                    said_at=entry.said_at,
                )

    def _settle_orphan(self, entry: _Entry | _Refusal) -> bool:
        """Whether a result that came before its call has joined it. Without a call it becomes a part of its own."""
        result = entry.orphan if isinstance(entry, _Entry) else None
        if result is None:
            return False
        call = self._call_with_id(result.call_id)
        if call is None:
            call = self._add_call(entry, Call(result.name, None, result.call_id))
            call.take(result)
            return False
        call.take(result)
        return True
