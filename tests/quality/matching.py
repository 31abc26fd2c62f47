"""Which staged claims are right: strict, one claim for one label, and what is left over is wrong."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from extraction.exploring.staging import StagingRecord, normalise_claim
from tests.quality.excerpts import Excerpt, Label

# Whose words these are matters: what an assistant says is no choice and no taste of the learner.
_OWN = ("decision", "preference")


@dataclass(frozen=True)
class Claim:
    """What was staged, once per kind and text: the level is that of the latest evidence, in message order."""

    kind: str
    text: str
    level: str | None
    speakers: frozenset[str]


@dataclass(frozen=True)
class Judged:
    """One excerpt's claims and labels: hits, false claims with the reason, missed labels, and claims that count for nothing.

    `other_kind` holds the false claims that would have hit a missed label with another kind or level.
    """

    excerpt: Excerpt
    hits: tuple[tuple[Claim, Label], ...]
    false: tuple[tuple[Claim, str], ...]
    missed: tuple[Label, ...]
    neutral: tuple[Claim, ...]
    other_kind: tuple[tuple[Claim, Label], ...]


def claims_of(records: Iterable[StagingRecord]) -> list[Claim]:
    """The claims in these records, in their order; records of equal kind and normalised text are one claim."""
    by_identity: dict[tuple[str, str], list[StagingRecord]] = {}
    for record in records:
        by_identity.setdefault((record.kind, normalise_claim(record.claim)), []).append(record)
    made = []
    for same in by_identity.values():
        latest = max(same, key=lambda record: max(item.position for item in record.evidence))
        speakers = frozenset(item.speaker for record in same for item in record.evidence)
        made.append(Claim(latest.kind, latest.claim, latest.understanding, speakers))
    return made


def judge(excerpt: Excerpt, claims: list[Claim]) -> Judged:
    """Forbidden claims first, then as many hits as one-to-one pairing allows, then what is acceptable; the rest is false."""
    false = [(claim, reason) for claim in claims if (reason := _forbidden(claim, excerpt.forbidden)) is not None]
    open_claims = [claim for claim in claims if claim not in {one for one, _ in false}]
    hits = paired(open_claims, excerpt.expected)
    rest = [claim for claim in open_claims if claim not in hits]
    neutral = paired(rest, excerpt.acceptable)
    false += [(claim, "not labelled") for claim in rest if claim not in neutral]
    missed = tuple(label for label in excerpt.expected if label not in hits.values())
    bare = {replace(label, kinds=(), level=None): label for label in missed}
    near = paired([claim for claim, _ in false], tuple(bare))
    return Judged(
        excerpt,
        tuple(hits.items()),
        tuple(false),
        missed,
        tuple(neutral),
        tuple((claim, bare[label]) for claim, label in near.items()),
    )


def paired(claims: list[Claim], labels: tuple[Label, ...]) -> dict[Claim, Label]:
    """The largest pairing of claims with labels they match, each at most once (augmenting paths)."""
    owner: dict[int, Claim] = {}

    def place(claim: Claim, tried: set[int]) -> bool:
        for number, label in enumerate(labels):
            if number in tried or not matches(claim, label):
                continue
            tried.add(number)
            if number not in owner or place(owner[number], tried):
                owner[number] = claim
                return True
        return False

    for claim in claims:
        place(claim, set())
    return {claim: labels[number] for number, claim in sorted(owner.items())}


def matches(claim: Claim, label: Label) -> bool:
    """Whether the claim has the label's kind and level, all of its words and none of those it must lack."""
    if label.kinds and claim.kind not in label.kinds:
        return False
    if claim.kind in _OWN and "user" not in claim.speakers:
        return False
    if label.level is not None and claim.level != label.level:
        return False
    text = folded(claim.text)
    return all(_pattern(word).search(text) for word in label.has) and not any(
        _pattern(word).search(text) for word in label.lacks
    )


def _forbidden(claim: Claim, labels: tuple[Label, ...]) -> str | None:
    return next((label.why for label in labels if matches(claim, label)), None)


def folded(text: str) -> str:
    """A text as labels are compared: one form per character, no case, plain apostrophes and hyphens, single spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub("[‐‑]", "-", re.sub("[’‘`]", "'", plain)).split())


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Whole words only, unless the word ends in `*`."""
    ways = []
    for way in word.split("|"):
        stem = way.removesuffix("*")
        ways.append(rf"(?<!\w){re.escape(folded(stem))}" + ("" if way.endswith("*") else r"(?!\w)"))
    return re.compile("|".join(ways))
