"""English as hurried people type it: what they leave out is put back, what they only mutter is taken away."""

import re

from extraction.claims.cues import rx
from extraction.claims.verbs_en import BASES, has_finite_verb
from extraction.claims.words import tokens

_MUTTERED = (
    "nah|nope|yeah|yep|yup|oh|ooh|ah+|hm+|huh|lol|haha+|oof|ur?gh+|argh+|wow|ok(?:ay)?|alright|right|cool|great|good|nice|perfect"
    "|sweet|super|btw|well|so|also|anyway|then|but|and|sorry|fine|true"
)
_GOES_ON = (
    "i|i['’]\\w+|we|we['’]\\w+|my|our|no|not|lets|let['’]?s|please|pls|plz|this|next|from now|only|every|each|can you|could you|don['’]t"
    "|when|whenever|never|always|going|sticking|what|that|the|lesson|decision|decided|changed|on second"
)
_OPENING = re.compile(rf"(?:{_MUTTERED})(?:[,!.:…]+| -| –)*\s+(?=(?:{_GOES_ON}|{_MUTTERED})\b)", re.IGNORECASE)
_MAX_OPENINGS = 4
_TIC = re.compile(r"[,\s]+(?:tho|lol|haha+|btw|tbh|imo|xd|:\)+|:\(+|;\)|:D)(?=[.!]*$)", re.IGNORECASE)
# A guess or an excuse behind a statement is not part of it.
_GUESS = re.compile(
    r",? (?:so |and |but )?(?:probably|prob|maybe|perhaps|i guess|i suppose)\b (?:that|it|this|i|we|the)[^,;]{3,60}(?=[.!]*$)",
    re.IGNORECASE,
)
# "Started freelancing in May": the writer is meant.
_DONE = re.compile(
    r"(?:just |recently |already )?(?:started|moved|joined|switched|quit|bought|signed up|graduated|grew up|changed (?:jobs?|schools?))\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"(?:currently )?(?:living|working|studying|moving|renting|training|learning|preparing|planning to)\b(?! (?:is|was|makes|takes|helps|means)\b)",
    re.IGNORECASE,
)
_ALWAYS_ASKED = re.compile(
    r"(?:can|could|would|will) you (?:please |pls )?(?P<often>always|only|never)(?P<rest> [^?]+?),?(?: please| pls)?\?+$",
    re.IGNORECASE,
)
# What is wished for good: not one answer but how all of them should be.
_WISH = rx(
    r"\b(?:always|never|whenever|every time|from now on)\b.*\b(?:please|pls|plz)\b",
    r"\b(?:please|pls|plz)\b.*\b(?:always|never|whenever|every time|from now on)\b",
    r"\b(?:please|pls|plz) (?:always |just |also )*(?:keep|make) (?:it|them|things|everything|(?:your |the )?\w+s) (?:\w+ )?(?:short|brief|simple|concise|small|casual|formal)",
    r"^(?:only |just )?(?:short|brief|simple|plain|small|real|concrete)\w* [\w ]{2,30}(?:please|pls|plz)[.!]*$",
    r"^when(?:ever)? you [a-z]+ [^,]{0,60}?,? (?:please |pls )?(?:give|show|use|write|send|skip|leave|explain|stick)\b",
    r"^(?:please |pls )?(?:do that|do this|remind me|ask me|show me|warn me)\b.* (?:whenever|every time|each time)\b",
    r"^(?:please|pls|plz),? no (?!way|worries)\w+|^no [\w ]{2,40} (?:please|pls|plz)\b",
    r"\b(?:please|pls|plz) (?:always )?(?:correct|answer|write|explain|use|show|mark|check|translate) (?:every|each|all)\b|\b(?:please|pls|plz) (?:don['’]t|do not) (?!worry|mind|get me|laugh|judge|tell)[a-z]+",
)
_CLAUSE = re.compile(
    r"[,;]\s+(?:and |so |but |also )?|\s[–—-]\s(?:and |so )?| (?:and|so) (?=(?:please|pls|plz|short|only|no)\b)"
)
_POINTS = re.compile(r"(?:please |pls )?do (?:that|this|it)\b", re.IGNORECASE)
_CHOICE = re.compile(
    r"(?P<choice>(?:no |not )?[\w£€$][\w ,.°%/£€$'’-]{0,60}?),? (?:then|it is)(?P<more>,? (?:starting|from|since|because)\b[^.!?]{2,60}|, [\w'’-]+(?: [\w'’-]+){0,3})?[.!]*$",
    re.IGNORECASE,
)
_NO_CHOICE = re.compile(
    r"(?:ok|okay|fine|good|right|yes|no|not|well|all right|alright|cool|great|thanks|thank you|bye|see you|later|tomorrow|that|this|it|these"
    r"|those|he|she|they|you|there|here|what|who|how|why|where|when|which|so|back|now|even|only|just|first|until|since|by|and|but|or|if|true"
    r"|let|i|we|my)\b(?! [\w]+ (?:after|before|for|until|from))",
    re.IGNORECASE,
)


def spelled_out(text: str) -> str:
    """A learner's sentence without its mutterings, and with the "I" that it leaves out."""
    for _ in range(_MAX_OPENINGS):
        match = _OPENING.match(text)
        if match is None:
            break
        text = text[match.end() :]
    text = _GUESS.sub("", _TIC.sub("", text))
    if (asked := _ALWAYS_ASKED.match(text)) is not None:
        return f"Please {asked['often'].lower()}{asked['rest']}."
    if _DONE.match(text):
        return f"I {text[0].lower()}{text[1:]}"
    if _DOING.match(text):
        return f"I'm {text[0].lower()}{text[1:]}"
    return text


def lasting_wish(text: str) -> str | None:
    """The part of a sentence that asks for something in every answer to come, or None."""
    if text.endswith(("?", "？")):
        return None
    if _WISH.search(text) and not _CLAUSE.search(text):
        return text
    parts = [part.strip() for part in _CLAUSE.split(text)]
    wishes = [part for part in parts if _WISH.search(part)]
    if wishes:
        return text if parts.index(wishes[0]) == 0 or _POINTS.match(wishes[0]) else wishes[0]
    return text if _WISH.search(text) else None


def bare_choice(text: str) -> str | None:
    """ "7 days then.": what is chosen, when it is named and not only pointed at; else None."""
    match = _CHOICE.match(text)
    if match is None or _NO_CHOICE.match(match["choice"]):
        return None
    words = tokens(match["choice"])
    named = [word for word in words if len(word) > 2 or word.isdigit()]
    if not named or len(words) > 9 or words[0] in BASES or has_finite_verb(words):
        return None
    return f"{match['choice'].strip()}{match['more'] or ''}"
