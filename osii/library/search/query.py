"""What a query asks for, in the words of each language: read by PostgreSQL, so that any text is a valid query."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from django.db import connection

CONFIGS = tuple(
    f"osii_{name}"
    for name in (
        "simple", "arabic", "dutch", "english", "french", "german", "greek", "hindi", "italian", "portuguese",
        "russian", "spanish",
    )
)  # fmt: skip
"""The text search configurations of chunks (`Chunk.search_config`): one of a language each, and one for all others."""

Branch = tuple[tuple[str, ...], str]
"""Configurations in which a query means the same, and that tsquery as text."""

# A word is an identifier when it holds a digit or an underscore, or dots, slashes and the like between letters.
_IDENTIFIER = re.compile(r"\d|_|\w[^\w\s'’\-]+\w")
_ENDS = "\"'“”„«»()[]{}<>,;:!?…"
# Scripts that put no spaces between words: PostgreSQL sees one word there, so what is typed is looked for as it stands.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_OPERATOR = re.compile(r'"|(?:^|\s)-\S|(?:^|\s)or(?:\s|$)', re.IGNORECASE)
_EXCLUDED = re.compile(r'(?:^|(?<=\s))-(?:"[^"]*"?|\S+)')
# "-5" in a question is a temperature as often as what is not wanted, so what is near in meaning may hold it.
_NUMBER = re.compile(r"-[\d.,]")
_DASHES = re.compile(r'(?<!\w)-[^\w\s"]*')


@dataclass(frozen=True, slots=True)
class Words:
    """A query read. ``branches`` is empty when it holds nothing that an index could be asked for.

    ``literals`` are identifiers and unspaced words, to be found as they stand, beside a chunk's words that match ``rest``.
    ``wanted`` is the text without what it excludes, which ``excluded`` matches but for numbers.
    """

    branches: tuple[Branch, ...]
    any_word: tuple[Branch, ...] = ()
    literals: tuple[str, ...] = ()
    rest: tuple[Branch, ...] | None = None  # None: nothing but literals was asked for
    lexemes: dict[str, frozenset[str]] = field(default_factory=dict)
    wanted: str = ""
    excluded: tuple[Branch, ...] = ()


def read(text: str) -> Words:
    """The query in every configuration; one statement. Understands "a phrase", OR and -excluded words."""
    text = _DASHES.sub(_dash, text)
    plain = not _OPERATOR.search(text)
    literals, others = _literals(text) if plain else ((), "")
    wanted = _EXCLUDED.sub(" ", text)
    found = (match.group() for match in _EXCLUDED.finditer(text))
    unwanted = " or ".join(part.lstrip("-") for part in found if not _NUMBER.match(part))
    by_text: dict[str, list[tuple[str, str, str]]] = {text: [], others: [], unwanted: []}
    lexemes: dict[str, frozenset[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT content, config, query::text, querytree(query), tsvector_to_array(to_tsvector(config::regconfig, osii_words(%s))) "
            "FROM unnest(%s::text[]) WITH ORDINALITY AS known(config, place), unnest(%s::text[]) AS content, "
            "websearch_to_tsquery(config::regconfig, osii_words(content)) AS query ORDER BY place",
            (wanted, list(CONFIGS), list(by_text)),
        )
        for content, config, query, tree, words in cursor.fetchall():
            by_text[content].append((config, query, tree))
            lexemes[config] = frozenset(words)
    branches = tuple(_branches(by_text[text]))
    return Words(
        branches=branches,
        # A lexeme holds no spaces, so this is the operator and nothing else.
        any_word=tuple((configs, query.replace(" & ", " | ")) for configs, query in branches) if plain else (),
        literals=literals,
        rest=tuple(_branches(by_text[others], empty=True)) if literals and others else None,
        lexemes=lexemes,
        wanted=wanted.strip(),
        excluded=tuple(_branches(by_text[unwanted])),
    )


def _dash(found: re.Match[str]) -> str:
    """A dash excludes the word or phrase that it stands before. A rule of dashes, and one between words, mean nothing:
    PostgreSQL would take each for an operator, and refuse more than 32 of them."""
    signs, follows = found.group(), found.string[found.end() : found.end() + 1]
    return signs if signs.count("-") == 1 and follows and not follows.isspace() else " "


def _branches(rows: Iterable[tuple[str, str, str]], *, empty: bool = False) -> Iterator[Branch]:
    """By what the query is, since most words are stemmed alike in several languages. What excludes only is left out, and
    what has common words only, but for ``empty``: there it is the query "", which excludes nothing.
    """
    asked = sorted((query, config) for config, query, tree in rows if tree not in ("", "T") or (empty and not query))
    for query, group in groupby(asked, key=lambda pair: pair[0]):
        yield tuple(config for _query, config in group), query


def _literals(text: str) -> tuple[tuple[str, ...], str]:
    """The identifiers and unspaced words of a plain query, and its other words."""
    found: list[str] = []
    others: list[str] = []
    for part in text.split():
        word = part.strip(_ENDS).rstrip(".-")
        literal = len(word) > 1 and (_UNSPACED.search(word) or _IDENTIFIER.search(word))
        (found if literal else others).append(word if literal else part)
    return tuple(dict.fromkeys(found)), " ".join(others)


def literal_pattern(word: str) -> str:
    """A regular expression, the same in PostgreSQL and Python, for the word where it stands alone.

    A number is not found inside of a longer one: "3.14" is neither in 13.14 nor in 3.141 nor in 3.14.2.
    """
    escaped = "".join(letter if letter.isalnum() or letter in "_ " else f"\\{letter}" for letter in word)
    if _UNSPACED.search(word):
        return escaped
    before = r"(?<![\w])(?<!\d[.,])" if word[0].isdigit() else r"(?<![\w])" if word[0].isalnum() else ""
    after = r"(?![\w])(?![.,]\d)" if word[-1].isdigit() else r"(?![\w])" if word[-1].isalnum() else ""
    return f"{before}{escaped}{after}"
