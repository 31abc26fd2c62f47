"""How a claim stands to a proposition, by wording and guards alone. Similarity is not asked."""

from dataclasses import dataclass
from enum import StrEnum

from graphctx.models import Kind

from . import changes
from .guards import disagreements
from .lexicon import DECIDING, ENDED
from .reading import BARE, BE, SELF, Reading, Word, read, stem

# Told in the past or the future, a decision is the same decision.
NOT_OF_A_DECISION = ("tense",)
_DECIDING = frozenset(stem(word) for word in DECIDING) | DECIDING


class Relation(StrEnum):
    SAME = "same"
    REPLACES = "replaces"
    CONTRADICTS = "contradicts"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``relation`` of a later claim to an earlier one, and what decided it."""

    relation: Relation
    reason: str


def compare(claim: str, kind: str, other: str, other_kind: str) -> Comparison:
    """Compare a claim, said later, with a proposition. Pure."""
    new, old = read(claim), read(other)
    if new.words.isdisjoint(old.words):
        return Comparison(Relation.OTHER, "no word in common")
    deciding = kind == other_kind == Kind.DECISION
    ignored = NOT_OF_A_DECISION if deciding else ()
    found = disagreements(new, old, ignore=ignored)
    if same_wording(new, old, deciding=deciding):
        return _same_words(new, old, kind, other_kind, found)
    replaced = changes.replaces(new, old, deciding=deciding) if _may_replace(kind, other_kind) else None
    if replaced is not None:
        return Comparison(Relation.REPLACES, replaced)
    return Comparison(Relation.OTHER, next(iter(found.values()), "other words"))


def _same_words(new: Reading, old: Reading, kind: str, other_kind: str, found: dict[str, str]) -> Comparison:
    """The content words are the same ones: the guards decide."""
    reason = "; ".join(found.values())
    if not found:
        if kind == other_kind:
            return Comparison(Relation.SAME, "the same words, and all guards agree")
        return Comparison(Relation.OTHER, f"kind: {kind} against {other_kind}")
    if _may_replace(kind, other_kind):
        if _only_ended(new, old, found):
            return Comparison(Relation.REPLACES, "it no longer holds")
        if _is_opposite(new, old, found):
            return Comparison(Relation.CONTRADICTS, reason)
        replaced = changes.replaces(new, old, deciding=kind == Kind.DECISION)
        if replaced is not None:
            return Comparison(Relation.REPLACES, replaced)
    return Comparison(Relation.OTHER, reason)


def same_wording(one: Reading, two: Reading, *, deciding: bool = False) -> bool:
    """The same content words: each governed by the same preposition, and those without one in the same order."""
    left, right = _told(one, deciding=deciding), _told(two, deciding=deciding)
    if sorted((word.role, word.stem) for word in left) != sorted((word.role, word.stem) for word in right):
        return False
    return bool(left) and [w.stem for w in left if w.role == BARE] == [w.stem for w in right if w.role == BARE]


def _told(reading: Reading, *, deciding: bool) -> list[Word]:
    """The content words; of a decision without who took it and how that is told."""
    if not deciding:
        return list(reading.content)
    return [word for word in reading.content if word.stem not in _DECIDING and word.stem not in (SELF, BE)]


def _may_replace(kind: str, other_kind: str) -> bool:
    """Questions and lessons are answered or kept, never outdated; a wish does not outdate a fact."""
    apart = {Kind.OPEN_QUESTION, Kind.LESSON}
    if kind in apart or other_kind in apart:
        return False
    return kind == other_kind or Kind.PREFERENCE not in (kind, other_kind)


def _only_ended(new: Reading, old: Reading, found: dict[str, str]) -> bool:
    if ENDED not in new.tense or ENDED in old.tense or new.negation != old.negation:
        return False
    return found.keys() <= {"tense", "scope"} and new.tense - {ENDED} == old.tense


def _is_opposite(new: Reading, old: Reading, found: dict[str, str]) -> bool:
    """One denies what the other one says, and nothing else differs."""
    if "negation" not in found or (new.negation - old.negation) % 2 == 0:
        return False
    # "never" is "not" and "always" in one; nothing else of the quantifiers may differ.
    quantified = new.quantifiers == old.quantifiers
    return quantified and found.keys() <= {"negation", "scope"} and _scope_but_negation(new) == _scope_but_negation(old)


def _scope_but_negation(reading: Reading) -> list[tuple[str, str]]:
    return [place for place in reading.scope if place[0] != "not"]
