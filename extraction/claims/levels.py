"""How well a fact sits: read from what the learner said next, from restatements, and from quizzes."""

import re
from dataclasses import dataclass

from extraction.claims.cues import cues_for, matches, starts
from extraction.claims.language import detect_language
from extraction.claims.model import ACCEPTED, RESISTED, SHAKY, SOLID, Draft, Evidence, Turn
from extraction.claims.segment import sentences
from extraction.claims.words import content_words, negated, numbers

CONFIRMED = "confirmed"
CORRECTED = "corrected"

# An acceptance is short: a long answer speaks about something of its own.
_ACCEPT_WORDS = 16
_ACCEPT_CHARS = 110


# How many explained facts a message can react to: more than any batch of usual size holds.
_LOOK_BACK = 500
_CLAUSE_END = re.compile(
    r"[,;:，。；、]| (?:but|when|because|although|if|aber|wenn|weil|pero|cuando|porque|mais|quand|parce) "
)
# The words of a cue itself, which say nothing about its object.
_CUE_WORDS = (
    "mix mixed mixing up confuse confused confusing get got keep forgetting believe agree think don't sure wrong right lost unsure stuck unclear i'm i quite really still always keeps"
).split()


@dataclass(frozen=True)
class Reaction:
    """What one sentence of the learner says about what was just explained; `words` are what it is about."""

    level: str
    words: frozenset[str]


def verdict_on(turns: list[Turn], index: int, fallback: str) -> str | None:
    """How the assistant's next message takes the statement at `index`: confirmed, corrected or neither (None)."""
    if index + 1 >= len(turns) or turns[index + 1].speaker != "assistant":
        return None
    said = turns[index + 1].said.lstrip(" *_#>\n")
    cues = cues_for(detect_language(said, fallback))
    if starts(cues.deny_start, said):
        return CORRECTED
    return CONFIRMED if starts(cues.confirm_start, said) else None


def reactions(text: str, fallback: str) -> list[Reaction]:
    """The reactions in a message of the learner, in order. Questions are none."""
    language = detect_language(text, fallback)
    cues = cues_for(language)
    found: list[Reaction] = []
    for sentence in sentences(text, language):
        said = sentence.text
        if said.endswith(("?", "？", "؟")):
            continue
        if matches(cues.resist, said):
            found.append(Reaction(RESISTED, _besides(cues.resist, said, language)))
        elif matches(cues.unsure, said):
            found.append(Reaction(SHAKY, _besides(cues.unsure, said, language)))
        elif matches(cues.accept, said) and len(said) <= _ACCEPT_CHARS and len(said.split()) <= _ACCEPT_WORDS:
            found.append(Reaction(ACCEPTED, frozenset()))
    return found


def _besides(cue: re.Pattern[str] | None, said: str, language: str) -> frozenset[str]:
    """What a doubt is about: the words of its clause after the cue, else those of the whole sentence without it."""
    match = cue.search(said) if cue is not None else None
    if cue is None or match is None:
        return content_words(said, language)
    clause = _CLAUSE_END.split(said[match.end() :].lstrip(" ,"), maxsplit=1)[0]
    inside = content_words(match.group(), language) - content_words(" ".join(_CUE_WORDS), language)
    return (content_words(clause, language) | inside) or content_words(cue.sub(" ", said), language)


def _about(facts: list[Draft], words: frozenset[str]) -> list[Draft]:
    """The facts that a doubt is about: those that share most with it; all of a short list when it names nothing."""
    if not words:
        return facts if len(facts) <= 2 else []
    shared = [len(fact.words & words) for fact in facts]
    best = max(shared, default=0)
    if best * 4 < len(words) or (best == 1 and (shared.count(1) > 2 or len(words) > 3)):
        return []
    return [fact for fact, count in zip(facts, shared, strict=True) if count == best and count]


def react(facts: list[Draft], disputed: list[Draft], turn: Turn, fallback: str) -> None:
    """Set the levels of the facts just explained by the learner's answer to them. Doubt outweighs acceptance.

    `disputed` are the facts that the explanation answers an objection to: accepting it accepts them.
    """
    found = reactions(turn.said, fallback)
    said = tuple(part.evidence_id for part in turn.parts if part.quiz is None)
    facts = facts[-_LOOK_BACK:]
    doubts = [reaction for reaction in found if reaction.level != ACCEPTED]
    if not doubts and found:
        for fact in [*facts, *disputed]:
            fact.understanding, fact.shown = ACCEPTED, said
    for doubt in doubts:
        for fact in _about(facts, doubt.words):
            fact.understanding, fact.shown = doubt.level, said


def same_matter(fact: Draft, text: str, words: frozenset[str], language: str) -> bool:
    """Whether a sentence says what the fact says: most words shared, same numbers, same polarity."""
    shared = len(fact.words & words)
    if shared < 3 or shared < 0.6 * len(words) or shared < 0.5 * len(fact.words):
        return False
    if negated(text, language) != negated(fact.claim, fact.language):
        return False
    return numbers(text) <= numbers(fact.claim)


def restate(facts: list[Draft], turn: Turn, fallback: str, verdict: str | None) -> None:
    """Earlier facts that the learner now says in their own words become solid, unless the answer corrects them."""
    if verdict == CORRECTED or not facts:
        return
    language = detect_language(turn.said, fallback)
    cues = cues_for(language)
    by_word: dict[str, list[Draft]] = {}
    for fact in facts[-_LOOK_BACK:]:
        for word in fact.words:
            by_word.setdefault(word, []).append(fact)
    for part in turn.parts:
        texts = {sentence.text: sentence for sentence in reversed(sentences(part.text, language))}
        for said, sentence in texts.items():
            asked = said.endswith(("?", "？", "؟"))
            if (asked and verdict != CONFIRMED) or matches(cues.resist, said) or matches(cues.unsure, said):
                continue
            words = content_words(said, language)
            near = {id(fact): fact for word in words for fact in by_word.get(word, ())}
            for fact in near.values():
                if same_matter(fact, said, words, language):
                    fact.understanding, fact.shown = SOLID, (part.evidence_id,)
                    fact.evidence.append(Evidence(part.evidence_id, sentence.quote))


def quizzed(facts: list[Draft], quiz: Draft, answer_words: frozenset[str]) -> None:
    """Facts that an answered quiz was about take its level: they hold its answer and most of its claim."""
    for fact in facts:
        shared = len(fact.words & quiz.words)
        if answer_words <= fact.words and shared >= 3 and shared >= 0.6 * min(len(quiz.words), len(fact.words)):
            fact.understanding = quiz.understanding
            fact.shown = tuple(one for place in quiz.evidence for one in (place.evidence_id, *place.also))
