"""How much an explained sentence is worth by itself: general statements and definitions, not the state of one moment.

Only English is graded; in other languages every sentence that passed the filters counts the same.
"""

import re

from extraction.claims.cues import rx

KEEP_FROM = 0.0

_SIGNS: tuple[tuple[float, re.Pattern[str]], ...] = (
    # what speaks for it
    (0.8, rx(r"^(?:an?|every|each|all|most|many|no|any) ")),
    (
        0.8,
        rx(r"^(?:the )?[\w '’-]{2,60}? (?:is|are) (?:an?|the|called|known as|defined as|one of|measured in|made of)\b"),
    ),
    (
        0.6,
        re.compile(
            r"^(?!The |Your |You )[A-Z][\w'’-]+(?: [\w'’-]+){0,3} (?:is|are|has|have|can|cannot|must|do|does|[a-z]+s)\b"
        ),
    ),
    (
        0.5,
        rx(
            r"\b(?:because|since|so that|therefore|which is why|leads? to|causes?|means|depends? on|consists? of|equals?)\b"
        ),
    ),
    (0.4, rx(r"^the (?:[\w-]+ ){1,4}(?:of|between|that|which|for)\b")),
    (
        0.4,
        rx(
            r"\b(?:usually|always|never|only|typically|generally|most|more than|less than|the (?:more|smaller|larger|higher|lower))\b"
        ),
    ),
    (0.1, re.compile(r"\d")),
    (
        0.3,
        rx(
            r"\b(?:take place|occur|happen|contain|produce|convert|absorb|release|carrie|carry|transport|flow|form|drive|store|capture|split|bind|use|lie|consist|provide|control|regulate|protect|represent|return|measure|determine|describe|allow|enable|prevent|require|need|grow|move|turn|become|reach|change|belong|exist|live|burn|lose|gain|raise|lower|increase|reduce|decrease|save)(?:s|es)?\b",
            r"\btakes place\b",
            r"\bstands for\b",
        ),
    ),
    # what speaks against it
    (-0.7, rx(r"\b(?:now|today|tonight|then|still|already|again|afterwards|currently|here|at the moment|so far)\b")),
    (-0.3, rx(r"\byou\b", r"\bthe learner['’]s\b")),
    (-0.2, rx(r"^the (?![^.]*\b(?:of|between|that|which)\b).*\d")),
    (-0.4, rx(r"\b(?:would|could|should|might)\b")),
    (
        -0.6,
        rx(
            r"^the (?:[\w-]+ )?(?:machine|boiler|node|board|cell|receiver|house|room|modem|script|server|app|shop|file|team|budget|app|installer|list|log|picture|photo)\b(?! (?:of|that|which))"
        ),
    ),
    (-0.5, rx(r"\b(?:that|this|it) (?:is|was|means|costs|gives|makes|would)\b")),
    (
        -0.6,
        rx(
            r"\b(?:are|is) left\b",
            r"\bremain(?:s|ed)?\b(?! \w+ (?:until|when|in|on|at))",
            r"\bfits?\b[^a-z]*$",
            r"^(?:[\d.,]+|one|two|three|four|five) [\w€%]+ (?:plus|work|and)\b",
        ),
    ),
    (
        -0.5,
        rx(
            r"\bthe same\b(?!.*\bas\b)(?<!stay the same)(?<!stays the same)(?<!roughly the same)(?! (?:time|direction|rate|size|number|kind|type|for)\b)"
        ),
    ),
    (-0.6, rx(r"\b(?:that|this|so|there)\.$", r"^(?:\S+ ){1,12}(?:it|them)\.$")),
    (-0.7, rx(r"^[\d.,+-]+ ")),
    (-0.3, re.compile(r"^(?![^.]* [A-Z][a-z]).*\b(?:was|were)\b")),
    (-0.3, rx(r"[:;]")),
)
_LONG = 230


def worth(claim: str, language: str) -> float:
    """The grade of an explained claim: below `KEEP_FROM` it is left out unless the learner reacted to it."""
    if language != "en":
        return 0.5
    grade = sum(weight for weight, sign in _SIGNS if sign.search(claim))
    return grade - 0.4 * (len(claim) > _LONG)
