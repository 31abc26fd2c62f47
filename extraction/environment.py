"""The reference environment: an immutable snapshot of a batch, and the two ways a worker first sees it.

Built once when a batch starts; every tool reads only this. An evidence id is absolute: ``m12.0`` is part 0 of the
message at position 12, ``c12.1`` and ``r12.1`` are the call and the result of the tool part 1. Each entry resolves to
(message, fingerprint, part, character span), the span being in that part's text as ``coverage.view.part_text`` gives
it. Reasoning never enters: it is not in the transcript view.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from coverage.models import Chat, Message
from coverage.view import TOOL_KEYS, canonical_json, part_text, transcript_view
from graphctx import fence

SUMMARY_CHARACTERS = 240
EXCERPT_CHARACTERS = 2048
OVERVIEW_CHARACTERS = 500
INDEX_ENTRIES = 50

# One that is never closed reaches to the end.
STEER_BLOCK = re.compile(rf"<{fence.NAME}\b.*?(?:</{fence.NAME}\s*>|\Z)", re.IGNORECASE | re.DOTALL)
MASK = "\N{LIGHT SHADE}"


def build(chat: Chat, messages: Sequence[Message], context: Iterable[Message] = ()) -> dict[str, Any]:
    """The environment's content as JSON for these messages of a chat, in transcript order.

    ``context`` messages come before them: read-only, marked, never citable.
    """
    entries = [entry for message in context for entry in _entries(message, context=True)]
    entries += [entry for message in messages for entry in _entries(message, context=False)]
    return {
        "chat": {"id": str(chat.pk), "title": chat.title, "topic": _topic(chat), "documents": []},
        "range": {"from": messages[0].position, "to": messages[-1].position},
        "evidence": entries,
    }


def content_hash(content: dict[str, Any]) -> str:
    """blake2b, 128 bit, of the canonical JSON: equal environments have equal hashes."""
    return hashlib.blake2b(canonical_json(content).encode(), digest_size=16).hexdigest()


def mask_injected(text: str) -> str:
    """``text`` with every steer block replaced character by character, so that spans stay right."""
    return STEER_BLOCK.sub(lambda match: MASK * len(match.group()), text)


def _topic(chat: Chat) -> str:
    first = (
        Message.objects.filter(chat=chat, role=Message.Role.USER, position__isnull=False).order_by("position").first()
    )
    if first is None:
        return ""
    texts = [part["text"] for part in transcript_view(first.role, first.parts)["parts"] if part["type"] == "text"]
    return mask_injected("\n".join(texts))[:OVERVIEW_CHARACTERS]


def _entries(message: Message, *, context: bool) -> list[dict[str, Any]]:
    view = transcript_view(message.role, message.parts)
    entries: list[dict[str, Any]] = []
    for index, part in enumerate(view["parts"]):
        made = [_text_entry(part)] if part["type"] == "text" else _tool_entries(part)
        for entry in made:
            letter = {"message": "m", "tool_call": "c", "tool_result": "r"}[entry["kind"]]
            entry |= {
                "id": f"{letter}{message.position}.{index}",
                "message_id": message.message_id,
                "fingerprint": message.fingerprint,
                "position": message.position,
                "part": index,
                "speaker": message.role,
                "said_at": message.said_at.isoformat() if message.said_at else None,
                "context": context,
                "summary": _summary(entry["text"]),
            }
        entries += made
    return entries


def _text_entry(part: dict[str, Any]) -> dict[str, Any]:
    text = mask_injected(part["text"])
    return {
        "kind": "message",
        "label": "",
        "text": text,
        "char_start": 0,
        "total_chars": len(text),
        "injected": not text.replace(MASK, "").strip(),
        "tool": None,
    }


def _tool_entries(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The call, and its result once there is one; a quiz is kept whole, other results as an excerpt."""
    entries = [_tool_entry("tool_call", part, "input")]
    entries += [_tool_entry("tool_result", part, key) for key in ("output", "error") if key in part]
    return [entry for entry in entries if entry["total_chars"]]


def _tool_entry(kind: str, part: dict[str, Any], key: str) -> dict[str, Any]:
    value = part.get(key)
    text = "" if value is None else canonical_json(value)
    masked = mask_injected(text)
    quiz = is_quiz(part)
    return {
        "kind": kind,
        "label": part["name"],
        "text": masked if quiz else masked[:EXCERPT_CHARACTERS],
        "char_start": _starts_at(part, key),
        "total_chars": len(text),
        "injected": False,
        # Field by field a steer block cannot be masked in place: such a quiz is given as masked text only.
        "tool": _quiz(part) if quiz and not STEER_BLOCK.search(part_text(part)) else None,
    }


def _starts_at(part: dict[str, Any], key: str) -> int:
    """Where the value of ``key`` stands in the part's text, which holds the same words in other places too."""
    at = len(part["name"]) + len(" {")
    for name in sorted(TOOL_KEYS):
        if part.get(name) is None:
            continue
        at += len(f'"{name}":')
        if name == key:
            break
        at += len(canonical_json(part[name])) + len(",")
    return at


def is_quiz(part: dict[str, Any]) -> bool:
    """A tool part that asks the learner something: its output says whether the answer was correct."""
    output, given = part.get("output"), part.get("input")
    if isinstance(output, dict):
        return isinstance(output.get("correct"), bool)
    return output is None and isinstance(given, dict) and isinstance(given.get("question"), str)


def _quiz(part: dict[str, Any]) -> dict[str, Any]:
    return {"name": part["name"], "input": part.get("input"), "output": part.get("output")}


def _summary(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SUMMARY_CHARACTERS else flat[: SUMMARY_CHARACTERS - 1] + "…"


def overview(content: dict[str, Any]) -> dict[str, Any]:
    """What the worker reads first: every user and assistant text, one entry each, then the index of the rest."""
    spoken = [entry for entry in content["evidence"] if entry["kind"] == "message"]
    rest = [entry for entry in content["evidence"] if entry["kind"] != "message"]
    return {
        "chat": content["chat"],
        "range": content["range"],
        "overview": [_overview_line(entry) for entry in spoken],
        "index": [_index_line(entry) for entry in rest[:INDEX_ENTRIES]],
        "index_total": len(rest),
    }


def _overview_line(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "evidence_id": entry["id"],
        "position": entry["position"],
        "speaker": entry["speaker"],
        "said_at": entry["said_at"],
        "kind": entry["kind"],
        "text": entry["text"][:OVERVIEW_CHARACTERS],
        "context": entry["context"],
    }


def _index_line(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "evidence_id": entry["id"],
        "kind": entry["kind"],
        "label": entry["label"],
        "summary": entry["summary"],
        "position": entry["position"],
    }
