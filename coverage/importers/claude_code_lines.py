"""The lines of a Claude Code session, and how they become messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import blocks, values
from .assembly import Assembly, Call, Piece, Result
from .branches import branch
from .records import Draft

# Texts in the user's name that the program wrote: each is one of these elements, or several.
_WRITTEN_BY_PROGRAM = (
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "system-reminder",
    "task-notification",
    "command-name",
    "command-message",
    "command-args",
)
_NO_ARGUMENTS = "<command-args></command-args>"
_INTERRUPTED = "[Request interrupted by user"
# A parent that no line has: the path goes on with the line before.
_THE_LINE_BEFORE = ""


@dataclass(slots=True)
class Line:
    """A line of the main conversation. ``pieces`` is empty where nobody said anything in it."""

    number: int
    session: str
    uuid: str
    parent: str | None
    role: str
    message_id: str
    pieces: list[Piece]
    said_at: datetime | None
    model: str = ""

    @property
    def only_results(self) -> bool:
        return bool(self.pieces) and all(isinstance(piece, Result) for piece in self.pieces)


def read_line(number: int, value: Any) -> Line | None:
    """A line that has a place in the main conversation; None for all others (titles, snapshots, sidechains)."""
    if not isinstance(value, dict) or not _text(value.get("uuid")) or value.get("isSidechain") is True:
        return None
    kind, message = value.get("type"), value.get("message")
    message = message if isinstance(message, dict) and kind in ("user", "assistant") else {}
    found = _said(value, message)
    line = Line(
        number,
        _text(value.get("sessionId")),
        value["uuid"],
        _text(value.get("parentUuid")) or _text(value.get("logicalParentUuid")) or None,
        _text(kind),
        (_text(message.get("id")) if kind == "assistant" else "") or value["uuid"],
        found,
        values.parse_time(value.get("timestamp")),
        _text(message.get("model")),
    )
    starts_over = kind == "user" and found and not line.only_results
    if line.parent is None and not starts_over:
        # Only words of the user begin a transcript anew; a note of the program (a compaction, say) does not.
        line.parent = _THE_LINE_BEFORE
    return line


def _said(value: dict[str, Any], message: dict[str, Any]) -> list[Piece]:
    if any(value.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return []
    if message.get("model") == "<synthetic>":
        return []
    found = list(blocks.pieces(message.get("content")))
    if value.get("type") == "user":
        found = [piece for piece in found if not (isinstance(piece, dict) and _by_program(piece.get("text")))]
    return found


def _by_program(text: Any) -> bool:
    """Whether a text in the user's name holds nothing that the user said."""
    if not isinstance(text, str):
        return False
    rest = text.strip()
    if rest.startswith(_INTERRUPTED):
        return True
    if rest.startswith(("<command-name>", "<command-message>")) and "<command-args>" in rest:
        return _NO_ARGUMENTS in rest
    while rest:
        name = next((name for name in _WRITTEN_BY_PROGRAM if rest.startswith(f"<{name}>")), None)
        end = rest.find(f"</{name}>") if name else -1
        if end < 0:
            return False
        rest = rest[end + len(f"</{name}>") :].lstrip()
    return True


def transcript(lines: list[Line], draft: Draft) -> None:
    """Hand the messages of the active branch, that of the last message in the file, to the draft."""
    assembly = Assembly(draft)
    for group in _messages(_active(lines)):
        first = group[0]
        assembly.take(
            first.number,
            first.message_id,
            first.role,
            [piece for line in group for piece in line.pieces],
            metadata={"model": first.model} if first.model else {},
            said_at=first.said_at,
        )
    assembly.finish()


def _active(lines: list[Line]) -> list[Line]:
    """The lines of the active branch in the file's order.

    Calls that ran side by side fork the path: the other lines of a message on it belong to it, and so do the results
    of calls in them.
    """
    unique = list({line.uuid: line for line in reversed(lines)}.values())[::-1]
    said = [line for line in unique if line.pieces]
    if not said:
        return []
    parents = {line.uuid: line.parent for line in unique}
    path = set(branch([line.uuid for line in unique], parents, said[-1].uuid))
    on_path = {line.message_id for line in unique if line.uuid in path}
    kept = [line for line in unique if line.message_id in on_path]
    calls = {piece.call_id for line in kept for piece in line.pieces if isinstance(piece, Call)}
    return [line for line in unique if line.pieces and (line.message_id in on_path or _answers(line, calls))]


def _answers(line: Line, calls: set[str]) -> bool:
    return line.only_results and any(piece.call_id in calls for piece in line.pieces if isinstance(piece, Result))


def _messages(lines: list[Line]) -> Iterator[list[Line]]:
    """The lines grouped by message, each message where its first line stands."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.message_id, []).append(line)
    yield from groups.values()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
