"""Simple English first-person statements, told about the learner in the third person. Everything else stays as said."""

import re

from extraction.claims.verbs_en import AUXILIARIES, BASES, third_person

SUBJECT = "The learner"
_EXTRA_BASES = frozenset(
    "have do go want like love hate enjoy dislike favour favor live work use study teach know".split()
)
_ADVERB = r"(?:(?:always|usually|often|mostly|mainly|currently|also|still|only|never|already|regularly|really|generally|strongly|much|just|definitely|personally|finally|now|actually|normally)\s+)*"
_CONTRACTED = {
    "i'm": "is",
    "i've": "has",
    "i'll": "will",
    "i'd": "would",
}
_OPENING = re.compile(rf"(?P<subject>I(?:['’](?:m|ve|ll|d))?)\s+(?P<adverb>{_ADVERB})(?P<verb>[a-z]+(?:['’]t)?)\b")
_DECIDE_ON = re.compile(
    r"(?:let['’]s|let us|I['’]ll|I will|we['’]ll|we will|I['’]m going to|I am going to|we['’]re going to|we are going to)\s+"
    r"(?:just |rather |definitely )?(?P<verb>go with|use|stick with|stick to|switch to|move to|settle on|choose|pick|adopt|drop|skip|postpone|buy|take)\b",
    re.IGNORECASE,
)
_NEGATIONS = {
    "don't": "does not",
    "haven't": "has not",
    "wasn't": "was not",
    "didn't": "did not",
    "can't": "cannot",
    "won't": "will not",
    "couldn't": "could not",
    "wouldn't": "would not",
    "shouldn't": "should not",
    "do not": "does not",
}
_FIXED = {
    "am": "is",
    "was": "was",
    "will": "will",
    "would": "would",
    "can": "can",
    "could": "could",
    "must": "must",
    "cannot": "cannot",
    "should": "should",
    "may": "may",
    "might": "might",
    "had": "had",
    "did": "did",
}
# What is left of the first person after the opening. The learner is a "they".
_LATER = (
    (re.compile(r"\bI['’]m\b"), "they are"),
    (re.compile(r"\bI['’]ve\b"), "they have"),
    (re.compile(r"\bI['’]ll\b"), "they will"),
    (re.compile(r"\bI['’]d\b"), "they would"),
    (re.compile(r"\bI am\b"), "they are"),
    (re.compile(r"\bI was\b"), "they were"),
    (
        re.compile(
            r"(?<!system )(?<!type )(?<!Type )(?<!phase )(?<!Phase )(?<!War )(?<!Part )(?<!part )(?<!level )\bI\b(?= [a-z])"
        ),
        "they",
    ),
    (re.compile(r"\bmy\b"), "their"),
    (re.compile(r"\bour\b"), "their"),
    (re.compile(r"\bmyself\b"), "themselves"),
    (re.compile(r"\bmine\b"), "theirs"),
    (re.compile(r"\bme\b"), "them"),
)
_AND_VERB = re.compile(
    r"(?P<join>,? (?:and|but) (?:also |never |always |usually )?)(?P<verb>[a-z]+)\b(?! (?:is|are|of)\b)"
)


def _later(text: str) -> str:
    """The rest of a sentence with the first person taken out."""
    for pattern, instead in _LATER:
        text = pattern.sub(instead, text)
    return text


def _verb(subject: str, verb: str) -> str | None:
    """The third-person form after "The learner", or None when it is not one this table knows."""
    contracted = _CONTRACTED.get(subject.lower().replace("’", "'"))
    plain = verb.replace("’", "'")
    if contracted is not None:
        return f"{contracted} {plain}"
    if plain in _NEGATIONS:
        return _NEGATIONS[plain]
    if plain in _FIXED:
        return _FIXED[plain]
    if plain in BASES or plain in _EXTRA_BASES:
        return third_person(plain)
    if plain.endswith("ed") or plain in {
        "chose",
        "made",
        "took",
        "got",
        "grew",
        "knew",
        "learnt",
        "went",
        "bought",
        "began",
        "found",
        "read",
        "wrote",
        "taught",
        "came",
        "left",
        "lost",
        "spent",
        "thought",
    }:
        return plain
    return None


def _joined(rest: str, *, present: bool) -> str:
    """A second verb after "and" follows the first into the third person: "I live in Oslo and work at …"."""
    if not present:
        return rest
    match = _AND_VERB.search(rest)
    if match is None or match["verb"] in AUXILIARIES:
        return rest
    if match["verb"] not in {
        "work",
        "live",
        "study",
        "teach",
        "use",
        "have",
        "want",
        "prefer",
        "need",
        "like",
        "hate",
        "speak",
        "run",
        "write",
        "own",
        "know",
        "keep",
        "play",
    }:
        return rest
    return f"{rest[: match.start('verb')]}{third_person(match['verb'])}{rest[match.end('verb') :]}"


def about_learner(text: str, *, deciding: bool = False) -> str:
    """`I prefer short texts.` → `The learner prefers short texts.`; a sentence with no such opening comes back as it was.

    With `deciding`, "I'll take …" and "let's use …" become "decided to".
    """
    decided = _DECIDE_ON.match(text) if deciding else None
    if decided is not None:
        return f"{SUBJECT} decided to {decided['verb'].lower()}{_later(text[decided.end() :])}"
    if re.match(r"My\s", text):
        return f"{SUBJECT}'s{_later(text[2:])}"
    opening = _OPENING.match(text)
    if opening is None:
        return text
    verb = _verb(opening["subject"], opening["verb"])
    if verb is None:
        return text
    present = opening["verb"] in BASES or opening["verb"] in _EXTRA_BASES
    adverb = opening["adverb"]
    contracted = opening["subject"] not in {"I"}
    if adverb and contracted:
        first, _, second = verb.partition(" ")
        return f"{SUBJECT} {first} {adverb}{second}{_joined(_later(text[opening.end() :]), present=present)}"
    if adverb and verb in {"is", "has", "was"}:
        return f"{SUBJECT} {verb} {adverb.strip()}{_later(text[opening.end() :])}"
    return f"{SUBJECT} {adverb}{verb}{_joined(_later(text[opening.end() :]), present=present)}"
