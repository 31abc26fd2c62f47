"""Words of a sentence for comparing meaning: content words, numbers, negation, and a normal form for identity."""

import re
import unicodedata

from extraction.claims.cues import cues_for, matches
from extraction.claims.language import COMMON_WORDS, UNSPACED

_TOKEN = re.compile(r"[^\W_]+(?:['’\-+][^\W_]+)*\+?")
_HAN_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_ENGLISH_EXTRA = frozenset(
    """a i its it's that's been being had did done doing could should may might must also just only very much many most
    some any each every other another than then there here where while because during through between both own same too
    over under again up down out off like these those his her he she our us who whom whose get got make made one thing
    things way lot really actually still even now always never ever""".split()
)
_ENDINGS = ("ingly", "edly", "ing", "ies", "ied", "es", "ed", "ly", "s")


def tokens(text: str) -> list[str]:
    """Lower-case words, numbers included, in order."""
    return [token.casefold().replace("’", "'") for token in _TOKEN.findall(unicodedata.normalize("NFC", text))]


def _stem(word: str) -> str:
    """A rough English stem, so that `absorbs`, `absorbed` and `absorb` compare as one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word[: -len(ending)]
            return base + "y" if ending in {"ies", "ied"} else base.rstrip("e") if len(base) > 4 else base
    return word.rstrip("e") if len(word) > 4 else word


def content_words(text: str, language: str) -> frozenset[str]:
    """The words that carry the meaning: no stop words, roughly stemmed; pairs of characters in unspaced scripts."""
    if language in UNSPACED:
        pairs = {run[i : i + 2] for run in _HAN_RUN.findall(text) for i in range(max(1, len(run) - 1))}
        return frozenset(pairs | {token for token in tokens(text) if token.isascii() and len(token) > 1})
    stop = COMMON_WORDS.get(language, frozenset())
    if language == "en":
        stop = stop | _ENGLISH_EXTRA
    kept = [
        word for word in tokens(text) if word not in stop and (len(word) > 2 or word.isdigit() or not word.isascii())
    ]
    return frozenset(_stem(word) if language == "en" else word for word in kept)


def numbers(text: str) -> frozenset[str]:
    """The numbers written in digits."""
    return frozenset(_NUMBER.findall(text))


def negated(text: str, language: str) -> bool:
    """Whether the sentence holds a negation that its language's cues know."""
    return matches(cues_for(language).negation, text)


def normal_form(claim: str) -> str:
    """What two claims share when they say the same in the same words: case, spaces and outer punctuation apart."""
    folded = unicodedata.normalize("NFKC", claim).casefold()
    return " ".join(folded.split()).strip(" .!?。！？…\"'“”„«»‘’`*")
