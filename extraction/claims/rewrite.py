"""Simple English first-person statements, told about the learner in the third person. Everything else stays as said."""

import re

from extraction.claims.verbs_en import BASES, third_person

SUBJECT = "The learner"
_ADVERB = (
    r"(?:(?:always|usually|often|mostly|mainly|currently|also|still|only|never|already|regularly|really|generally|strongly"
    r"|much|just|definitely|personally|finally|now|actually|normally)\s+)*"
)
_OPENING = re.compile(rf"I\s+(?P<adverb>{_ADVERB})(?P<verb>[a-z]+(?:['’]t)?)\b")
_CONTRACTIONS = (
    (re.compile(r"I['’]m\b(?! going to\b)"), " is"),
    (re.compile(r"I['’]ve\b"), " has"),
    (re.compile(r"I['’]ll\b"), " will"),
    (re.compile(r"I['’]d\b"), " would"),
    (re.compile(r"(?:(?:It )?[Tt]urn(?:s|ed) out,? (?:that )?m|M)y\b(?! [\w-]+(?: [\w-]+)? and I\b)"), "'s"),
)
_MY_X_AND_I = re.compile(r"My (?P<other>[\w-]+(?: [\w-]+)?) and I\b")
_DECIDE_ON = re.compile(
    r"(?:let['’]s|let us|I['’]ll|I will|we['’]ll|we will|I['’]m going to|I am going to|we['’]re going to|we are going to)\s+"
    r"(?:just |rather |definitely )?(?P<verb>go with|go for|use|stick with|stick to|switch to|move to|settle on|choose|pick"
    r"|adopt|drop|skip|postpone|buy|take)\b",
    re.IGNORECASE,
)
_GOING_WITH = re.compile(r"(?P<verb>going|sticking|staying) (?P<to>with|for|to)\b", re.IGNORECASE)

# Verbs after "I" whose third person is no regular ending.
_AS_IS = frozenset(
    """was will would can could must cannot should may might had did chose made took got grew knew learnt went bought began
    found read wrote taught came left lost spent thought built kept felt""".split()
)
_SPECIAL = {
    "am": "is",
    "don't": "does not",
    "haven't": "has not",
    "wasn't": "was not",
    "didn't": "did not",
    "can't": "cannot",
    "won't": "will not",
    "couldn't": "could not",
    "wouldn't": "would not",
    "shouldn't": "should not",
}
# "I do not have" reads "does not have", "I am always" reads "is always": the adverb goes behind these.
_ADVERB_AFTER = frozenset({"is", "has", "was"})

# What is left of the first person after the opening; the learner is a "they". Roman numerals are no pronouns.
_NOT_A_NUMERAL = "".join(
    rf"(?<!{word} )" for word in ("system", "type", "Type", "phase", "Phase", "War", "Part", "part", "level")
)
_LATER = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\bI['’]m\b", "they are"),
        (r"\bI['’]ve\b", "they have"),
        (r"\bI['’]ll\b", "they will"),
        (r"\bI['’]d\b", "they would"),
        (r"\bI am\b", "they are"),
        (r"\bI was\b", "they were"),
        (rf"{_NOT_A_NUMERAL}\bI\b(?= [a-z])", "they"),
        (r"\bmy\b", "their"),
        (r"\bour\b", "their"),
        (r"\bmyself\b", "themselves"),
        (r"\bmine\b", "theirs"),
        (r"\bme\b", "them"),
    )
)
# A second verb that follows the first into the third person: "I live in Oslo and work at …".
_AND_VERB = re.compile(
    r"(?P<join>,? (?:and|but) (?:also |never |always |usually )?)(?P<verb>work|live|study|teach|use|have|want|prefer|need"
    r"|like|hate|speak|run|write|own|know|keep|play|make|do)\b(?! (?:is|are|of)\b)"
)


def _later(text: str) -> str:
    """The rest of a sentence with the first person taken out."""
    for pattern, instead in _LATER:
        text = pattern.sub(instead, text)
    return text


def _conjugated(verb: str) -> str | None:
    """The form after "The learner" of a verb that stood after "I", or None for a word that is no known verb."""
    if verb in _SPECIAL:
        return _SPECIAL[verb]
    if verb in _AS_IS or (verb.endswith("ed") and verb not in BASES):
        return verb
    return third_person(verb) if verb in BASES or verb in {"do", "have", "go"} else None


def _after_opening(text: str) -> str:
    """`I live in Oslo and work at …` → `The learner lives in Oslo and works at …`."""
    opening = _OPENING.match(text)
    said = opening["verb"].replace("’", "'") if opening else ""
    verb = _conjugated(said)
    if opening is None or verb is None:
        return text
    adverb, rest = opening["adverb"], _later(text[opening.end() :])
    if said in BASES or said == "have":
        rest = _AND_VERB.sub(lambda match: match["join"] + third_person(match["verb"]), rest, count=1)
    if adverb and verb in _ADVERB_AFTER:
        return f"{SUBJECT} {verb} {adverb.strip()}{rest}"
    if said == "do" and rest.startswith(" not "):
        verb = "does"
    return f"{SUBJECT} {adverb}{verb}{rest}"


def about_learner(text: str, *, deciding: bool = False) -> str:
    """`I prefer short texts.` → `The learner prefers short texts.`; a sentence with no such opening comes back as it was.

    With `deciding`, "I'll take …", "let's use …" and "going with …" become "decided to".
    """
    if deciding and (match := _DECIDE_ON.match(text)):
        return f"{SUBJECT} decided to {match['verb'].lower()}{_later(text[match.end() :])}"
    if deciding and (match := _GOING_WITH.match(text)):
        verb = {"going": "go", "sticking": "stick", "staying": "stay"}[match["verb"].lower()]
        return f"{SUBJECT} decided to {verb} {match['to']}{_later(text[match.end() :])}"
    if match := _MY_X_AND_I.match(text):
        return f"{SUBJECT} and their {match['other']}{_later(text[match.end() :])}"
    for contraction, instead in _CONTRACTIONS:
        if match := contraction.match(text):
            return f"{SUBJECT}{instead}{_later(text[match.end() :])}"
    return _after_opening(text)
