"""The exact scan: one matrix in memory per (space, learner), read from the database when the graph changed.

A learner's ``graph_revision`` rises in the transaction that changes the graph, so comparing it before each scan is
all it takes to see a proposition that was merged a moment ago and not to see one that was retired.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from coverage.models import Learner

from .models import EmbeddingSpace, Proposition, PropositionVector
from .topk import top_k

CACHE_BYTES = 2**30
"""Memory for matrices per process; 100,000 propositions of 384 dimensions take 155 MB."""

COPY_HEADER = 19  # signature, flags, length of an empty extension
COPY_TRAILER = b"\xff\xff"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A learner's retrievable propositions in one space, by ascending id."""

    revision: int
    ids: np.ndarray  # (n,) 16 raw bytes each
    rows: np.ndarray  # (n, d) float32, C order, unit rows

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.rows.nbytes

    def uuid(self, index: int) -> UUID:
        return UUID(bytes=self.ids[index].tobytes())


class MatrixCache:
    """The most recently used matrices, within a bound on their bytes; the newest one always stays."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._matrices: OrderedDict[tuple[UUID, UUID], Matrix] = OrderedDict()
        self._loading: dict[tuple[UUID, UUID], threading.Lock] = {}

    def get(self, space: EmbeddingSpace, learner_id: UUID) -> Matrix:
        """The matrix as of now. Raises Learner.DoesNotExist."""
        key = (space.pk, learner_id)
        revision, clean = _revision(learner_id)
        found = self._peek(key, revision)
        if found is not None:
            return found
        if not clean:
            # This transaction has written: what it sees may yet be rolled back, so no one else may see it.
            return load_matrix(space, learner_id, revision)
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        with loading:  # one thread loads, the others find what it loaded
            # Read again before loading, never after: rows may be newer than their revision, not older.
            revision, _clean = _revision(learner_id)
            return self._peek(key, revision) or self._keep(key, load_matrix(space, learner_id, revision))

    def clear(self) -> None:
        with self._lock:
            self._matrices.clear()
            self._loading.clear()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(matrix.nbytes for matrix in self._matrices.values())

    def _peek(self, key: tuple[UUID, UUID], revision: int) -> Matrix | None:
        with self._lock:
            found = self._matrices.get(key)
            if found is None or found.revision != revision:
                return None
            self._matrices.move_to_end(key)
            return found

    def _keep(self, key: tuple[UUID, UUID], matrix: Matrix) -> Matrix:
        with self._lock:
            self._matrices[key] = matrix
            self._matrices.move_to_end(key)
            used = sum(kept.nbytes for kept in self._matrices.values())
            while used > self.max_bytes and len(self._matrices) > 1:
                gone, dropped = self._matrices.popitem(last=False)
                self._loading.pop(gone, None)
                used -= dropped.nbytes
        return matrix


cache = MatrixCache(CACHE_BYTES)


def nearest(space: EmbeddingSpace, learner_id: UUID, query: np.ndarray, k: int) -> list[tuple[UUID, float]]:
    """The ``k`` retrievable propositions of a learner nearest to ``query`` (d,): (id, cosine), exact, descending.

    Equal similarities are ordered by id. Raises ValueError for a query of another dimension than the space's.
    """
    if np.shape(query) != (space.dimension,):
        raise ValueError(f"the query has shape {np.shape(query)}, the space {space.name!r} has {space.dimension}")
    matrix = cache.get(space, learner_id)
    indexes, scores = top_k(matrix.rows, np.asarray(query, dtype=np.float32), k)
    return [(matrix.uuid(index), float(score)) for index, score in zip(indexes, scores, strict=True)]


def _revision(learner_id: UUID) -> tuple[int, bool]:
    """The learner's graph revision, and whether this transaction has written nothing so far."""
    clean = RawSQL("pg_current_xact_id_if_assigned() IS NULL", (), output_field=BooleanField())
    return Learner.objects.values_list("graph_revision", clean).get(pk=learner_id)


def load_matrix(space: EmbeddingSpace, learner_id: UUID, revision: int) -> Matrix:
    """Read a learner's retrievable vectors by binary COPY, past the cache."""
    rows = PropositionVector.objects.filter(space=space, learner=learner_id)
    offered = rows.filter(proposition__in=Proposition.objects.retrievable()).order_by("proposition_id")
    return Matrix(revision, *copy_vectors(offered, space))


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
