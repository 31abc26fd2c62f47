"""Whether a later claim takes the place of an earlier one: what has one value at a time has got another one.

Pure functions of two readings. Each answers with the reason, in words fit for a resolution, or None.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from . import lexicon
from .lexicon import (
    ALSO,
    CHANGED,
    DECIDING,
    DURATIONS,
    ENDED,
    FUNCTIONAL,
    PREFERRING,
    PREPOSITIONS,
    STOP,
    TIME_NOW,
    UNITS,
)
from .reading import BE, EMPLOYER, RESIDENCE, SELF, Reading, read, stem

LONGEST_VALUE = 5
"""Content words of a value; a longer difference is another statement."""
_WHAT = {EMPLOYER: "employer", RESIDENCE: "residence"}
_FUNCTIONAL = frozenset(stem(word) for word in FUNCTIONAL)
_PREFERRING = frozenset(stem(word) for word in PREFERRING)
_DECIDING = frozenset(stem(word) for word in DECIDING)
_CHANGED = CHANGED | TIME_NOW

# "moved the backups from A to B", "replaced A with B": what, from and to.
_MOVED = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:moved|migrated|switched|changed|transferred|upgraded|ported|went)\b(?P<what>[^.;]{0,60}?) from (?P<old>[^.;]{1,60}?) to (?P<new>[^.;]{1,60}?)(?P<more> for | in |$|[.,;])",
        r"\breplaced (?P<old>[^.;]{1,60}?) (?:with|by) (?P<new>[^.;]{1,60}?)(?P<more> for | in |$|[.,;])",
        r"\b(?:haben|habe|sind|bin|wurde|wurden)\b(?P<what>[^.;]{0,60}?) von (?P<old>[^.;]{1,60}?) (?:nach|auf|zu|in) (?P<new>[^.;]{1,60}?) (?:verschoben|verlegt|umgestellt|umgezogen|migriert|gewechselt|umgestiegen)",
        r"\b(?:déplacé|migré|passé|passée|passés|transféré)\b(?P<what>[^.;]{0,60}?) d(?:e |u |')(?P<old>[^.;]{1,60}?) (?:à|vers|au) (?P<new>[^.;]{1,60}?)(?P<more> pour | dans |$|[.,;])",
        r"\b(?:movimos|migramos|cambiamos|pasamos|trasladamos|cambié|pasé|migré)\b(?P<what>[^.;]{0,60}?) de (?P<old>[^.;]{1,60}?) a (?P<new>[^.;]{1,60}?)(?P<more> para | en |$|[.,;])",
    )
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LASTING = frozenset(
    """have has own owns need needs am is are work works live lives weigh weighs earn earns pay pays take takes study studies
    speak speaks teach teaches habe hat bin ist sind brauche braucht wiege verdiene zahle arbeite wohne ai a suis est avons
    pèse gagne paie tengo tiene soy es peso gano pago necesito""".split()
)
"""Verbs of states and habits: the figure in them is as of now."""
_IDLE = STOP | TIME_NOW | PREPOSITIONS | {"has", "have", "been", "be", "is", "are"}


def replaces(new: Reading, old: Reading, *, deciding: bool = False) -> str | None:
    """Why ``new``, said later, takes the place of ``old``; None when it does not, or not for sure."""
    if not ALSO.isdisjoint((*new.said, *old.said)):
        return None
    return (
        _attribute(new, old)
        or moved(new, old)
        or _other_number(new, old)
        or (None if _is_past(new) or _is_past(old) else _other_value(new, old, deciding=deciding))
    )


def _is_past(reading: Reading) -> bool:
    return bool(reading.tense & {"past", "formerly", "ago"}) or ENDED in reading.tense


def _attribute(new: Reading, old: Reading) -> str | None:
    """Employer or residence of the same person."""
    for marker, what in _WHAT.items():
        left, right = _value(new, marker), _value(old, marker)
        if left and right and left[0] == right[0] and left[1] != right[1] and not _is_past(new) and new.negation == 0:
            return f"another {what}: {_spelt(new, left[1])} after {_spelt(old, right[1])}"
    return None


def _value(reading: Reading, marker: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The subject and the value of an attribute."""
    stems = [word.stem for word in reading.content]
    if marker not in stems or reading.negation:
        return None
    at = stems.index(marker)
    value = tuple(word.stem for word in reading.content[at + 1 :] if word.role in ("", "at", "in"))
    return tuple(stems[:at]), value or tuple(stems[at + 1 :])


def _spelt(reading: Reading, stems: Sequence[str]) -> str:
    """The words as the claim has them."""
    words = {stem(token): token for token in reading.said}
    return " ".join(words.get(one, one) for one in stems)


def moved(new: Reading, old: Reading) -> str | None:
    """``new`` tells of a move from what ``old`` says."""
    text = " ".join(new.said)
    for pattern in _MOVED:
        match = pattern.search(text)
        if match is None:
            continue
        named = match.groupdict(default="")
        what, before, after = (_stems(named.get(part, "")) for part in ("what", "old", "new"))
        if "more" in named and named["more"].strip() in ("for", "in", "pour", "dans", "para", "en"):
            what |= _stems(text[match.end() :])
        said = old.words
        concerns = before <= said and what <= said and not (after - before) & said and not _is_past(old)
        if before and concerns and (what or _uses(old, before)):
            return f"moved from {named['old'].strip()} to {named['new'].strip()}"
    return None


def _stems(text: str) -> frozenset[str]:
    return (
        frozenset(word.stem for word in read(text).content if word.stem not in (SELF, BE))
        if text.strip()
        else frozenset()
    )


def _uses(old: Reading, value: frozenset[str]) -> bool:
    """``old`` says no more than that the learner uses or does what ``value`` names."""
    return old.negation == 0 and old.words - value <= _PREFERRING | _DECIDING | {
        SELF,
        BE,
        EMPLOYER,
        RESIDENCE,
        "run",
        "work",
        "host",
    }


def _other_number(new: Reading, old: Reading) -> str | None:
    """The learner's own figure, or that of something with one value at a time, is another one; all else is the same."""
    if _is_past(new) or _is_past(old) or len(new.numbers) != len(old.numbers) or new.negation != old.negation:
        return None
    pairs = [(a, b) for a, b in zip(new.numbers, old.numbers, strict=True) if a != b]
    if len(pairs) != 1 or new.units != old.units or not _same_but_values(new, old):
        return None
    lasting = "perfect" in new.tense or not _LASTING.isdisjoint(new.said)
    own = SELF in new.words and lasting and not all(_YEAR.fullmatch(number) for number in pairs[0])
    if own or (_is_functional(new) and _is_predicate(_line(new), [pairs[0][0]])):
        kind = "duration" if set(new.units) & DURATIONS else "number"
        return f"another {kind}: {pairs[0][0]} after {pairs[0][1]}"
    return None


def _is_predicate(line: Sequence[str], value: Sequence[str]) -> bool:
    """The value is what something is said to be."""
    words = list(line)
    begin = next((i for i in range(len(words)) if words[i : i + len(value)] == list(value)), None)
    return begin is not None and BE in words[:begin]


def _same_but_values(new: Reading, old: Reading) -> bool:
    plain = ("dates", "modality", "quantifiers", "comparatives")
    return [w.stem for w in new.content] == [w.stem for w in old.content] and all(
        getattr(new, name) == getattr(old, name) for name in plain
    )


def _is_functional(reading: Reading) -> bool:
    return not _FUNCTIONAL.isdisjoint(reading.words)


def _other_value(new: Reading, old: Reading, *, deciding: bool) -> str | None:
    """The same frame around another value, where the frame says that there is one value at a time."""
    if new.negation or old.negation or new.modality != old.modality or new.quantifiers != old.quantifiers:
        return None
    left, right = _line(new), _line(old)
    slot = _one_slot(left, right)
    if slot is None:
        return None
    (value, before), frame = slot, set(left) & set(right)
    told = f"{_spelt(new, value)} after {_spelt(old, before)}"
    heads = frame & _FUNCTIONAL
    if heads and _is_predicate(left, value) and _is_predicate(right, before):
        return f"another {_spelt(new, [min(heads)])}: {told}"
    purpose = any(word.role and word.stem in frame and word.stem not in value for word in new.content)
    choosing = deciding or (SELF in frame and frame & _PREFERRING)
    if choosing and purpose and _is_object(new, value) and _is_object(old, before):
        return f"another choice: {told}"
    if not _CHANGED.isdisjoint(new.said) and BE in frame and len(frame) > 1 and _is_last(left, value):
        return f"changed: {told}"
    return None


def _line(reading: Reading) -> list[str]:
    """Content words, dates and numbers as one line, in the order in which they are said."""
    return [
        stem(token) if token.isalpha() else token
        for token in _canonical(reading)
        if token not in _IDLE and token not in _CHANGED and token not in UNITS
    ]


def _canonical(reading: Reading) -> list[str]:
    line = []
    for token in reading.said:
        if token in lexicon.SELF:
            line.append(SELF)
        elif token in lexicon.BE:
            line.append(BE)
        elif token != ",":
            line.append(lexicon.SYNONYMS.get(token, token))
    return line


def _one_slot(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The one place where two lines differ, as its words on either side; None when there are more, or one is empty."""
    changes = [op for op in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if op[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _tag, start, end, other_start, other_end = changes[0]
    if max(end - start, other_end - other_start) > LONGEST_VALUE:
        return None
    return list(left[start:end]), list(right[other_start:other_end])


def _is_last(line: Sequence[str], value: Sequence[str]) -> bool:
    return list(line[-len(value) :]) == list(value)


def _is_object(reading: Reading, value: Sequence[str]) -> bool:
    """The value stands without a preposition: what is chosen, not what for."""
    bare = {word.stem for word in reading.content if not word.role}
    return all(word in bare for word in value)
