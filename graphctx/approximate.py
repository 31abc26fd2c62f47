"""Above a size, pgvector's HNSW index instead of the exact scan: it finds nearly all of the nearest, and reads few rows.

An index is of one space. Learners and what may be retrieved are filters on what it yields; an iterative scan goes on
until enough has passed them.
"""

import threading
import time
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection, transaction

from . import vector_index
from .models import EmbeddingSpace

LEAST_LOOKED_AT = 200
MOST_LOOKED_AT = 1000
SCANNED_TUPLES = 200_000
"""So many rows the iterative scan may pass over before it gives up, for learners with a small share of the space."""

KNOWN_SECONDS = 300

LARGE = """
SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(%(index)s) AND indisvalid) AND (
    SELECT count(*) FROM (
        SELECT FROM graphctx_propositionvector WHERE space_id = %(space)s AND learner_id = %(learner)s LIMIT %(most)s + 1
    ) counted
) > %(most)s
"""

NEAREST = """
SELECT v.proposition_id, 1 - ((v.embedding::vector({dimension})) <=> %(query)s::vector({dimension}))
FROM graphctx_propositionvector v WHERE v.space_id = '{space}' AND v.learner_id = %(learner)s AND EXISTS (
    SELECT FROM graphctx_proposition p WHERE p.id = v.proposition_id AND p.state = 'live' AND EXISTS (
        SELECT FROM graphctx_instance i WHERE i.proposition_id = p.id AND i.live
    )
) ORDER BY (v.embedding::vector({dimension})) <=> %(query)s::vector({dimension}) LIMIT %(k)s
"""

_lock = threading.Lock()
_known: dict[tuple[UUID, UUID], tuple[float, bool]] = {}


def applies(space: EmbeddingSpace, learner_id: UUID) -> bool:
    """Whether the space has an index and the learner more vectors in it than OSII_GRAPH_EXACT_VECTORS. Asked of the
    database every few minutes: a graph does not grow by an order of magnitude meanwhile.
    """
    key = (space.pk, learner_id)
    with _lock:
        at, known = _known.get(key, (-np.inf, False))
    if time.monotonic() - at < KNOWN_SECONDS:
        return known
    values: dict[str, Any] = {
        "index": index_name(space), "space": space.pk, "learner": learner_id,
        "most": settings.OSII_GRAPH_EXACT_VECTORS,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(LARGE, values)
        large = cursor.fetchone()[0]
    with _lock:
        _known[key] = (time.monotonic(), large)
    return large


def forget() -> None:
    """Ask anew: an index was made or dropped."""
    with _lock:
        _known.clear()


def nearest(space: EmbeddingSpace, learner_id: UUID, query: np.ndarray, k: int) -> list[tuple[UUID, float]]:
    """Like ``scan.nearest``, nearly all of the nearest."""
    if k <= 0:
        return []
    looked_at = min(max(2 * k, LEAST_LOOKED_AT), MOST_LOOKED_AT)
    # As a literal: the planner takes a partial index only for a condition that it can compare with the index's own.
    statement = NEAREST.format(dimension=space.dimension, space=space.pk)
    values: dict[str, Any] = {"query": "[" + ",".join(map(repr, query.tolist())) + "]", "learner": learner_id, "k": k}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.max_scan_tuples', %s, true)",
            [str(looked_at), str(SCANNED_TUPLES)],
        )
        cursor.execute(statement, values)
        return sorted(cursor.fetchall(), key=lambda found: (-found[1], found[0]))


def index_name(space: EmbeddingSpace) -> str:
    """The name of a space's index in the database."""
    return f"propositionvector_hnsw_{space.pk.hex}"


def build_index(space: EmbeddingSpace) -> bool:
    """As `vector_index.build`."""
    made = vector_index.build("graphctx_propositionvector", index_name(space), space)
    if made:
        forget()
    return made


def drop_index(space: EmbeddingSpace) -> None:
    """Drop the index of a space, if there is one."""
    vector_index.drop(index_name(space))
    forget()
