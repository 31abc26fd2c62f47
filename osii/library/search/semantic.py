"""Search by meaning: the chunk vectors of the active space, exactly, or by an index above a size."""

import numpy as np
from django.conf import settings
from django.db import connection, transaction

from graphctx import vector_index
from graphctx.embedding import active_space, embedder_of
from graphctx.models import EmbeddingSpace

from .searched import Searched, Sql, best_of


def nearest(text: str, outputs: Searched, limit: int) -> dict[int, float]:
    """Chunks of these outputs nearest in meaning, nearest first: primary key → cosine similarity.

    Raises EmbeddingError, and SpaceMismatch where the active space is another model's.
    """
    space = active_space()
    query = embedder_of(space).embed_query(text)
    with transaction.atomic(), connection.cursor() as cursor:
        indexed = uses_index(space, outputs)
        if indexed:
            # An index without it stops after its first candidates, however few of them the scope allows.
            cursor.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(min(max(limit, 100), 1000)),))
        rows = best_of(
            lambda within, most: sql(space, query, within, most, indexed=indexed), outputs, limit, "distance"
        )
        return {key: 1 - distance for key, distance in rows}


def sql(space: EmbeddingSpace, query: np.ndarray, within: Searched | None, limit: int, *, indexed: bool = False) -> Sql:
    """The statement of a search by meaning, for whoever wants its plan: the chunk as id, and its distance.

    ``within``: the outputs that are looked into; None for all vectors there are, whether current or not.
    """
    column = f"(vector.embedding::vector({space.dimension}))" if indexed else "vector.embedding"
    # As a literal: the planner takes a partial index only for a condition that it can compare with the index's own.
    belongs = f"vector.space_id = '{space.pk}'"
    joined, values = "", ()
    if within:
        allowed, values = within.sql()
        joined = "JOIN osii_chunk chunk ON chunk.id = vector.chunk_id "
        belongs += f" AND chunk.output_id IN ({allowed})"
    return (
        f"SELECT vector.chunk_id AS id, {column} <=> %s::vector({space.dimension}) AS distance FROM osii_chunkvector vector "
        f"{joined}WHERE {belongs} ORDER BY distance, vector.chunk_id LIMIT %s",
        (_literal(query), *values, limit),
    )


def uses_index(space: EmbeddingSpace, outputs: Searched) -> bool:
    """Whether there is an index, and more vectors in the scope than are compared one by one."""
    most = settings.OSII_SEARCH_EXACT_VECTORS
    allowed, values = outputs.sql()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)", (name(space),)
        )
        if not cursor.fetchone()[0]:
            return False
        cursor.execute(
            "SELECT count(*) FROM (SELECT FROM osii_chunkvector vector JOIN osii_chunk chunk ON chunk.id = vector.chunk_id "
            f"WHERE vector.space_id = %s AND chunk.output_id IN ({allowed}) LIMIT %s) counted",
            (space.pk, *values, most + 1),
        )
        return cursor.fetchone()[0] > most


def name(space: EmbeddingSpace) -> str:
    """The index of a space."""
    return f"chunkvector_hnsw_{space.pk.hex}"


def build_index(space: EmbeddingSpace) -> bool:
    """As `vector_index.build`."""
    return vector_index.build("osii_chunkvector", name(space), space)


def _literal(vector: np.ndarray) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"
