"""Snippets: where the query's words stand in a chunk, and the piece of it that holds most of them."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from .query import Words, literal_pattern

CHARACTERS = 280
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BLANK = re.compile(r"\s")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Plain text, one line, and the spans in it (code points) that match. Whoever shows it as HTML escapes it."""

    text: str
    highlights: tuple[Span, ...] = ()


def snippets(words: Words, chunks: Iterable[tuple[int, str, str]]) -> dict[int, Snippet]:
    """Of chunks (primary key, configuration, text), by primary key. One statement, whatever their number."""
    chunks = list(chunks)
    places = {
        key: [(match.group().lower(), match.span()) for match in _WORD.finditer(text)] for key, _c, text in chunks
    }
    asked = {(config, word) for key, config, _text in chunks for word, _span in places[key]}
    known = _matching(words, asked)
    literals = [re.compile(literal_pattern(word), re.IGNORECASE) for word in words.literals]
    found = {}
    for key, config, text in chunks:
        spans = [span for word, span in places[key] if (config, word) in known]
        spans += [match.span() for pattern in literals for match in pattern.finditer(text)]
        found[key] = cut(text, spans)
    return found


def _matching(words: Words, asked: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The (configuration, word) pairs whose stem the query asks for."""
    pairs = sorted(asked)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT config, word, tsvector_to_array(to_tsvector(config::regconfig, osii_words(word))) "
            "FROM unnest(%s::text[], %s::text[]) AS asked(config, word)",
            ([config for config, _word in pairs], [word for _config, word in pairs]),
        )
        return {
            (config, word)
            for config, word, stems in cursor.fetchall()
            if not words.lexemes.get(config, frozenset()).isdisjoint(stems)
        }


def cut(text: str, spans: Iterable[Span], size: int = CHARACTERS) -> Snippet:
    """At most ``size`` characters of the text around as many of the spans as fit, ends marked by "…" where it goes on."""
    spans = _merged(spans)
    start, end = _window(text, spans, size)
    before, after = ("…" if start else ""), ("…" if end < len(text) else "")
    shift = len(before) - start
    inside = tuple((max(a, start) + shift, min(b, end) + shift) for a, b in spans if a < end and b > start)
    # White space is replaced letter by letter, so that every offset stays.
    return Snippet(before + _BLANK.sub(" ", text[start:end]) + after, inside)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _window(text: str, spans: list[Span], size: int) -> Span:
    """The stretch with most spans, the first one of several, a little before its first span, from word to word."""
    if len(text) <= size:
        return 0, len(text)
    starts = [start for start, _end in spans]
    best = max(range(len(spans)), key=lambda n: (bisect_left(starts, starts[n] + size * 3 // 4) - n, -n), default=None)
    start = 0 if best is None else min(max(starts[best] - size // 4, 0), len(text) - size)
    end = start + size
    if start and (blank := _BLANK.search(text, start, starts[best] if best is not None else start)):
        start = blank.end()
    if end < len(text):
        last = max((match.end() for match in _BLANK.finditer(text, max(start, end - size // 4), end)), default=end)
        end = max(last, start + 1)
    return start, end
