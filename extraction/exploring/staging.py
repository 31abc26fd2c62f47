"""Staging: flat candidate records of one attempt at a batch, and how a claim is identified."""

import hashlib
import re
import unicodedata
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol
from uuid import UUID

from django.db import IntegrityError, transaction

from ..models import Batch, Candidate
from ..quotes import Match
from .environment import EXCERPT_CHARACTERS, MASKS

_READABLE = re.compile(f"[^{MASKS}]+")


def _excerpt(text: str) -> tuple[int, int]:
    """The longest stretch of a text with nothing covered in it, bounded: it stands word for word in the chat as well."""
    spans = [match.span() for match in _READABLE.finditer(text)] or [(0, 0)]
    start, end = max(spans, key=lambda span: span[1] - span[0])
    return start, min(end, start + EXCERPT_CHARACTERS)


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One piece of evidence, resolved by the host: where it stands and what it says there.

    ``char_start`` and ``char_end`` are characters of the part's text as ``coverage.view.part_text`` gives it.
    """

    id: str
    kind: str
    message_id: str
    fingerprint: str
    position: int
    part: int
    char_start: int
    char_end: int
    quote: str | None
    quote_match: str
    excerpt: str
    speaker: str
    said_at: str | None

    @classmethod
    def of(cls, entry: dict[str, Any], match: Match | None) -> "EvidenceItem":
        """The item for an environment entry, narrowed to the quote when there is one, else to what is readable of it."""
        start, end = (match.start, match.end) if match else _excerpt(entry["text"])
        text = entry["text"][start:end]
        return cls(
            id=entry["id"],
            kind=entry["kind"],
            message_id=entry["message_id"],
            fingerprint=entry["fingerprint"],
            position=entry["position"],
            part=entry["part"],
            char_start=entry["char_start"] + start,
            char_end=entry["char_start"] + end,
            quote=text if match else None,
            quote_match=match.how if match else "none",
            excerpt=text[:EXCERPT_CHARACTERS],
            speaker=entry["speaker"],
            said_at=entry["said_at"],
        )


@dataclass(frozen=True, slots=True)
class StagingRecord:
    """What one accepted ``stage_candidate`` call says."""

    kind: str
    claim: str
    why_useful: str
    staleness: str
    understanding: str | None
    evidence: list[EvidenceItem]
    content_hash: str
    # What a reader should know of it; see extraction/exploring/admission.py
    marks: list[str] = field(default_factory=list)


class Staging(Protocol):
    """Where the tools put records."""

    finished: bool

    @property
    def count(self) -> int: ...

    def holds(self, record: StagingRecord) -> bool: ...

    def add(self, record: StagingRecord) -> UUID: ...

    def finish(self, reason: str) -> None: ...


class BatchStaging:
    """Staging of one attempt at a batch, each record a row as soon as it is accepted.

    A row belongs to its attempt: whatever a lost or failed attempt wrote is never merged.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._ids: dict[str, UUID] = {}
        self.finished = False
        self.reason = ""

    @property
    def count(self) -> int:
        return len(self._ids)

    def holds(self, record: StagingRecord) -> bool:
        return record.content_hash in self._ids

    def add(self, record: StagingRecord) -> UUID:
        """Write the record; the id of the one already there when it is the same."""
        if record.content_hash not in self._ids:
            self._ids[record.content_hash] = self._insert(record)
        return self._ids[record.content_hash]

    def _insert(self, record: StagingRecord) -> UUID:
        key = {"batch": self._batch, "attempt": self._batch.attempt, "content_hash": record.content_hash}
        values = asdict(record) | {"order": len(self._ids) + 1}
        try:
            with transaction.atomic():
                return Candidate.objects.create(**values, batch=self._batch, attempt=self._batch.attempt).pk
        except IntegrityError:
            existing = Candidate.objects.filter(**key).first()
            if existing is None:
                raise
            return existing.pk

    def finish(self, reason: str) -> None:
        self.finished = True
        self.reason = reason


def normalise_claim(claim: str) -> str:
    """A claim as identity compares it: one form per character, no case, single spaces, no final stop."""
    text = " ".join(unicodedata.normalize("NFKC", claim).casefold().split())
    return text.strip("\"'“”„»«").rstrip(".!。").strip()


def claim_identity(claim: str) -> str:
    """128-bit blake2b of the normalised claim: the same claim is the same proposition."""
    return hashlib.blake2b(normalise_claim(claim).encode(), digest_size=16).hexdigest()
