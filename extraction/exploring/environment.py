"""The reference environment: an immutable snapshot of a batch, and the two ways a worker first sees it.

Built once when a batch starts; every tool reads only this. An evidence id is absolute: ``m12.0`` is part 0 of the
message at position 12, ``c12.1`` and ``r12.1`` are the call and the result of the tool part 1. Each entry resolves to
(message, fingerprint, part, character span), the span being in that part's text as ``coverage.view.part_text`` gives
it. Reasoning never enters: it is not in the transcript view. Every string passes through ``scrubbed``: what was injected
and what is secret is covered before anything is stored.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from django.db import connection

from coverage.models import Chat, Message
from coverage.view import TOOL_KEYS, canonical_json, part_text, transcript_view
from graphctx import fence

from ..claims.language import detect_language
from ..redaction import SECRET_MASK, redact

SUMMARY_CHARACTERS = 240
EXCERPT_CHARACTERS = 2048
OVERVIEW_CHARACTERS = 500
INDEX_ENTRIES = 50
NAMES = 20
NAME_CHARACTERS = 200
TOPIC_READ = 20_000
"""So much of a first message is looked through for what is to be covered in its beginning."""

COVERING = 1
"""What ``scrubbed`` covers, as a number that an environment records: raise it when more is covered. What was stored under another
one is covered again whenever it is read, as no stored environment changes."""

MASKS = fence.MASK + SECRET_MASK
"""What stands in place of what was injected and of what is secret."""
_WORD = re.compile(r"\w")

# The names of what was attached up to a position, in order, each once.
ATTACHED = """
SELECT name FROM (
    SELECT COALESCE(NULLIF(part->>'filename', ''), NULLIF(part->>'title', ''), part->>'url') AS name,
           min(position) AS position, min(place) AS place
    FROM coverage_message, jsonb_array_elements(parts) WITH ORDINALITY AS listed(part, place)
    WHERE chat_id = %s AND position <= %s AND role <> 'system'
      AND part->>'type' IN ('file', 'source-document', 'source-url')
    GROUP BY 1
) AS attached WHERE name NOT LIKE 'data:%%' ORDER BY position, place LIMIT %s
"""


def build(chat: Chat, messages: Sequence[Message], context: Iterable[Message] = ()) -> dict[str, Any]:
    """The environment's content as JSON for these messages of a chat, in transcript order.

    ``context`` messages come before them: read-only, marked, never citable.
    """
    entries = [entry for message in context for entry in _entries(message, context=True)]
    entries += [entry for message in messages for entry in _entries(message, context=False)]
    return {
        "covering": COVERING,
        "chat": _committed_context(chat, messages[-1].position, entries),
        "range": {"from": messages[0].position, "to": messages[-1].position},
        "evidence": entries,
    }


def readable(content: dict[str, Any]) -> dict[str, Any]:
    """A stored environment as a worker may read it: with everything covered that is covered today, spans as they were."""
    if content.get("covering") == COVERING:
        return content
    told = content["chat"]
    plain: dict[str, Any] = {name: scrub(told[name]) for name in ("title", "topic")}
    plain["documents"] = [scrub(str(name)) for name in told["documents"]]
    plain["settings"] = {name: scrub(str(value)) for name, value in told.get("settings", {}).items()}
    by_message = groupby(content["evidence"], key=lambda entry: entry["message_id"])
    entries = [entry for _, group in by_message for entry in _covered_again(list(group))]
    return content | {"chat": told | plain, "evidence": entries}


def _covered_again(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of one message, scrubbed; a quiz's fields are left out where its text now has something covered."""
    return [
        entry
        | {
            "label": scrub(entry["label"]),
            "text": text,
            "summary": _summary(text),
            "injected": entry["injected"] or _all_injected(text),
            "tool": entry["tool"] if text == entry["text"] else None,
            "quiz": entry.get("quiz", entry["tool"] is not None),
        }
        for entry, text in zip(entries, scrubbed(entry["text"] for entry in entries), strict=True)
    ]


def content_hash(content: dict[str, Any]) -> str:
    """blake2b, 128 bit, of the canonical JSON: equal environments have equal hashes."""
    return hashlib.blake2b(canonical_json(content).encode(), digest_size=16).hexdigest()


def scrubbed(texts: Iterable[str]) -> list[str]:
    """Texts that follow each other without what was injected into them and without secrets, each as long as before."""
    return [redact(text) for text in fence.masked(texts)]


def scrub(text: str) -> str:
    """One text by itself, as ``scrubbed``."""
    return scrubbed([text])[0]


def _committed_context(chat: Chat, last: int, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What is known of the chat as a whole: its title, how it began, its settings, what was attached, its language."""
    spoken = "\n".join(entry["text"] for entry in entries if entry["kind"] == "message")
    language = detect_language(spoken)
    return {
        "id": str(chat.pk),
        "title": scrub(chat.title),
        "topic": _topic(chat),
        "documents": [scrub(name)[:NAME_CHARACTERS] for name in _attached(chat, last)],
        "settings": _settings(chat),
        "language": None if language == "und" else language,
    }


def _settings(chat: Chat) -> dict[str, Any]:
    """Who the assistant was and how it was to think; what else a client stores is its own."""
    chosen = {key: chat.settings[key] for key in ("model", "thinking") if chat.settings.get(key) not in (None, "")}
    return {"source": chat.source} | {key: scrub(str(value)[:NAME_CHARACTERS]) for key, value in chosen.items()}


def _attached(chat: Chat, last: int) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(ATTACHED, [chat.pk, last, NAMES])
        return [name for (name,) in cursor.fetchall()]


def _topic(chat: Chat) -> str:
    first = (
        Message.objects.filter(chat=chat, role=Message.Role.USER, position__isnull=False).order_by("position").first()
    )
    if first is None:
        return ""
    texts = [part["text"] for part in transcript_view(first.role, first.parts)["parts"] if part["type"] == "text"]
    return scrub("\n".join(texts)[:TOPIC_READ])[:OVERVIEW_CHARACTERS]


def _entries(message: Message, *, context: bool) -> list[dict[str, Any]]:
    view = transcript_view(message.role, message.parts)
    # A block may begin in one part and end in another.
    texts = scrubbed(part_text(part) for part in view["parts"])
    entries: list[dict[str, Any]] = []
    for index, (part, text) in enumerate(zip(view["parts"], texts, strict=True)):
        made = [_text_entry(text)] if part["type"] == "text" else _tool_entries(part, text)
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


def _text_entry(text: str) -> dict[str, Any]:
    return {
        "kind": "message",
        "label": "",
        "text": text,
        "char_start": 0,
        "total_chars": len(text),
        "injected": _all_injected(text),
        "quiz": False,
        "tool": None,
    }


def _all_injected(text: str) -> bool:
    return fence.MASK in text and not _WORD.search(text)


def _tool_entries(part: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The call, and its result once there is one; a quiz is kept whole, other results as an excerpt.

    ``text`` is the part's text, scrubbed: each entry is a slice of it, and a quiz's fields are read from these slices.
    """
    slices = {key: _slice(part, key, text) for key in ("input", "output", "error") if part.get(key) is not None}
    quiz = is_quiz(part)
    # A block that runs through a quiz's fields leaves nothing that can be told apart: only its masked text is given.
    tool = _quiz(part, text, slices) if quiz and fence.MASK not in text else None
    return [
        {
            "kind": "tool_call" if key == "input" else "tool_result",
            "label": text[: len(part["name"])],
            "text": value if quiz else value[:EXCERPT_CHARACTERS],
            "char_start": start,
            "total_chars": len(value),
            "injected": _all_injected(value),
            "quiz": tool is not None,
            "tool": tool,
        }
        for key, (start, value) in slices.items()
    ]


def _slice(part: dict[str, Any], key: str, text: str) -> tuple[int, str]:
    start = _starts_at(part, key)
    return start, text[start : start + len(canonical_json(part[key]))]


def _quiz(part: dict[str, Any], text: str, slices: dict[str, tuple[int, str]]) -> dict[str, Any] | None:
    """The quiz's fields as far as they may be read; None when what is covered is not inside of one text."""
    if SECRET_MASK not in text:
        return {"name": part["name"], "input": part.get("input"), "output": part.get("output")}
    try:
        read = {key: json.loads(slices[key][1]) if key in slices else None for key in ("input", "output")}
    except ValueError:
        return None
    return {"name": text[: len(part["name"])], **read}


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
        "language": content["chat"].get("language"),
        "overview": [_overview_line(entry) for entry in spoken],
        "index": [_index_line(entry) for entry in rest[:INDEX_ENTRIES]],
        "index_total": len(rest),
        **({"document": content["document"]} if "document" in content else {}),
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
