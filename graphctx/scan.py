"""The exact scan: one matrix in memory per (space, learner), kept up to date by what changed in the graph.

A learner's ``graph_revision`` rises in the transaction that changes the graph, so comparing it before each scan is
all it takes to see a proposition that was merged a moment ago and not to see one that was retired.
"""

import threading
from collections import OrderedDict
from uuid import UUID

import numpy as np
from django.conf import settings

from . import approximate
from .matrix import Matrix
from .models import EmbeddingSpace
from .reading import now, one_snapshot, read_all, read_changes

CACHE_BYTES = 2**30
"""Memory for matrices per process; 100,000 propositions of 384 dimensions take 194 MB."""


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
        at = now(learner_id)
        held = self._peek(key)
        if held is not None and held.seen.revision == at.revision:
            return held
        if not at.clean:
            # This transaction has written: what it sees may yet be rolled back, so no one else may see it.
            return read_all(space, learner_id, at)
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        with loading, one_snapshot():  # one thread reads, the others find what it read
            # Asked again before reading, never after: where there is no one snapshot, rows may be newer than their
            # revision, not older.
            at = now(learner_id)
            held = self._peek(key)
            if held is not None and held.seen.revision == at.revision:
                return held
            matrix = read_changes(space, learner_id, held, at) if held is not None else None
            return self._keep(key, read_all(space, learner_id, at) if matrix is None else matrix)

    def outgrown(self, space: EmbeddingSpace, learner_id: UUID) -> bool:
        """Whether the learner may have too many vectors for an exact scan; asks the database nothing."""
        with self._lock:
            held = self._matrices.get((space.pk, learner_id))
        return held is None or held.seen.vectors > settings.OSII_GRAPH_EXACT_VECTORS

    def clear(self) -> None:
        with self._lock:
            self._matrices.clear()
            self._loading.clear()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(matrix.nbytes for matrix in self._matrices.values())

    def _peek(self, key: tuple[UUID, UUID]) -> Matrix | None:
        with self._lock:
            held = self._matrices.get(key)
            if held is not None:
                self._matrices.move_to_end(key)
            return held

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
    """The ``k`` retrievable propositions of a learner nearest to ``query`` (d,): (id, cosine), descending. Exact, but for
    learners with more than OSII_GRAPH_EXACT_VECTORS in a space that has an index.

    Equal similarities are ordered by id. Raises ValueError for a query of another dimension than the space's.
    """
    if np.shape(query) != (space.dimension,):
        raise ValueError(f"the query has shape {np.shape(query)}, the space {space.name!r} has {space.dimension}")
    if cache.outgrown(space, learner_id) and approximate.applies(space, learner_id):
        return approximate.nearest(space, learner_id, np.asarray(query, dtype=np.float32), k)
    matrix = cache.get(space, learner_id)
    indexes, scores = matrix.nearest(np.asarray(query, dtype=np.float32), k)
    return [(matrix.uuid(index), float(score)) for index, score in zip(indexes, scores, strict=True)]
