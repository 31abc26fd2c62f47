"""What a language module has to say: the cues that tell a lasting statement from talk. One `Cues` per language.

Every field is a compiled pattern or None ("this language has no such cue here"). A missing cue never lets more through
on its own: the length bounds and the language-neutral filters always apply.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module

Rules = tuple[tuple[str, re.Pattern[str]], ...]


def rx(*alternatives: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """One pattern out of alternatives, case-insensitive unless told otherwise."""
    return re.compile("|".join(f"(?:{alternative})" for alternative in alternatives), flags)


@dataclass(frozen=True)
class Cues:
    """The cues of one language. Patterns named `*_start` are matched at the start of a sentence."""

    code: str
    # bounds of a claim-like sentence, in characters and (0 = the script has no spaces) in words
    min_chars: int = 24
    max_chars: int = 320
    min_words: int = 4
    max_words: int = 48
    # a lead that can be cut off without losing the claim ("So,", "Remember that")
    lead: re.Pattern[str] | None = None
    question: re.Pattern[str] | None = None
    # an opening that points outside the sentence ("It", "These two")
    anaphora_start: re.Pattern[str] | None = None
    # an opening that only a listener can place ("The other one"): no start for an explanation, fine for a learner
    vague_start: re.Pattern[str] | None = None
    # words anywhere that point outside the sentence or at the talk itself
    deixis: re.Pattern[str] | None = None
    meta: re.Pattern[str] | None = None
    greeting_start: re.Pattern[str] | None = None
    imperative_start: re.Pattern[str] | None = None
    hedge: re.Pattern[str] | None = None
    first_person: re.Pattern[str] | None = None
    addressed: re.Pattern[str] | None = None
    # reactions of the learner
    accept: re.Pattern[str] | None = None
    unsure: re.Pattern[str] | None = None
    resist: re.Pattern[str] | None = None
    # how an assistant's answer opens when it confirms or corrects
    confirm_start: re.Pattern[str] | None = None
    deny_start: re.Pattern[str] | None = None
    negation: re.Pattern[str] | None = None
    # statements of the learner: openings that name their kind ("Decision:"), then ordered (kind, pattern)
    labels: Rules = ()
    kinds: Rules = ()
    # the same, where the sentence is theirs: said in the first person or about a project of their own
    own_kinds: Rules = ()
    # what is never a lasting statement: as an opening, and anywhere
    request_start: re.Pattern[str] | None = None
    never: re.Pattern[str] | None = None
    # "I know that …": what follows is the subject matter
    belief: re.Pattern[str] | None = None
    about_self: re.Pattern[str] | None = None
    # words of somebody who speaks about a project of their own
    owned: re.Pattern[str] | None = None
    # "…, then." / "… it is.": a choice of few words, kept when its reason follows (group `choice`)
    short_choice: re.Pattern[str] | None = None
    # the part of a sentence that states a habit by itself (group `tail`)
    tail: re.Pattern[str] | None = None
    # a sentence that belongs to the one before: reasons, alternatives, the next action, the condition that ends it
    reason_start: re.Pattern[str] | None = None
    alternatives_start: re.Pattern[str] | None = None
    action_start: re.Pattern[str] | None = None
    condition_start: re.Pattern[str] | None = None


# Languages by code → the module that holds their cues.
MODULES = {
    "en": "cues_en",
    "de": "cues_de",
    "es": "cues_romance",
    "fr": "cues_romance",
    "pt": "cues_romance",
    "it": "cues_romance",
    "ja": "cues_world",
    "zh": "cues_world",
    "ar": "cues_world",
    "ru": "cues_world",
}

# For every other language: no cues, tight bounds.
NEUTRAL = Cues(code="und", min_chars=30, max_chars=220, min_words=5, max_words=32)


@cache
def cues_for(language: str) -> Cues:
    """The cues of a language code, `NEUTRAL` for one without a module."""
    module = MODULES.get(language)
    if module is None:
        return NEUTRAL
    return import_module(f"extraction.claims.{module}").CUES[language]


def matches(pattern: re.Pattern[str] | None, text: str) -> bool:
    """Whether a cue exists and is found anywhere in the text."""
    return pattern is not None and pattern.search(text) is not None


def starts(pattern: re.Pattern[str] | None, text: str) -> bool:
    """Whether a cue exists and is found at the start of the text."""
    return pattern is not None and pattern.match(text) is not None
