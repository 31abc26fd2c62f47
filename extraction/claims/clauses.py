"""Parts of an explanation's sentence that stand alone where the whole does not: "Peel it off: tape does not decompose"."""

import re
from collections.abc import Iterator

_MIN_WORDS = 5
# What follows is said about the moment or tells what to do; what stands before it holds by itself.
_BEFORE = re.compile(
    r"(?:, so (?!that\b)|, which (?:is why|means|explains)\b|;|: | – | — | - (?=[a-z])|, and (?=you\b|your\b|then\b))"
)
_AFTER = re.compile(r"(?::|;| – | — | - |, but| – and|, because(?= \w+ \w+ \w+ \w+ \w+)) +")


def standing(text: str) -> Iterator[str]:
    """The parts of an English sentence that may stand alone, the longest first: its beginnings, then its ends."""
    parts = [text[: match.start()] for match in _BEFORE.finditer(text)]
    parts += [text[match.end() :] for match in _AFTER.finditer(text)]
    for part in sorted({part.strip() for part in parts}, key=len, reverse=True):
        if len(part.split()) >= _MIN_WORDS:
            yield part
