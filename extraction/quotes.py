"""Finding a quote in a text: exactly, or after normalising what readers do not see."""

import unicodedata
from dataclasses import dataclass

_SAME = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": "..."})


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quote stands: offsets in the text, in characters, and how it matched."""

    start: int
    end: int
    how: str  # "exact" or "normalised"


def find_quote(text: str, quote: str) -> Match | None:
    """The first place of ``quote`` in ``text``; None when it does not occur."""
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return Match(start, start + len(quote), "exact")
    haystack, offsets = _normalise(text)
    needle = _normalise(quote)[0].strip()
    start = haystack.find(needle) if needle else -1
    if start < 0:
        return None
    return Match(offsets[start], offsets[start + len(needle) - 1] + 1, "normalised")


def _normalise(text: str) -> tuple[str, list[int]]:
    """Lower case, one form per character, single spaces; with each result character's offset in ``text``."""
    characters: list[str] = []
    offsets: list[int] = []
    for offset, raw in enumerate(text):
        for character in unicodedata.normalize("NFKC", raw).casefold().translate(_SAME):
            blank = character.isspace()
            if blank and (not characters or characters[-1] == " "):
                continue
            characters.append(" " if blank else character)
            offsets.append(offset)
    return "".join(characters), offsets
