"""HNSW indexes, one for each space, over a table of vectors: of propositions here, of chunks in the library."""

from django.db import connection

from .models import EmbeddingSpace

INDEX_DIMENSIONS = 2000
"""What pgvector's index takes of a vector of single precision."""


def build(table: str, name: str, space: EmbeddingSpace) -> bool:
    """Make the index of a space beside everything else that goes on; False where it is there. One that was interrupted is
    made anew. Raises ValueError for a space of more dimensions than an index takes.
    """
    if space.dimension > INDEX_DIMENSIONS:
        raise ValueError(
            f"the space {space.name!r} has {space.dimension} dimensions; an index takes {INDEX_DIMENSIONS}"
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        found = cursor.fetchone()
        if found == (True,):
            return False
        if found:
            drop(name)
        cursor.execute(
            f"CREATE INDEX {_beside()} {name} ON {table} "
            f"USING hnsw ((embedding::vector({space.dimension})) vector_cosine_ops) WHERE space_id = '{space.pk}'"
        )
    return True


def drop(name: str) -> None:
    """Drop the index, if there is one."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {_beside()} IF EXISTS {name}")


def _beside() -> str:
    """Within a transaction it can only be made with the table locked."""
    return "" if connection.in_atomic_block else "CONCURRENTLY"
