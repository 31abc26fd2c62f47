"""The guards: what must agree before two claims may be one. Each is a small pure function of two readings.

A guard says nothing when the two agree, and otherwise what differs, in words fit for a resolution's reason. Guards are
symmetric but for the order in which they name the two sides, and two readings of one text always agree.
"""

from collections.abc import Callable, Collection, Iterable

from .lexicon import ENDED
from .reading import Reading

Guard = Callable[[Reading, Reading], str | None]


def _differ(what: str, one: Collection[str], two: Collection[str]) -> str | None:
    """``what`` with both sides, when they are not the same values in the same order (sets: the same values)."""
    if one == two:
        return None
    return f"{what}: {_shown(one)} against {_shown(two)}"


def _shown(values: Iterable[str]) -> str:
    listed = list(values) if isinstance(values, tuple) else sorted(values)
    return ", ".join(listed) or "none"


def numbers(one: Reading, two: Reading) -> str | None:
    return _differ("numbers", one.numbers, two.numbers)


def dates(one: Reading, two: Reading) -> str | None:
    return _differ("dates", one.dates, two.dates)


def units(one: Reading, two: Reading) -> str | None:
    return _differ("units", one.units, two.units)


def names(one: Reading, two: Reading) -> str | None:
    """A name on one side stands, letter for letter, on the other one too."""
    missing = {name for name in one.names if name not in two.spelt} | {
        name for name in two.names if name not in one.spelt
    }
    return f"names: {_shown(missing)} on one side only" if missing else None


def negation(one: Reading, two: Reading) -> str | None:
    if one.negation == two.negation:
        return None
    return f"negation: {one.negation or 'none'} against {two.negation or 'none'}"


def modality(one: Reading, two: Reading) -> str | None:
    return _differ("modality", one.modality, two.modality)


def quantifiers(one: Reading, two: Reading) -> str | None:
    return _differ("quantifiers", one.quantifiers, two.quantifiers)


def comparatives(one: Reading, two: Reading) -> str | None:
    return _differ("comparatives", one.comparatives, two.comparatives)


def tense(one: Reading, two: Reading) -> str | None:
    """When it holds: words of time, and a word in the past on one side that is not so on the other."""
    marks = _differ("time", one.tense, two.tense)
    if marks is not None:
        return marks
    shared = one.words & two.words
    return _differ("past form", one.past_forms & shared, two.past_forms & shared)


def scope(one: Reading, two: Reading) -> str | None:
    """Numbers, negations and the like stand before the same words: "only cats eat fish" is not "cats eat only fish"."""
    if one.scope == two.scope:
        return None
    left = [f"{mark} {word}".strip() for mark, word in one.scope if (mark, word) not in two.scope]
    right = [f"{mark} {word}".strip() for mark, word in two.scope if (mark, word) not in one.scope]
    return f"what it applies to: {_shown(left)} against {_shown(right)}"


GUARDS: dict[str, Guard] = {
    "numbers": numbers,
    "dates": dates,
    "units": units,
    "names": names,
    "negation": negation,
    "modality": modality,
    "quantifiers": quantifiers,
    "comparatives": comparatives,
    "tense": tense,
    "scope": scope,
}
VETOES = ("numbers", "dates", "units", "negation", "modality")
"""Guards that a language model cannot overrule: what they look at does not depend on wording."""


def disagreements(one: Reading, two: Reading, *, ignore: Collection[str] = ()) -> dict[str, str]:
    """What differs, by guard; empty when all agree."""
    found = {name: guard(one, two) for name, guard in GUARDS.items() if name not in ignore}
    return {name: reason for name, reason in found.items() if reason is not None}


def veto(one: Reading, two: Reading) -> str | None:
    """Why the two cannot be one whatever their wording, or None."""
    for name in VETOES:
        reason = GUARDS[name](one, two)
        if reason is not None:
            return reason
    return None if (ENDED in one.tense) == (ENDED in two.tense) else f"time: {ENDED} on one side only"
