"""The four tools of the feature ``builtin:session-explore``.

They read one reference environment and write one thing: staging records of the batch's current attempt. A refusal is
an error text for the model that says what would be accepted; it is counted and never a write.
"""

import hashlib
import unicodedata
from collections import Counter
from typing import Any, NoReturn

from graphctx.models import Kind, Level

from ..bounds import CANDIDATES, CLAIM_CHARACTERS, EVIDENCE_IDS, STALENESS_CHARACTERS, WHY_CHARACTERS
from ..quotes import find_quote
from .admission import Place, marks, objection, unstorable
from .environment import INDEX_ENTRIES, SUMMARY_CHARACTERS, scrub
from .staging import EvidenceItem, Staging, StagingRecord, normalise_claim

SEARCH_DEFAULT, SEARCH_MAXIMUM = 20, 50
READ_DEFAULT, READ_MAXIMUM = 10, 50
READ_BYTES = 16 * 1024
EVIDENCE_KINDS = ("message", "tool_call", "tool_result")


class ToolRefused(Exception):
    """A call the tool does not accept; ``message`` says what it would accept."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ExploreTools:
    """The tools over one environment. ``staging`` is the only thing they write to."""

    def __init__(self, content: dict[str, Any], staging: Staging) -> None:
        self._entries: list[dict[str, Any]] = content["evidence"]
        self._by_id = {entry["id"]: entry for entry in self._entries}
        self._staging = staging
        rest = [entry["id"] for entry in self._entries if entry["kind"] != "message"]
        # What the overview and the head of the index show counts as offered from the start.
        self._offered = {entry["id"] for entry in self._entries if entry["kind"] == "message"} | set(
            rest[:INDEX_ENTRIES]
        )
        self.refusals = 0
        self.calls: Counter[str] = Counter()

    # --- reading -------------------------------------------------------------------------------------------------

    def search_evidence(
        self, query: str, kind: str | None = None, limit: int = SEARCH_DEFAULT, offset: int = 0
    ) -> dict[str, Any]:
        """Entries matching ``query``, best first; an empty query lists them in order.

        Returns ``{"results": [...], "total", "next_offset"}`` with ids, anchors, summaries and the matching snippet.
        """
        self.calls["search_evidence"] += 1
        if kind is not None and kind not in EVIDENCE_KINDS:
            self._refuse(f"kind must be one of {', '.join(EVIDENCE_KINDS)}, or left out; not {kind!r}")
        self._check_range("limit", limit, 1, SEARCH_MAXIMUM)
        self._check_range("offset", offset, 0, None)
        hits = self._ranked(query, kind)
        shown = hits[offset : offset + limit]
        self._offered.update(entry["id"] for entry, _ in shown)
        end = offset + len(shown)
        return {
            "results": [_search_result(entry, at) for entry, at in shown],
            "total": len(hits),
            "next_offset": end if end < len(hits) else None,
        }

    def _ranked(self, query: str, kind: str | None) -> list[tuple[dict[str, Any], int]]:
        terms = fold(query).split()
        hits = []
        for order, entry in enumerate(self._entries):
            if kind is not None and entry["kind"] != kind:
                continue
            text = fold(entry["text"])
            places = [text.find(term) for term in terms]
            found = [place for place in places if place >= 0]
            if terms and not found:
                continue
            weight = sum(min(text.count(term), 5) for term in terms)
            hits.append((-len(found), -weight, order, entry, min(found, default=0)))
        hits.sort(key=lambda hit: hit[:3])
        return [(entry, at) for *_, entry, at in hits]

    def read_evidence(
        self,
        evidence_id: str | None = None,
        char_offset: int = 0,
        from_: int | None = None,
        to: int | None = None,
        max_items: int = READ_DEFAULT,
    ) -> dict[str, Any]:
        """One entry from ``char_offset`` on, or the entries of the positions ``from_`` to ``to``.

        Returns ``{"items": [...], "unread": [...], "next"}``: at most ``max_items`` items and 16 KiB of text in UTF-8.
        An item that goes on says ``truncated`` and ``next_offset``; ``unread`` names what is left of its message, to be
        read by id; ``next`` is the position of the next message to read from, or None.
        """
        self.calls["read_evidence"] += 1
        self._check_range("max_items", max_items, 1, READ_MAXIMUM)
        if (evidence_id is None) == (from_ is None and to is None):
            self._refuse("give either evidence_id or the positions from and to, not both")
        if evidence_id is not None:
            entry = self._known(evidence_id)
            self._check_range("char_offset", char_offset, 0, len(entry["text"]))
            return self._read([entry], 1, char_offset)
        if from_ is None or to is None or from_ > to:
            self._refuse(f"from and to must both be positions with from ≤ to; not from={from_}, to={to}")
        return self._read([e for e in self._entries if from_ <= e["position"] <= to], max_items, 0)

    def _read(self, entries: list[dict[str, Any]], max_items: int, char_offset: int) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        room = READ_BYTES
        for entry in entries:
            if len(items) == max_items or (items and not room):
                break
            text = cut_bytes(entry["text"][char_offset:], room)
            if entry["text"][char_offset:] and not text and items:
                break
            room -= len(text.encode())
            self._offered.add(entry["id"])
            items.append(_item(entry, char_offset, text))
            if items[-1]["truncated"]:
                break
        unread = entries[len(items) :]
        begun = items[-1]["position"] if items else None
        later = [entry["position"] for entry in unread if entry["position"] != begun]
        return {
            "items": items,
            "unread": [entry["id"] for entry in unread if entry["position"] == begun],
            "next": later[0] if later else None,
        }

    # --- writing: staging only -----------------------------------------------------------------------------------

    def stage_candidate(
        self,
        kind: str,
        claim: str,
        why_useful: str,
        evidence_ids: list[str],
        staleness: str | None = None,
        understanding: str | None = None,
        quote: str | None = None,
    ) -> dict[str, Any]:
        """Stage one candidate; an identical second call answers with the same id and writes nothing."""
        self.calls["stage_candidate"] += 1
        self._refuse_after_finish()
        self._check_choice("kind", kind, Kind.values)
        if understanding is not None:
            self._check_choice("understanding", understanding, Level.values)
        claim = self._checked_text("claim", claim, CLAIM_CHARACTERS)
        why_useful = self._checked_text("why_useful", why_useful, WHY_CHARACTERS)
        staleness = self._checked_text("staleness", staleness, STALENESS_CHARACTERS) if staleness else ""
        if kind == Kind.WORKING_ASSUMPTION and not staleness:
            self._refuse("a working_assumption needs staleness: what would show that it no longer holds")
        places = self._quoted(self._evidence(evidence_ids), quote)
        self._refuse_if(objection(kind, understanding, places))
        record = StagingRecord(
            kind=kind,
            claim=claim,
            why_useful=why_useful,
            staleness=staleness,
            understanding=understanding,
            evidence=[EvidenceItem.of(entry, match) for entry, match in places],
            content_hash=_content_hash(kind, claim, evidence_ids),
            marks=marks(claim, places),
        )
        if not self._staging.holds(record) and self._staging.count >= CANDIDATES:
            self._refuse(f"at most {CANDIDATES} candidates per batch; finish_extraction now")
        return {"candidate_id": str(self._staging.add(record))}

    def finish_extraction(self, staged_count: int, reason: str = "") -> dict[str, Any]:
        """End the batch. ``staged_count`` must match; zero candidates need a reason."""
        self.calls["finish_extraction"] += 1
        self._refuse_after_finish()
        if staged_count != self._staging.count:
            self._refuse(f"staged_count must be {self._staging.count}, the number of candidates staged")
        reason = reason.strip()
        if not staged_count and not reason:
            self._refuse("with no candidate, reason must say why there is nothing to keep")
        if len(reason) > WHY_CHARACTERS:
            self._refuse(f"reason may have at most {WHY_CHARACTERS} characters")
        self._refuse_if(unstorable("reason", reason))
        self._staging.finish(reason)
        return {"ok": True}

    # --- checks --------------------------------------------------------------------------------------------------

    def _refuse(self, message: str) -> NoReturn:
        self.refusals += 1
        raise ToolRefused(message)

    def _refuse_if(self, reason: str) -> None:
        if reason:
            self._refuse(reason)

    def _refuse_after_finish(self) -> None:
        if self._staging.finished:
            self._refuse("the extraction is finished; nothing can be staged or finished again")

    def _check_range(self, name: str, value: int, low: int, high: int | None) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
            upper = f" to {high}" if high is not None else " or more"
            self._refuse(f"{name} must be {low}{upper}; not {value!r}")

    def _check_choice(self, name: str, value: str, allowed: list[str]) -> None:
        if value not in allowed:
            self._refuse(f"{name} must be one of {', '.join(allowed)}; not {value!r}")

    def _checked_text(self, name: str, value: str, maximum: int) -> str:
        text = value.strip() if isinstance(value, str) else ""
        if not 1 <= len(text) <= maximum:
            self._refuse(f"{name} must have 1 to {maximum} characters; it has {len(text)}")
        if "\x00" in text:
            self._refuse(f"{name} must not contain NUL characters")
        self._refuse_if(unstorable(name, text))
        return text

    def _known(self, evidence_id: str) -> dict[str, Any]:
        entry = self._by_id.get(evidence_id)
        if entry is None:
            self._refuse(f"there is no evidence {evidence_id!r}; ids come from the overview, search or read results")
        return entry

    def _evidence(self, evidence_ids: list[str]) -> list[dict[str, Any]]:
        if not isinstance(evidence_ids, list) or not 1 <= len(evidence_ids) <= EVIDENCE_IDS:
            self._refuse(f"evidence_ids must name 1 to {EVIDENCE_IDS} entries")
        if len(set(evidence_ids)) != len(evidence_ids):
            self._refuse("evidence_ids must be distinct")
        entries = [self._known(evidence_id) for evidence_id in evidence_ids]
        for entry in entries:
            if entry["id"] not in self._offered:
                self._refuse(f"evidence {entry['id']} was not offered; search for it or read it first")
            if entry["context"]:
                self._refuse(f"evidence {entry['id']} is read-only context and cannot be cited")
            if entry["injected"]:
                self._refuse(f"evidence {entry['id']} is injected context and cannot be cited")
        return entries

    def _quoted(self, entries: list[dict[str, Any]], quote: str | None) -> list[Place]:
        if quote is None:
            return [(entry, None) for entry in entries]
        self._refuse_if(unstorable("quote", quote))
        places = [(entry, find_quote(entry["text"], quote)) for entry in entries]
        if not any(match for _, match in places):
            self._refuse("the quote does not occur in the evidence; copy it verbatim from read_evidence")
        return places


EXPLORE_TOOL_NAMES = ("search_evidence", "read_evidence", "stage_candidate", "finish_extraction")


def fold(text: str) -> str:
    """A text as search compares it: one form per character, no case."""
    return unicodedata.normalize("NFKC", text).casefold()


def cut_bytes(text: str, maximum: int) -> str:
    """The longest beginning of ``text`` within ``maximum`` bytes of UTF-8; never splits a character."""
    encoded = text.encode()
    return text if len(encoded) <= maximum else encoded[:maximum].decode(errors="ignore")


def _search_result(entry: dict[str, Any], at: int) -> dict[str, Any]:
    start = max(0, at - SUMMARY_CHARACTERS // 3)
    return {
        "evidence_id": entry["id"],
        "kind": entry["kind"],
        "position": entry["position"],
        "speaker": entry["speaker"],
        "summary": entry["summary"],
        "snippet": " ".join(entry["text"][start : start + SUMMARY_CHARACTERS].split()),
        "anchor": _anchor(entry),
    }


def _item(entry: dict[str, Any], char_offset: int, text: str) -> dict[str, Any]:
    end = char_offset + len(text)
    return {
        "evidence_id": entry["id"],
        "kind": entry["kind"],
        "position": entry["position"],
        "part": entry["part"],
        "speaker": entry["speaker"],
        "said_at": entry["said_at"],
        "text": text,
        "char_start": char_offset,
        "char_end": end,
        "total_chars": entry["total_chars"],
        "truncated": end < len(entry["text"]),
        "next_offset": end if end < len(entry["text"]) else None,
        "context": entry["context"],
        "injected": entry["injected"],
        "tool": entry["tool"],
        "anchor": _anchor(entry),
    }


def _anchor(entry: dict[str, Any]) -> dict[str, Any]:
    # A client chooses the ids of its messages.
    return {"message_id": scrub(entry["message_id"]), "fingerprint": entry["fingerprint"], "part": entry["part"]}


def _content_hash(kind: str, claim: str, evidence_ids: list[str]) -> str:
    content = "\x1f".join([kind, normalise_claim(claim), *sorted(evidence_ids)])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
