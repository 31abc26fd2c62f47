"""An enrichment that lists names by how they are written. It is no trained recogniser and gives them no types.

In languages that write names (and not every noun) with capital letters, a run of capitalised words is a name if it also stands
where no sentence begins. Beside names it lists addresses of the web and of mail.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from extraction.claims.language import COMMON_WORDS

from .base import Made, Method, Option, Source
from .models import OutputKind
from .sentences import sentences

CAPITALS_MEAN_NAMES = frozenset({"en", "fr", "es", "pt", "it", "nl", "ru", "el", "und"})
CAPITALS_MEAN_NOUNS = frozenset({"de"})
"""Here only several capitalised words after each other are taken for a name. Scripts without case show nothing."""
PLACES = 20
"""So many places of a name are kept; its count is of all."""
LONGEST_NAME = 80
CHECK_EVERY = 500
_URL = re.compile(r"\bhttps?://[^\s<>\"'()\[\]{}]+[^\s<>\"'()\[\]{}.,;:!?]")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_ADDRESS = re.compile(f"{_URL.pattern}|{_MAIL.pattern}")
_TOKEN = re.compile(r"[^\W_]+(?:[.'’&-][^\W_]+)*")
_JOINING = frozenset("de da di del della du la le van von of the and for y e et dos das do".split())


class Entities(Method):
    kind = OutputKind.ENRICHMENT
    name = "entities"
    version = "1"
    label = "Names by their capitals, addresses"
    options = {
        "most": Option(200, "The most names.", least=1, most=2000),
        "least_count": Option(1, "How often a name must occur.", least=1, most=100),
    }

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        language = source.language
        addresses = {"urls": _found(_URL, source.text), "mail_addresses": _found(_MAIL, source.text)}
        told = language in CAPITALS_MEAN_NAMES | CAPITALS_MEAN_NOUNS
        names = _names(source) if told else []
        kept = [name for name in names if name["count"] >= options["least_count"]][: options["most"]]
        by = "capital letters" if told else "nothing: capital letters do not tell names in this language"
        return Made(
            content={"language": language, "by": by, "names": kept, **addresses},
            counts={"names": len(kept), **{kind: len(found) for kind, found in addresses.items()}},
        )


def _found(pattern: re.Pattern[str], text: str) -> list[dict[str, Any]]:
    """What a pattern finds, the most frequent first, with its first places."""
    places: dict[str, list[int]] = defaultdict(list)
    for match in pattern.finditer(text):
        places[match.group()].append(match.start())
    return _listed(places)


def _listed(places: Mapping[str, list[int]]) -> list[dict[str, Any]]:
    ranked = sorted(places.items(), key=lambda item: (-len(item[1]), item[1][0]))
    return [
        {"text": text, "count": len(starts), "places": [[start, start + len(text)] for start in starts[:PLACES]]}
        for text, starts in ranked
    ]


def _names(source: Source) -> list[dict[str, Any]]:
    """Names with their places. What only ever begins sentences, is a common word or is also written small is none."""
    common = COMMON_WORDS.get(source.language, frozenset())
    inside: set[str] = set()
    small: set[str] = set()
    found: list[tuple[int, int, str]] = []
    for number, sentence in enumerate(sentences(source.text, source.language)):
        if number % CHECK_EVERY == 0:
            source.checkpoint()
        if sentence.text.isupper():
            continue  # a heading
        text = _ADDRESS.sub(lambda address: "\n" * len(address.group()), sentence.text)
        small |= {word for word in _TOKEN.findall(text) if word.islower()}
        for start, name in _runs(text):
            found.append((sentence.start, sentence.start + start, name))
            inside |= set(name.split()[start == 0 :])
    several = source.language in CAPITALS_MEAN_NOUNS
    places: dict[str, list[int]] = defaultdict(list)
    for begin, at, run in found:
        first, _, rest = run.partition(" ")
        bare = first.casefold() in common or (at == begin and first not in inside)
        name = rest if bare else run
        if name and name.casefold() not in small | common and (" " in name or not several):
            places[name].append(at + len(run) - len(name))
    return _listed(places)


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Runs of capitalised words, joined by small words such as "of" between two of them; (start, name)."""
    start = end = pending = -1
    for token in _TOKEN.finditer(text):
        gap = text[end : token.start()] if end >= 0 else ""
        adjacent = start >= 0 and not gap.strip()
        if _is_capitalised(token.group()):
            if not (adjacent or (pending >= 0 and not text[pending : token.start()].strip())):
                yield from _closed(text, start, end)
                start = token.start()
            end, pending = token.end(), -1
        elif adjacent and pending < 0 and token.group() in _JOINING:
            pending = token.end()
        else:
            yield from _closed(text, start, end)
            start = end = pending = -1
    yield from _closed(text, start, end)


def _closed(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    name = text[start:end] if start >= 0 else ""
    if 2 <= len(name) <= LONGEST_NAME and "\n" not in name:
        yield start, name


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and len(word) > 1
