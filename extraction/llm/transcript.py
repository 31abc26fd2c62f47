"""The worker's conversation with its model as plain JSON, bounded, for the batch. Reasoning is left out."""

import json
from collections.abc import Iterable
from typing import Any

from pydantic_ai import messages as ai

from extraction.redaction import redact

ENTRY_CHARACTERS = 4000
TOTAL_CHARACTERS = 200_000
_OVERHEAD = 50

Entry = dict[str, Any]


def transcript(messages: Iterable[ai.ModelMessage]) -> list[Entry]:
    """One entry per instruction, text, tool call and tool result, in order.

    ``{"role": "user" | "assistant" | "tool", "text"}``, and ``tool`` and ``arguments`` for calls, ``tool`` and ``refused``
    for results. Long texts are cut. Beyond TOTAL_CHARACTERS the middle is replaced by one entry that says how many are
    missing.
    """
    entries = [entry for message in messages for part in message.parts for entry in _entry(part)]
    return _bounded(entries)


def _entry(part: Any) -> list[Entry]:
    if isinstance(part, ai.UserPromptPart):
        return [{"role": "user", "text": _cut(part.content)}]
    if isinstance(part, ai.RetryFeedbackPart):
        return [{"role": "user", "text": _cut(part.content)}]
    if isinstance(part, ai.TextPart):
        return [{"role": "assistant", "text": _cut(part.content)}] if part.content else []
    if isinstance(part, ai.ToolCallPart):
        return [{"role": "assistant", "tool": part.tool_name[:200], "arguments": _cut(part.args or "")}]
    if isinstance(part, ai.ToolReturnPart):
        refused = part.outcome != "success"
        return [{"role": "tool", "tool": part.tool_name[:200], "refused": refused, "text": _cut(part.content)}]
    return []


def _cut(value: Any) -> str:
    """Text that the database takes and that is not too long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    # What it reads is covered already; what a model writes by itself may hold a secret all the same.
    text = redact(text).replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return text if len(text) <= ENTRY_CHARACTERS else f"{text[: ENTRY_CHARACTERS - 1]}…"


def _bounded(entries: list[Entry]) -> list[Entry]:
    sizes = [_OVERHEAD + sum(len(value) for value in entry.values() if isinstance(value, str)) for entry in entries]
    if sum(sizes) <= TOTAL_CHARACTERS:
        return entries
    head = _fitting(sizes, TOTAL_CHARACTERS // 2)
    tail = _fitting(sizes[head:][::-1], TOTAL_CHARACTERS // 2)
    left = len(entries) - head - tail
    return [*entries[:head], {"role": "omitted", "text": f"{left} entries left out"}, *entries[len(entries) - tail :]]


def _fitting(sizes: list[int], room: int) -> int:
    for count, size in enumerate(sizes):
        room -= size
        if room < 0:
            return count
    return len(sizes)
