"""Later corrections within a chat win: a choice that the learner takes back is not staged."""

from extraction.claims.cues import rx
from extraction.claims.model import Draft, Turn
from extraction.claims.words import content_words

# "I changed my mind" is about the last choice, whatever words it used.
_CHANGED = rx(
    r"\bchanged? my mind\b|\bscratch that\b|\bon second thoughts?\b|\bforget what i (?:just )?said\b|\bi take (?:that|it) back\b",
    r"\b(?:anders überlegt|vergiss,? was ich|nehme ich zurück)\b",
    r"\bchangé d['’]avis\b|\boublie(?:z)? ce que j",
    r"\bhe cambiado de (?:opinión|idea)\b|\bpensándolo (?:mejor|bien)\b|\bolvida lo que\b",
    r"\bmudei de ideia\b|\bho cambiato idea\b",
)
# "No wait" may be about anything: it takes back what the same message or the same words chose.
_CORRECTED = rx(
    r"\bno,? wait\b|\bactually,? (?:no|not)\b|\bdoch nicht\b|\b(?:finalement|en fait),? non\b|\bmejor no\b",
)


def without_retracted(drafts: list[Draft], turns: list[Turn]) -> list[Draft]:
    """The drafts without the choices that a later sentence or message of the learner takes back."""
    gone: set[int] = set()
    for turn in turns:
        if turn.speaker != "user":
            continue
        changed = _CHANGED.search(turn.said)
        match = changed or _CORRECTED.search(turn.said)
        if match is None:
            continue
        before = [one for one in drafts if one.kind == "decision" and _is_before(one, turn, match.start())]
        taken = _meant(before, turn, any_words=changed is not None)
        if taken is not None:
            gone.add(id(taken))
    return [draft for draft in drafts if id(draft) not in gone]


def _is_before(draft: Draft, turn: Turn, at: int) -> bool:
    """Whether the draft was said before the character `at` of a message."""
    return draft.position < turn.position or (draft.position == turn.position and draft.order < at)


def _meant(before: list[Draft], turn: Turn, *, any_words: bool) -> Draft | None:
    """The choice that a message takes back: one in it, else the last one with its words, else the last one at all."""
    here = [draft for draft in before if draft.position == turn.position]
    shared = [draft for draft in before if draft.words & content_words(turn.said, draft.language)]
    for some in (here, shared, before if any_words else []):
        if some:
            return max(some, key=lambda draft: (draft.position, draft.order))
    return None
