"""Patterns of names (``*``, ``?``, ``[abc]``, ``[!a-c]``) for the database, matching what `fnmatch` does in Python."""

import re
from collections.abc import Iterator

Range = tuple[str, str]
"""First and last character, both inclusive; one that runs backwards holds nothing."""


def glob(pattern: str) -> str:
    """The pattern as a regular expression of PostgreSQL, valid whatever the pattern is."""
    return f"^{''.join(_parts(pattern))}$"


def backwards(pattern: str) -> str | None:
    """The first range in the pattern that runs backwards, as it is written; None when there is none."""
    return next((f"{one}-{last}" for inside in _sets(pattern) for one, last in _ranges(inside)[1] if one > last), None)


def _parts(pattern: str) -> Iterator[str]:
    for letter, inside in _letters(pattern):
        if inside is not None:
            yield _set(inside)
        else:
            yield {"*": ".*", "?": "."}.get(letter) or re.escape(letter)


def _sets(pattern: str) -> Iterator[str]:
    return (inside for _, inside in _letters(pattern) if inside is not None)


def _letters(pattern: str) -> Iterator[tuple[str, str | None]]:
    """Each letter of the pattern; of a set in brackets the first one, with what stands inside."""
    rest = pattern
    while rest:
        letter, rest = rest[0], rest[1:]
        end = rest.find("]", 2 if rest.startswith("!") else 1)
        if letter == "[" and end > 0:
            inside, rest = rest[:end], rest[end + 1 :]
            yield letter, inside
        else:
            yield letter, None


def _ranges(inside: str) -> tuple[bool, list[Range]]:
    """Whether the set is negated, and what it names; a single character is a range of its own."""
    negated, found, rest = inside.startswith("!"), [], inside.removeprefix("!")
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            found.append((rest[0], rest[2]))
            rest = rest[3:]
        else:
            found.append((rest[0], rest[0]))
            rest = rest[1:]
    return negated, found


def _set(inside: str) -> str:
    negated, ranges = _ranges(inside)
    shown = "".join(
        _literal(one) if one == last else f"{_literal(one)}-{_literal(last)}" for one, last in ranges if one <= last
    )
    if not shown:
        return "." if negated else "$."  # nothing follows an end: it never matches
    return f"[{'^' if negated else ''}{shown}]"


def _literal(letter: str) -> str:
    """In brackets letters and digits mean themselves, and so does whatever else a backslash stands before."""
    return letter if letter.isalnum() or not letter.isascii() else f"\\{letter}"
