"""From all drafts of a batch to the few that are staged: one per claim, the best fifty, with their reasons."""

import re

from extraction.bounds import CANDIDATES
from extraction.claims.model import (
    ACCEPTED,
    NOT_YET_ENGAGED,
    RESISTED,
    SHAKY,
    SOLID,
    Draft,
)
from extraction.claims.words import normal_form
from extraction.claims.worth import KEEP_FROM, worth

KIND_SCORE = {
    "decision": 6.0,
    "constraint": 5.5,
    "preference": 5.5,
    "lesson": 5.0,
    "open_question": 5.0,
    "working_assumption": 4.5,
    "fact": 2.0,
}
LEVEL_SCORE = {SOLID: 2.5, SHAKY: 2.5, RESISTED: 2.5, ACCEPTED: 1.0, NOT_YET_ENGAGED: 0.0}

WHY = {
    "preference": "A lasting wish of the learner: later chats can follow it without asking.",
    "decision": "A choice the learner made: later chats can build on it and need not open it again.",
    "constraint": "A limit to check every later proposal against.",
    "working_assumption": "Later answers rest on it, and it may turn out wrong: check it before building further.",
    "open_question": "Still unanswered: a later chat can pick it up where it was left.",
    "lesson": "Learned from what happened: it can keep the same mistake from being made again.",
}
WHY_FACT = {
    ("quiz", SOLID): "Answered right in a quiz: later teaching can build on it.",
    ("quiz", SHAKY): "Answered wrong in a quiz: worth teaching and asking again.",
    ("explanation", SOLID): "Explained, and shown to be understood: later teaching can build on it.",
    ("explanation", SHAKY): "Explained, but the learner is unsure of it: worth another explanation.",
    ("explanation", RESISTED): "Explained, but the learner objects: needs another way of explaining it.",
    ("explanation", ACCEPTED): "Explained and taken in: later teaching can refer to it.",
    ("explanation", NOT_YET_ENGAGED): "Explained in this chat, not yet checked: a later lesson can ask about it.",
    ("statement", SOLID): "Stated by the learner: later chats need not ask for it again.",
    ("statement", SHAKY): "The learner names a difficulty: later teaching can target it.",
}
STALENESS = {
    "working_assumption": "Holds until it is confirmed or refuted; it was said as an assumption, not as a known fact.",
    "open_question": "Ends when somebody answers it.",
}

_DEFINES = re.compile(
    r"\b(?:is|are) (?:an?|the|called)\b|\bmeans\b|\bconsists? of\b| est une? | ist (?:ein|eine|der|die|das) | es una? |とは|是",
    re.IGNORECASE,
)
_CAUSES = re.compile(
    r"\b(?:because|so that|leads? to|causes?|therefore|which is why|weil|porque|parce que|damit)\b|ため|因为",
    re.IGNORECASE,
)
_BEST_LENGTH = range(40, 201)


def score(draft: Draft) -> float:
    """How much a draft is worth keeping against the others of its batch."""
    value = KIND_SCORE[draft.kind] + LEVEL_SCORE.get(draft.understanding or "", 0.0)
    if draft.origin == "quiz":
        value += 1.5
    if draft.origin == "statement" and draft.kind == "fact":
        value += 1.5
    if draft.origin == "explanation":
        value += worth(draft.claim, draft.language)
    value += 0.6 * bool(_DEFINES.search(draft.claim)) + 0.4 * bool(_CAUSES.search(draft.claim))
    value += 0.3 * any(sign.isdigit() for sign in draft.claim)
    return value + 0.4 * (len(draft.claim) in _BEST_LENGTH)


def worth_keeping(draft: Draft) -> bool:
    """Whether an explained fact says something general, or the learner showed that it mattered."""
    if draft.origin != "explanation" or draft.understanding in {SOLID, SHAKY, RESISTED}:
        return True
    return worth(draft.claim, draft.language) >= KEEP_FROM


def merged(drafts: list[Draft]) -> list[Draft]:
    """One draft per kind and normal form. Later evidence joins the first; the latest level that says something wins."""
    kept: dict[tuple[str, str], Draft] = {}
    for draft in drafts:
        key = (draft.kind, normal_form(draft.claim))
        first = kept.setdefault(key, draft)
        if first is draft:
            continue
        first.evidence += [one for one in draft.evidence if one not in first.evidence]
        if draft.understanding not in (None, NOT_YET_ENGAGED):
            first.understanding = draft.understanding
            first.shown = draft.shown or tuple(one.evidence_id for one in draft.evidence)
        if draft.origin == "quiz":
            first.origin = "quiz"
    return list(kept.values())


def why_useful(draft: Draft, level: str | None = None) -> str:
    """The reason to keep it at this level (its own when None), in one sentence."""
    if draft.kind != "fact":
        return WHY[draft.kind]
    level = level or draft.understanding or NOT_YET_ENGAGED
    return WHY_FACT.get((draft.origin, level), WHY_FACT["explanation", level])


def worthy(drafts: list[Draft]) -> list[Draft]:
    """One draft per claim that is worth keeping, scores and staleness filled in."""
    unique = [draft for draft in merged(drafts) if worth_keeping(draft)]
    for draft in unique:
        draft.score = score(draft)
        draft.staleness = draft.staleness or STALENESS.get(draft.kind)
    return unique


def chosen(drafts: list[Draft], limit: int = CANDIDATES) -> list[Draft]:
    """The best of `worthy` drafts, in the order in which they were said."""
    best = sorted(drafts, key=lambda draft: (-draft.score, draft.position, draft.order))[:limit]
    return sorted(best, key=lambda draft: (draft.position, draft.order, draft.kind, draft.claim))
