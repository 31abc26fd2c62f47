"""The offline worker: deterministic rules over the text, driving the same four tools as every other worker."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from extraction.bounds import CANDIDATES, EVIDENCE_IDS
from extraction.claims.model import (
    NOT_YET_ENGAGED,
    Draft,
    Evidence,
    Part,
    Turn,
)
from extraction.claims.pipeline import find_claims
from extraction.claims.rank import chosen, why_useful
from extraction.exploring.tools import ToolRefused

_VOICES = {"user": "user", "assistant": "assistant", "document": "assistant"}
"""Who is read, and as whom: a document explains as an assistant does, and says nothing for the learner."""
_PAGE = 50

Item = dict[str, Any]


class Tools(Protocol):
    """What the worker needs of `extraction.exploring.tools.ExploreTools`."""

    def search_evidence(self, query: str, kind: str | None = ..., limit: int = ..., offset: int = ...) -> Item: ...

    def read_evidence(
        self,
        evidence_id: str | None = ...,
        char_offset: int = ...,
        from_: int | None = ...,
        to: int | None = ...,
        max_items: int = ...,
    ) -> Item: ...

    def stage_candidate(self, **fields: Any) -> Item: ...

    def finish_extraction(self, staged_count: int, reason: str = ...) -> Item: ...


class RulesWorker:
    """Reads every message of the batch to its end, stages what its rules find worth keeping, and finishes.

    The same environment always gives the same candidates in the same order.
    """

    name = "rules"
    version = "rules-3"

    def run(self, overview: dict[str, Any], tools: Tools, checkpoint: Callable[[], None]) -> None:
        """Raises whatever `checkpoint` raises; a refused candidate is left out, a refused `finish` fails the batch."""
        items = read_all(overview, tools, checkpoint)
        turns = turns_of(items)
        texts = texts_of(turns)
        found = find_claims(turns, overview.get("language"), checkpoint)
        if "document" in overview and any(text != text.upper() for text in texts.values()):
            found = [draft for draft in found if not _is_title(draft)]
        calls = calls_for(chosen(found), texts)
        if "document" in overview:
            calls = [_of_document(fields) for fields in calls]
        left_out = sum(1 for draft in found for _ in candidates(draft, texts)) - len(calls)
        staged: set[str] = set()
        for fields in calls:
            checkpoint()
            try:
                staged.add(tools.stage_candidate(**fields)["candidate_id"])
            except ToolRefused:
                continue
        checkpoint()
        tools.finish_extraction(len(staged), _reason(items, turns, len(staged), left_out))


def _is_title(draft: Draft) -> bool:
    """Whether a claim stands in capitals alone, as plain text marks its headings."""
    return all(one.quote == one.quote.upper() != one.quote.lower() for one in draft.evidence)


def _of_document(fields: dict[str, Any]) -> dict[str, Any]:
    """The call without a level: a text shows nothing of what its learner understands."""
    kept = {name: value for name, value in fields.items() if name != "understanding"}
    return kept | {"why_useful": "Stated in a document that the learner keeps."}


# --- reading


def read_all(overview: dict[str, Any], tools: Tools, checkpoint: Callable[[], None]) -> list[Item]:
    """Every item of the batch's range with its whole text, in order, read through the tools page by page."""
    first, last = overview["range"]["from"], overview["range"]["to"]
    items: dict[str, Item] = {}
    position: int | None = first
    while position is not None and position <= last:
        checkpoint()
        page = tools.read_evidence(from_=position, to=last, max_items=_PAGE)
        for item in page["items"]:
            items.setdefault(item["evidence_id"], item)
        for evidence_id in page.get("unread", ()):
            items.setdefault(evidence_id, tools.read_evidence(evidence_id=evidence_id)["items"][0])
        following = page["next"]
        position = following if following is not None and following > position else None
    for evidence_id in _listed(tools, set(items), first, last):
        items[evidence_id] = tools.read_evidence(evidence_id=evidence_id)["items"][0]
    whole = [_whole(item, tools) for item in items.values()]
    return sorted(whole, key=lambda item: (item["position"], item["part"], item["kind"], item["evidence_id"]))


def _listed(tools: Tools, known: set[str], first: int, last: int) -> Iterator[str]:
    """Ids in the range that the search lists and no page has shown."""
    offset: int | None = 0
    while offset is not None:
        page = tools.search_evidence("", limit=_PAGE, offset=offset)
        for entry in page["results"]:
            if entry["evidence_id"] not in known and first <= entry["position"] <= last:
                yield entry["evidence_id"]
        offset = page["next_offset"]


def _whole(item: Item, tools: Tools) -> Item:
    """The item with the rest of its text, where what was said or asked goes on."""
    if not (item["kind"] == "message" or _is_quiz(item)):
        return item
    pieces = [item["text"]]
    offset = item["next_offset"]
    while offset is not None:
        more = tools.read_evidence(evidence_id=item["evidence_id"], char_offset=offset)["items"][0]
        pieces.append(more["text"])
        following = more["next_offset"]
        offset = following if following is not None and following > offset else None
    return item | {"text": "".join(pieces)}


def _is_quiz(item: Item) -> bool:
    """Whether the item is a call or result of an answered quiz."""
    output = (item.get("tool") or {}).get("output")
    return isinstance(output, dict) and isinstance(output.get("correct"), bool)


# --- from items to turns


def turns_of(items: list[Item]) -> list[Turn]:
    """The messages that may be cited, oldest first; context, injected text and other tools' output are left out."""
    citable = [item for item in items if not item["context"] and not item["injected"] and item["speaker"] in _VOICES]
    turns: list[Turn] = []
    for position in sorted({item["position"] for item in citable}):
        here = [item for item in citable if item["position"] == position]
        parts = tuple(part for item in here if (part := _part(item, here)) is not None)
        if parts:
            turns.append(Turn(position, _VOICES[here[0]["speaker"]], here[0]["said_at"], parts))
    return turns


def _part(item: Item, here: list[Item]) -> Part | None:
    """A text, or an answered quiz with the call that asked it; None for everything else."""
    if item["kind"] == "message":
        return Part(item["evidence_id"], item["text"])
    if item["kind"] != "tool_result" or not _is_quiz(item):
        return None
    call = next((one for one in here if one["kind"] == "tool_call" and one["part"] == item["part"]), None)
    if call is None:
        return Part(item["evidence_id"], item["text"], item["tool"])
    return Part(item["evidence_id"], item["text"], item["tool"], call["evidence_id"], call["text"])


def texts_of(turns: list[Turn]) -> dict[str, str]:
    """Each evidence id's whole text."""
    texts: dict[str, str] = {}
    for turn in turns:
        for part in turn.parts:
            texts[part.evidence_id] = part.text
            if part.call_id is not None:
                texts[part.call_id] = part.call_text
    return texts


# --- from drafts to tool calls


def calls_for(drafts: list[Draft], texts: dict[str, str]) -> list[dict[str, Any]]:
    """At most `CANDIDATES` calls: for every draft one that shows its level, and the others while there is room."""
    calls = [(draft, made) for draft in drafts if (made := list(candidates(draft, texts)))]
    room = max(0, CANDIDATES - len(calls))
    chosen: list[dict[str, Any]] = []
    for draft, made in calls:
        main = next((call for call in made if call.get("understanding") == draft.understanding), made[-1])
        others = [call for call in made if call is not main][:room]
        room -= len(others)
        chosen += [call for call in made if call is main or call in others]
    return chosen[:CANDIDATES]


def candidates(draft: Draft, texts: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The `stage_candidate` calls of one draft: one per quote and level, with every item that holds it word for word.

    Only quotes that stand in their evidence are used.
    """
    by_quote: dict[tuple[str, str | None], list[Evidence]] = {}
    for evidence in draft.evidence:
        if evidence.quote and evidence.quote in texts.get(evidence.evidence_id, ""):
            level = evidence.level or draft.understanding
            by_quote.setdefault((evidence.quote, level), []).append(evidence)
    for (quote, level), places in by_quote.items():
        shown = draft.shown if level == draft.understanding != NOT_YET_ENGAGED else ()
        ids = [places[0].evidence_id, *shown, *(place.evidence_id for place in places)]
        ids += [one for place in places for one in place.also]
        fields = {
            "kind": draft.kind,
            "claim": draft.claim,
            "why_useful": why_useful(draft, level),
            "evidence_ids": list(dict.fromkeys(ids))[:EVIDENCE_IDS],
            "quote": quote,
        }
        if draft.staleness:
            fields["staleness"] = draft.staleness
        if level:
            fields["understanding"] = level
        yield fields


def _reason(items: list[Item], turns: list[Turn], staged: int, left_out: int) -> str:
    """Why the batch ends with what it has: what was read, and what was left out or why nothing lasts."""
    said = Counter(turn.speaker for turn in turns)
    read = f"{len(turns)} messages read ({said['user']} of the learner, {said['assistant']} of the assistant)"
    if any(item["speaker"] == "document" for item in items):
        read = f"{len(turns)} {'part' if len(turns) == 1 else 'parts'} of the document read"
    empty = len({item["position"] for item in items if not item["context"]} - {turn.position for turn in turns})
    if empty:
        read += f", {empty} more with nothing to read"
    if staged and left_out:
        return f"kept the {staged} best of {staged + left_out} candidates found; {read}"
    if staged:
        return read
    if not turns:
        return "nothing lasting: no text of the learner or the assistant"
    questions = sum(turn.said.count("?") + turn.said.count("？") for turn in turns)
    return f"nothing lasting: {read}, {questions} questions, no statement that stands by itself"
