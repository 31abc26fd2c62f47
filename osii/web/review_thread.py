"""A candidate's evidence where it was said: the cited messages as they were read, quotes marked, and what stands around.

The cited text is the reference environment's, so a reviewer sees what the worker saw, even when the message changed since.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from coverage.models import Message
from coverage.view import part_text, transcript_view
from extraction.exploring.environment import scrubbed
from extraction.models import Candidate, ReferenceEnvironment

BEFORE, AFTER = 2, 1
"""Messages shown on each side of a cited one."""

AROUND_QUOTE = 600
NEIGHBOUR_CHARACTERS = 400
NEIGHBOUR_PARTS = 4
READ_FOR_COVERING = 4000
"""So much of a neighbour's part is looked through for what is to be covered in its beginning."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text; ``kind`` is text, mark (quoted) or cut (left out: ``text`` is how many characters)."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One part of a message. ``label`` names a tool; ``whole`` means that the part is cited without a quote."""

    pieces: list[Piece]
    label: str = ""
    whole: bool = False


@dataclass(slots=True)
class Line:
    """One message. ``state`` is "" while the message stands as it was read, else "changed" or "gone"."""

    position: int
    speaker: str
    passages: list[Passage]
    cited: bool
    state: str = ""
    left_out: int = 0  # parts of it that are not shown
    skipped: int = 0  # messages between this one and the one shown before it


def thread(candidate: Candidate) -> list[Line]:
    """The cited messages, or parts of a document, and their neighbours in order: three queries at most, whatever is cited."""
    if candidate.batch.document_id:
        return _in_document(candidate)
    chat_id = candidate.batch.chat_id
    entries = _entries(candidate)
    items = _by_message(candidate.evidence)
    standing = {
        message.message_id: message
        for message in Message.objects.filter(chat=chat_id, message_id__in=items, position__isnull=False).only(
            "message_id", "position", "fingerprint"
        )
    }
    lines = [_cited(cited, entries.get(key, []), standing.get(key)) for key, cited in items.items()]
    lines += _neighbours(chat_id, {message.position for message in standing.values()})
    lines.sort(key=lambda line: (line.position, not line.cited))
    for before, after in pairwise(lines):
        after.skipped = max(0, after.position - before.position - 1)
    return lines


def _in_document(candidate: Candidate) -> list[Line]:
    """The cited parts and those beside them, as they were read."""
    environment = ReferenceEnvironment.objects.filter(pk=candidate.batch_id).first()
    parts = {entry["position"]: entry for entry in environment.content["evidence"]} if environment else {}
    cited: dict[int, list[Mapping[str, Any]]] = {}
    for item in candidate.evidence:
        cited.setdefault(item["position"], []).append(item)
    near = {beside for at in cited for beside in range(at - BEFORE, at + AFTER + 1) if beside in parts}
    lines = []
    for at in sorted(near | cited.keys()):
        items = cited.get(at, [])
        passages = [_passage(parts[at], items)] if at in parts else [_kept(item) for item in items]
        lines.append(Line(at, "document", passages, cited=bool(items)))
    return lines


def _entries(candidate: Candidate) -> dict[str, list[Mapping[str, Any]]]:
    """The environment's entries by message id."""
    environment = ReferenceEnvironment.objects.filter(pk=candidate.batch_id).first()
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in environment.content["evidence"] if environment else ():
        found.setdefault(entry["message_id"], []).append(entry)
    return found


def _by_message(evidence: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for item in evidence:
        grouped.setdefault(item.get("message_id", ""), []).append(item)
    return grouped


def _cited(items: list[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]], now: Message | None) -> Line:
    by_id: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        by_id.setdefault(item["id"], []).append(item)
    cited = {index for index, entry in enumerate(entries) if entry["id"] in by_id}
    near = [index for index in range(len(entries)) if {index - 1, index, index + 1} & cited]
    passages = [_passage(entries[index], by_id.pop(entries[index]["id"], [])) for index in near]
    # What the environment does not hold is shown by what the candidate itself keeps of it.
    passages += [_kept(item) for rest in by_id.values() for item in rest]
    state = "gone" if now is None else "changed" if now.fingerprint != items[0].get("fingerprint") else ""
    position = items[0]["position"] if now is None else now.position
    left_out = len(entries) - len(near)
    return Line(position, items[0]["speaker"], passages, cited=True, state=state, left_out=left_out)


def _passage(entry: Mapping[str, Any], cited: Sequence[Mapping[str, Any]]) -> Passage:
    """An entry with its quotes marked; one that is not cited is only the setting."""
    text, starts = entry["text"], entry["char_start"]
    spans = [(item["char_start"] - starts, item["char_end"] - starts) for item in cited if item["quote"]]
    spans = _joined([(max(0, start), min(len(text), end)) for start, end in spans])
    if not spans:
        return Passage(_clipped(text, AROUND_QUOTE * 2 if cited else NEIGHBOUR_CHARACTERS), entry["label"], bool(cited))
    return Passage(_marked(text, spans), entry["label"])


def _kept(item: Mapping[str, Any]) -> Passage:
    kind = "mark" if item["quote"] else "text"
    return Passage([Piece(kind, item["quote"] or item["excerpt"])], whole=not item["quote"])


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, overlapping and touching ones made one; empty ones left out."""
    joined: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _marked(text: str, spans: Sequence[Span]) -> list[Piece]:
    """The text around the spans, with what lies farther off cut."""
    windows = _joined((max(0, start - AROUND_QUOTE), min(len(text), end + AROUND_QUOTE)) for start, end in spans)
    pieces: list[Piece] = []
    at = 0
    for first, last in windows:
        pieces += _cut(first - at)
        at = first
        for start, end in (span for span in spans if first <= span[0] < last):
            pieces += _text(text[at:start])
            pieces.append(Piece("mark", text[start:end]))
            at = end
        pieces += _text(text[at:last])
        at = last
    return pieces + _cut(len(text) - at)


def _clipped(text: str, most: int) -> list[Piece]:
    return _text(text[:most]) + _cut(len(text) - most)


def _text(text: str) -> list[Piece]:
    return [Piece("text", text)] if text else []


def _cut(characters: int) -> list[Piece]:
    return [Piece("cut", f"{characters:,}")] if characters > 0 else []


def _neighbours(chat_id: Any, cited: set[int]) -> list[Line]:
    wanted = {near for position in cited for near in range(position - BEFORE, position + AFTER + 1)} - cited
    messages = Message.objects.filter(chat=chat_id, position__in=wanted).order_by("position")
    return [_setting(message) for message in messages]


def _setting(message: Message) -> Line:
    """A neighbour, shortened: what was injected and what is secret stays covered, as it was for the worker."""
    parts = transcript_view(message.role, message.parts)["parts"]
    shown = parts[:NEIGHBOUR_PARTS]
    texts = scrubbed(part_text(part)[:READ_FOR_COVERING] for part in shown)
    passages = [
        Passage(_clipped(text, NEIGHBOUR_CHARACTERS), "" if part["type"] == "text" else part["name"])
        for part, text in zip(shown, texts, strict=True)
    ]
    return Line(message.position, message.role, passages, cited=False, left_out=len(parts) - len(shown))
