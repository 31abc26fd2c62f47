"""Search by words: the full text index of each chunk's language, and identifiers as they stand."""

from collections.abc import Iterable

from django.db import connection
from django.db.models import QuerySet

from ..models import Output
from .query import Branch, Words, literal_pattern

NORMALIZATION = 1
"""Of ts_rank_cd: a long chunk that says it as often as a short one counts less, by the logarithm of its length."""

Sql = tuple[str, tuple]
"""A piece of SQL and its parameters."""


def ranked(words: Words, outputs: QuerySet[Output], limit: int) -> dict[int, float]:
    """Chunks of these outputs that match every word, best first: primary key → rank. One statement."""
    return _ranked(words.branches, words, outputs, limit)


def ranked_by_any(words: Words, outputs: QuerySet[Output], limit: int) -> dict[int, float]:
    """The same for chunks with at least one of the words of a plain query; none for a query with operators."""
    return _ranked(words.any_word, words, outputs, limit)


def _ranked(branches: tuple[Branch, ...], words: Words, outputs: QuerySet[Output], limit: int) -> dict[int, float]:
    statement = sql(branches, words, outputs, limit)
    if statement is None:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        return dict(cursor.fetchall())


def sql(branches: tuple[Branch, ...], words: Words, outputs: QuerySet[Output], limit: int) -> Sql | None:
    """The statement of a search by words, for whoever wants its plan; None where there is nothing to look for."""
    literal, literal_values = _literal(words)
    match, match_values = _match(branches)
    conditions = [part for part in (match, literal) if part]
    if not conditions:
        return None
    ranks, rank_values = _rank(branches)
    if literal:
        # What holds the identifier itself stands before what holds its parts somewhere.
        ranks, rank_values = f"{ranks} + ({literal})::int", (*rank_values, *literal_values)
    allowed, allowed_values = outputs.order_by().values("pk").query.sql_with_params()
    return (
        f"SELECT chunk.id, {ranks} AS rank FROM osii_chunk chunk "
        f"WHERE ({' OR '.join(conditions)}) AND chunk.output_id IN ({allowed}) "
        "ORDER BY rank DESC, chunk.id LIMIT %s",
        (*rank_values, *match_values, *literal_values, *allowed_values, limit),
    )


def _match(branches: Iterable[Branch]) -> Sql:
    parts, values = [], []
    for configs, query in branches:
        parts.append("(chunk.search_config = ANY(%s)" + (" AND chunk.terms @@ %s::tsquery)" if query else ")"))
        values += [list(configs), query] if query else [list(configs)]
    return " OR ".join(parts), tuple(values)


def _rank(branches: Iterable[Branch]) -> Sql:
    parts, values = [], []
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
