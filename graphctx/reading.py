"""Reading a learner's retrievable vectors: all of them by binary COPY, or what changed since they were read.

Each change is stamped by the database with its transaction (migration 0012). What a matrix may have missed was written
by a transaction that was open, or not begun, when it was read: none of these is older than the oldest open one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection, transaction
from django.db.models import QuerySet

from coverage.models import Learner

from .matrix import Matrix, Seen
from .models import EmbeddingSpace, Proposition, PropositionVector

COPY_HEADER = 19  # signature, flags, length of an empty extension
COPY_TRAILER = b"\xff\xff"

NOW = """
SELECT graph_revision, pg_current_xact_id_if_assigned() IS NULL, pg_snapshot_xmin(s)::text::bigint,
pg_snapshot_xmax(s)::text::bigint FROM coverage_learner, pg_current_snapshot() s WHERE id = %s
"""

COUNTED = """
SELECT count(*) FILTER (WHERE id <= %(last)s), count(*), COALESCE(max(id), 0) FROM graphctx_propositionvector
WHERE space_id = %(space)s AND learner_id = %(learner)s
"""

# Stamps that are not below the next transaction's id come from another server, whose dump was restored here.
TOUCHED = """
SELECT p.id, p.state = 'live' AND EXISTS (SELECT FROM graphctx_instance i WHERE i.proposition_id = p.id AND i.live)
FROM graphctx_proposition p WHERE p.learner_id = %(learner)s AND p.id IN (
    SELECT id FROM graphctx_proposition
    WHERE learner_id = %(learner)s AND changed >= %(oldest)s AND changed < %(next)s
    UNION SELECT proposition_id FROM graphctx_instance WHERE changed >= %(oldest)s AND changed < %(next)s
)
"""


@dataclass(frozen=True, slots=True)
class Now:
    """A learner's graph at this moment. ``clean``: this transaction has written nothing so far."""

    revision: int
    clean: bool
    oldest: int
    next: int


@contextmanager
def one_snapshot() -> Iterator[None]:
    """All that is read within is of one moment, unless the caller is in a transaction already."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def now(learner_id: UUID) -> Now:
    """One query. Raises Learner.DoesNotExist."""
    with connection.cursor() as cursor:
        cursor.execute(NOW, [learner_id])
        row = cursor.fetchone()
    if row is None:
        raise Learner.DoesNotExist(f"there is no learner {learner_id}")
    return Now(*row)


def read_all(space: EmbeddingSpace, learner_id: UUID, at: Now) -> Matrix:
    """A learner's matrix, read from the database as a whole. ``at`` was asked for before: rows may be newer, not older."""
    _before, vectors, last = _counted(space, learner_id, 0)
    rows = PropositionVector.objects.filter(space=space, learner=learner_id, pk__lte=last)
    offered = rows.filter(proposition__in=Proposition.objects.retrievable()).order_by("proposition_id")
    return Matrix.of(Seen(at.revision, at.oldest, last, vectors), *copy_vectors(offered, space))


def read_changes(space: EmbeddingSpace, learner_id: UUID, held: Matrix, at: Now) -> Matrix | None:
    """The held matrix with what changed since; None where it must be read as a whole: something was erased, or a dump
    was restored. As with ``read_all``, ``at`` was asked for before.
    """
    seen = held.seen
    before, vectors, last = _counted(space, learner_id, seen.last)
    if before != seen.vectors or at.oldest < seen.oldest:
        return None
    touched = _touched(learner_id, seen.oldest, at.next)
    if len(touched) > max(len(held), 1000):
        return None
    places = held.positions(list(touched))
    fresh = PropositionVector.objects.filter(space=space, learner=learner_id, pk__lte=last)
    back = [key for key, retrievable in touched.items() if retrievable and key not in places]
    wanted = fresh.filter(pk__gt=seen.last) | fresh.filter(proposition__in=back)
    offered = wanted.filter(proposition__in=Proposition.objects.retrievable()).order_by("proposition_id")
    ids, rows = copy_vectors(offered, space)
    changed = Seen(at.revision, at.oldest, last, vectors)
    return held.changed(changed, ids, rows, _dead(held, touched, places))


def _dead(held: Matrix, touched: dict[UUID, bool], places: dict[UUID, int]) -> np.ndarray:
    gone = [place for key, place in places.items() if not touched[key]]
    back = [place for key, place in places.items() if touched[key]]
    return np.union1d(np.setdiff1d(held.dead, back), gone).astype(np.intp)


def _counted(space: EmbeddingSpace, learner_id: UUID, last: int) -> tuple[int, int, int]:
    """How many vectors a learner has in a space up to this id, and in all, and the last one's id. A learner's vectors get
    their ids under its lock and are never changed: as many as before up to the same id are the same ones.
    """
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, {"last": last, "space": space.pk, "learner": learner_id})
        return cursor.fetchone()


def _touched(learner_id: UUID, oldest: int, upto: int) -> dict[UUID, bool]:
    """Propositions that were written since, or whose evidence was: whether each is retrievable now."""
    with connection.cursor() as cursor:
        cursor.execute(TOUCHED, {"learner": learner_id, "oldest": oldest, "next": upto})
        return dict(cursor.fetchall())


def copy_vectors(vectors: QuerySet[PropositionVector], space: EmbeddingSpace) -> tuple[np.ndarray, np.ndarray]:
    """These vectors of a space by binary COPY, in their order: proposition ids (n,) of 16 raw bytes, rows (n, d) float32."""
    return _parse(_copy_binary(*vectors.values_list("proposition_id", "embedding").query.sql_with_params()), space)


def _copy_binary(sql: str, params: tuple) -> bytes:
    connection.ensure_connection()
    statement = psycopg.ClientCursor(connection.connection).mogrify(sql, params)
    with connection.cursor() as cursor, cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT BINARY)") as copy:
        return b"".join(copy)


def _parse(data: bytes, space: EmbeddingSpace) -> tuple[np.ndarray, np.ndarray]:
    """COPY's records have one length here, so the whole answer is one structured array."""
    record = np.dtype(
        [
            ("fields", ">i2"),
            ("id_length", ">i4"),
            ("id", "V16"),
            ("vector_length", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f4", (space.dimension,)),
        ]
    )
    body = len(data) - COPY_HEADER - len(COPY_TRAILER)
    records = np.frombuffer(data, dtype=record, offset=COPY_HEADER, count=body // record.itemsize)
    uniform = body % record.itemsize == 0 and bool(
        (records["fields"] == 2).all() and (records["dimension"] == space.dimension).all()
    )
    if not uniform or not data.endswith(COPY_TRAILER):
        raise ValueError(f"the space {space.name!r} holds vectors of another dimension than its {space.dimension}")
    ids, rows = np.ascontiguousarray(records["id"]), np.ascontiguousarray(records["vector"], dtype=np.float32)
    return ids, rows
