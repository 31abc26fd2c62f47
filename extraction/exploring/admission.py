"""Whether evidence carries a candidate: what staging refuses of any worker, and what it marks for a reader.

Judged by who said what, not by what it means: tool output alone says nothing, an assistant's words show no understanding of
the learner, and nobody's instructions to the reader are evidence.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from graphctx.models import Kind, Level

from ..claims.dates import with_dates
from ..claims.language import detect_language
from ..claims.safety import ORDER, TAKEOVER
from ..claims.segment import hide
from ..quotes import Match
from ..redaction import secret_spans
from .environment import MASKS

Entry = dict[str, Any]
Place = tuple[Entry, Match | None]
"""An entry that is cited, and where the quote stands in it."""

OF_THE_LEARNER = (Kind.PREFERENCE, Kind.DECISION)
INSTRUCTS = "the evidence also gives instructions to its reader"
"""The mark of a candidate that no auditor may merge: a person looks whether its worker took an order."""
_MASKED = re.compile(f"[{MASKS}]")
_WORDLESS = re.compile(r"\S*[A-Za-z0-9+/_=-]{24,}\S*")
_SOME_DAY = "2000-01-03T00:00:00+00:00"
_RELATIVE = re.compile(
    r"\b(?:heute|gestern|vorgestern|übermorgen|hoy|ayer|aujourd['’]hui|hier soir|demain|oggi|ieri|domani|hoje|ontem|amanhã"
    r"|vandaag|gisteren|сегодня|вчера|завтра)\b|今日|昨日|明日|来週|先週|来月|先月|昨天|明天|今天",
    re.IGNORECASE,
)


def unstorable(name: str, text: str) -> str:
    """Why a worker's own words may not be stored, or an empty text."""
    if _MASKED.search(text):
        return f"{name} repeats covered text (░ injected, █ secret); say only what can be read"
    if secret_spans(text):
        return f"{name} holds what looks like a key, a password or a card number; leave it out"
    return ""


def objection(kind: str, understanding: str | None, places: Sequence[Place]) -> str:
    """Why these places do not carry a candidate of this kind and level, or an empty text; it says what would."""
    entries = [entry for entry, _ in places]
    quoted = [entry for entry, match in places if match] or entries
    if not any(_spoken(entry) for entry in quoted):
        return "tool output alone is no evidence; cite, and quote, the message in which somebody said it"
    if kind in OF_THE_LEARNER and not any(_by_learner(entry) for entry in entries):
        return f"a {kind} is the learner's own: cite the message in which the learner states or confirms it"
    if understanding not in (None, Level.NOT_YET_ENGAGED) and not any(_shows(entry) for entry in entries):
        return (
            f"understanding {understanding} needs evidence by the learner, a message or an answered quiz that shows it; "
            f"what only the assistant said is {Level.NOT_YET_ENGAGED.value}"
        )
    own = kind in OF_THE_LEARNER or understanding not in (None, Level.NOT_YET_ENGAGED)
    has_quote = any(match for _, match in places)
    return next((found for place in places if (found := _objection_to(place, own=own, quoted=has_quote))), "")


def _objection_to(place: Place, *, own: bool, quoted: bool) -> str:
    entry, match = place
    name, text = entry["id"], entry["text"]
    if not _has_words(text[match.start : match.end] if match else text, any_sign=quoted and match is None):
        return f"evidence {name} has no words to go by there"
    order = _instruction(text)
    pasted = _pasted(entry, match)
    if order is not None:
        aloud = _by_learner(entry) and not pasted
        line_end = text.find("\n", order.end())
        line_end = len(text) if line_end < 0 else line_end
        line_start = text.rfind("\n", 0, order.start()) + 1
        within = match is not None and match.start < line_end and match.end > line_start
        if within or (not aloud and (match is None or match.end > order.start())):
            return (
                f"evidence {name} gives instructions to its reader from character {line_start} on, which are nobody's claim; "
                "quote what was said before them"
            )
    if own and pasted and match is not None:
        return f"the quote stands in a quoted or pasted passage of {name}, which is not what the learner says"
    return ""


def marks(claim: str, places: Sequence[Place]) -> list[str]:
    """What a reader of the candidate should know, one short text each; none of it is a reason to refuse."""
    found = []
    claimed = detect_language(claim)
    said = detect_language("\n".join(_cited(place) for place in places))
    if "und" not in (claimed, said) and claimed != said:
        found.append(f"the claim is in {claimed}, its evidence in {said}")
    if (
        with_dates(claim, _SOME_DAY) != claim
        or with_dates(claim, _SOME_DAY, claimed) != claim
        or _RELATIVE.search(claim)
    ):
        found.append("the claim has a relative date")
    if any(_pasted(entry, match) for entry, match in places):
        found.append("the quote stands in a quoted or pasted passage")
    if any(_instruction(entry["text"]) for entry, _ in places):
        found.append(INSTRUCTS)
    return found


def held_back(marked: Sequence[str]) -> str:
    """Why a candidate with these marks waits for a person, whatever the review mode; empty when it need not."""
    return f"waits for a decision: {INSTRUCTS}" if INSTRUCTS in marked else ""


def _spoken(entry: Entry) -> bool:
    return entry["kind"] == "message" or _quiz(entry)


def _quiz(entry: Entry) -> bool:
    return entry.get("quiz", entry["tool"] is not None)


def _by_learner(entry: Entry) -> bool:
    return entry["kind"] == "message" and entry["speaker"] == "user"


def _shows(entry: Entry) -> bool:
    return _by_learner(entry) or (entry["kind"] == "tool_result" and _quiz(entry))


def _cited(place: Place) -> str:
    entry, match = place
    return entry["text"][match.start : match.end] if match else entry["text"][:2000]


def _has_words(text: str, *, any_sign: bool) -> bool:
    """Whether something is left of a text without what is covered and without runs that only a program reads.

    Beside a quote ``any_sign`` will do: a thumb that is held up is an answer.
    """
    left = _MASKED.sub(" ", text)
    return bool(left.strip() if any_sign else re.search(r"[^\W_]", _WORDLESS.sub(" ", left)))


# A batch's candidates come message by message, and a long message takes seconds to look through.
@lru_cache(maxsize=32)
def _instruction(text: str) -> re.Match[str] | None:
    """The first place where a text tells its reader what to do or to store."""
    found = [match for pattern in (TAKEOVER, ORDER) if (match := pattern.search(text))]
    return min(found, key=lambda match: match.start(), default=None)


def _pasted(entry: Entry, match: Match | None) -> bool:
    """Whether a quote stands wholly in what nobody said in a message: quotation, pasted page, comment, code."""
    if match is None or entry["kind"] != "message":
        return False
    text = entry["text"]
    line = text[text.rfind("\n", 0, match.start) + 1 : match.start + 1]
    return line.lstrip().startswith(">") or not _audible(text)[match.start : match.end].strip()


@lru_cache(maxsize=32)
def _audible(text: str) -> str:
    return hide(text)
