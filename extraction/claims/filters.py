"""Is this sentence a lasting, self-contained statement? `why_not` names the first reason against it, or returns None."""

import re
from collections.abc import Callable

from extraction.claims.cues import Cues, matches, starts
from extraction.claims.language import UNSPACED
from extraction.claims.safety import looks_secret
from extraction.claims.verbs_en import BASES, has_finite_verb, third_person_verb
from extraction.claims.words import content_words, tokens

_QUESTION_MARK = re.compile(r"[?？؟¿]")
_OPEN_END = re.compile(r"(?:[:：,，;；、]|\.\.\.|…|[-–—])[\"'”’)\]*]*$")
_CODE_SIGN = re.compile(r"[{}\\<>;=|#$@~^]|\(\)|->|::|/\w+/")
_URL = re.compile(r"https?://|www\.", re.IGNORECASE)
_LOWER_START = re.compile(r"[a-zà-öø-ÿа-я]")
_FULL_STOP = re.compile(r"[.!。！.．]+[\"'”’»)\]」』]*$")
# English clauses that do not make a sentence by themselves.
_SUBORDINATE = re.compile(r"\b(?:if|so that|because|when|unless|until|since|although|while)\b.*?(?:,|$)", re.IGNORECASE)
_SURELY_A_SENTENCE = 9
# What a learner says about themselves may be this much shorter than an explanation.
_OWN_SHORTER = 0.6
_PARTICLES = frozenset("in out off up down into from with on over away back aside onto through".split())
_LETTER = re.compile(r"[^\W\d_]")
_CLOSERS = {"“": "”", "„": "“”", "«": "»", "「": "」", "(": ")", "[": "]", "（": "）"}


def _unbalanced(text: str) -> bool:
    """Whether a bracket or quotation opens or closes outside the sentence: it is a piece of something longer."""
    if text.count('"') % 2:
        return True
    for opener, closers in _CLOSERS.items():
        if opener == "„":
            continue
        closing = sum(text.count(mark) for mark in closers)
        if opener == "“" and "„" in text:
            continue
        if text.count(opener) != closing and opener in "([（":
            return True
    return False


def _commands(text: str) -> bool:
    """`Mix in the cardboard`: opens with a verb's base form and a particle, and nothing else in it can be its verb."""
    words = tokens(text)
    return (
        len(words) > 2
        and words[0] in BASES
        and words[1] in _PARTICLES
        and not any(third_person_verb(word) for word in words[2:])
    )


def bad_shape(text: str, cues: Cues, language: str, *, own: bool = False) -> str | None:
    """Reasons that need no language: length, punctuation, code, links, secrets. `own`: said by the learner, may be short."""
    words = len(text.split())
    shorter = _OWN_SHORTER if own else 1.0
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("question", lambda: bool(_QUESTION_MARK.search(text))),
        ("too short", lambda: len(text) < cues.min_chars * shorter),
        ("too long", lambda: len(text) > cues.max_chars),
        ("too few words", lambda: language not in UNSPACED and words < cues.min_words * shorter),
        ("too many words", lambda: language not in UNSPACED and words > cues.max_words),
        ("open end", lambda: bool(_OPEN_END.search(text))),
        ("code", lambda: len(_CODE_SIGN.findall(text)) >= 3),
        ("link", lambda: bool(_URL.search(text))),
        ("not words", lambda: len(_LETTER.findall(text)) * 2 < len(text)),
        ("control characters", lambda: any(ord(sign) < 32 or 0xD800 <= ord(sign) <= 0xDFFF for sign in text)),
        ("piece of a quotation", lambda: _unbalanced(text)),
        ("secret", lambda: looks_secret(text)),
    )
    return next((reason for reason, holds in checks if holds()), None)


def bad_talk(text: str, cues: Cues) -> str | None:
    """Reasons of speech that hold for both speakers: greetings, questions, openings that point elsewhere."""
    if starts(cues.greeting_start, text):
        return "greeting"
    if starts(cues.question, text):
        return "question"
    if starts(cues.anaphora_start, text):
        return "points outside"
    if matches(cues.deixis, text):
        return "points at the talk"
    return None


def _is_sentence(text: str, *, bullet: bool) -> bool:
    """Whether an English text has a main verb. A long sentence with its full stop gets the benefit of the doubt."""
    words = tokens(_SUBORDINATE.sub(",", text))
    if has_finite_verb(words):
        return True
    return not bullet and len(words) >= _SURELY_A_SENTENCE and any(word.endswith(("s", "ed")) for word in words[1:-1])


def too_thin(text: str, language: str, *, bullet: bool, least: int = 3, named: bool = False) -> str | None:
    """Fragments, and sentences with fewer than `least` words of content."""
    if len(content_words(text, language)) < (4 if language in UNSPACED else least):
        return "says too little"
    if language == "en" and not _is_sentence(text, bullet=bullet):
        return "no verb"
    if not named and _LOWER_START.match(text) and "(" not in text[:20] and "_" not in text[:20]:
        return "starts in mid-sentence"
    if not _FULL_STOP.search(text) and not bullet and language not in {"th", "ko"}:
        return "no full stop"
    return None


def why_not(
    text: str, cues: Cues, language: str, *, bullet: bool = False, named: bool = False, least: int = 3
) -> str | None:
    """The first reason why an assistant's sentence is no fact worth keeping, or None when it is one.

    `bullet`: it is a list item, which may lack its full stop; `named`: it opens with a name in code letters;
    `least`: how many words of content it needs.
    """
    reason = bad_shape(text, cues, language) or bad_talk(text, cues)
    if reason:
        return reason
    for name, found in (
        ("means nothing alone", starts(cues.vague_start, text)),
        ("talk about the talk", matches(cues.meta, text)),
        ("instruction", starts(cues.imperative_start, text) or (language == "en" and _commands(text))),
        ("advice", matches(cues.hedge, text)),
        ("speaks of the assistant", matches(cues.first_person, text)),
        ("speaks to the learner", matches(cues.addressed, text)),
    ):
        if found:
            return name
    return too_thin(text, language, bullet=bullet, named=named, least=least)
