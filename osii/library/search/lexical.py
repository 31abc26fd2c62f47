"""Search by words: the full text index of each chunk's language, and identifiers as they stand."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from .query import Branch, Words, literal_pattern
from .searched import Searched, Sql

NORMALIZATION = 1
"""Of ts_rank_cd: a long chunk that says it as often as a short one counts less, by the logarithm of its length."""

MOST = 10_000
"""Of more matches than this the newest ones are ranked: for words that so many passages hold, where they stand says little."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """``scores``: primary key → rank, best first. ``cut``: there were more matches than MOST."""

    scores: dict[int, float] = field(default_factory=dict)
    cut: bool = False


def ranked(words: Words, outputs: Searched, limit: int) -> Ranked:
    """Chunks of these outputs that match every word, best first."""
    return _ranked(words.branches, words, outputs, limit)


def ranked_by_any(words: Words, outputs: Searched, limit: int) -> Ranked:
    """The same for chunks with at least one of the words of a plain query; none for a query with operators."""
    return _ranked(words.any_word, words, outputs, limit)


def holding(branches: tuple[Branch, ...], keys: Iterable[int]) -> set[int]:
    """Those of these chunks that match."""
    match, values = _match(branches)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT chunk.id FROM osii_chunk chunk WHERE chunk.id = ANY (%s) AND ({match})", (list(keys), *values)
        )
        return {key for (key,) in cursor.fetchall()}


def _ranked(branches: tuple[Branch, ...], words: Words, outputs: Searched, limit: int) -> Ranked:
    if matches(branches, words) is None:
        return Ranked()
    with connection.cursor() as cursor:
        cursor.execute(*sql(branches, words, outputs, limit))
        rows = cursor.fetchall()
    return Ranked({key: rank for key, rank, _ in rows}, bool(rows) and rows[0][2] > MOST)


def sql(branches: tuple[Branch, ...], words: Words, within: Searched | None, limit: int) -> Sql:
    """The statement of a search by words, for whoever wants its plan: id, rank, and how many matches were ranked.

    ``within``: the outputs that are looked into; None for all chunks there are, whether current or not.
    """
    match, match_values = matches(branches, words) or ("FALSE", ())
    ranks, rank_values = _rank(branches)
    literal, literal_values = _literal(words)
    if literal:
        # What holds the identifier itself stands before what holds its parts somewhere.
        ranks, rank_values = f"{ranks} + ({literal})::int", (*rank_values, *literal_values)
    joined, values = "", match_values
    if within:
        allowed, allowed_values = within.sql()
        if within.whole:
            # Each match is asked whether it is current, by key, and what one output answered holds for its next chunk: most
            # are, and asking the whole library first takes longer than all else.
            joined = f"CROSS JOIN LATERAL (SELECT FROM ({allowed}) allowed (id) WHERE allowed.id = chunk.output_id LIMIT 1) current "
            values = (*allowed_values, *match_values)
        else:
            match, values = f"{match} AND chunk.output_id IN ({allowed})", (*match_values, *allowed_values)
    return (
        f"SELECT chunk.id, {ranks} AS rank, count(*) OVER () AS ranked FROM (SELECT chunk.* FROM osii_chunk chunk {joined}"
        f"WHERE {match} ORDER BY chunk.id DESC LIMIT {MOST + 1}) chunk ORDER BY rank DESC, chunk.id LIMIT %s",
        (*rank_values, *values, limit),
    )


def matches(branches: tuple[Branch, ...], words: Words) -> Sql | None:
    """The condition on a chunk; None where there is nothing to look for."""
    parts = [part for part in (_match(branches), _literal(words)) if part[0]]
    if not parts:
        return None
    return f"({' OR '.join(condition for condition, _ in parts)})", tuple(v for _, values in parts for v in values)


def _match(branches: Iterable[Branch]) -> Sql:
    parts: list[str] = []
    values: list[Any] = []
    for configs, query in branches:
        parts.append("(chunk.search_config = ANY(%s)" + (" AND chunk.terms @@ %s::tsquery)" if query else ")"))
        values += [list(configs), query] if query else [list(configs)]
    return " OR ".join(parts), tuple(values)


def _rank(branches: Iterable[Branch]) -> Sql:
    parts: list[str] = []
    values: list[Any] = []
    for configs, query in branches:
        parts.append("WHEN chunk.search_config = ANY(%s) THEN ts_rank_cd(chunk.terms, %s::tsquery, %s)")
        values += [list(configs), query, NORMALIZATION]
    return (f"CASE {' '.join(parts)} ELSE 0 END" if parts else "0::real"), tuple(values)


def _literal(words: Words) -> Sql:
    """Every literal stands in the text, and the other words are among its terms."""
    parts, values = [], []
    for word in words.literals:
        # The first one has an index; the second says where a word begins and ends.
        parts.append("chunk.text ILIKE %s AND chunk.text ~* %s")
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values += [f"%{escaped}%", literal_pattern(word)]
    if parts and words.rest is not None:
        match, match_values = _match(words.rest)
        parts.append(f"({match})" if match else "FALSE")
        values += match_values
    return (f"({' AND '.join(parts)})" if parts else ""), tuple(values)
