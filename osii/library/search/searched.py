"""What a search looks into, and the best of it: of the whole library without asking first of every chunk whether it is current."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from ..models import Output

Sql = tuple[str, tuple]
"""A piece of SQL and its parameters."""

CANDIDATES = 4
"""So many times as many as are wanted are ranked first in the whole library: few chunks are of former primaries."""
FEWEST = 200


@dataclass(frozen=True, slots=True)
class Searched:
    """The chunk outputs that a search looks into; ``whole`` where they are all current ones of the library."""

    outputs: QuerySet[Output]
    whole: bool = False

    def sql(self) -> Sql:
        return self.outputs.order_by().values("pk").query.sql_with_params()


def best_of(
    statement: Callable[[Searched | None, int], Sql], searched: Searched, limit: int, order: str
) -> list[tuple[Any, ...]]:
    """The first ``limit`` rows (chunk, score, …) of those that are looked into. A rank does not depend on other chunks.

    ``statement`` makes the one that ranks the chunks of these outputs, or with None all there are, up to a number. In the
    whole library the best are looked at first: where enough of them are current these are the best, exactly. Where not, and
    for a narrower scope, the scope comes first.
    """
    if searched.whole:
        first = max(CANDIDATES * limit, FEWEST)
        rows = _current(statement(None, first), searched, limit, order)
        if len(rows) == limit or (rows and rows[0][-1] < first):
            return [row[:-1] for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(*statement(searched, limit))
        return cursor.fetchall()


def _current(ranked: Sql, searched: Searched, limit: int, order: str) -> list[tuple[Any, ...]]:
    """Those of the ranked rows that are looked into, and in the last column how many were ranked."""
    allowed, values = searched.sql()
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH best AS MATERIALIZED ({ranked[0]}) SELECT best.*, (SELECT count(*) FROM best) FROM best "
            # One by one, by key: the limit keeps the server from asking of the whole library first.
            "JOIN osii_chunk chunk ON chunk.id = best.id CROSS JOIN LATERAL "
            f"(SELECT FROM ({allowed}) allowed (id) WHERE allowed.id = chunk.output_id LIMIT 1) current "
            f"ORDER BY best.{order}, best.id LIMIT %s",
            (*ranked[1], *values, limit),
        )
        return cursor.fetchall()
