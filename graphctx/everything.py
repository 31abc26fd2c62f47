"""Nearest among all of a learner's propositions, retired ones included: for whoever must know what the graph holds already.

Beside the retrieval matrix of ``scan``, which is read anew after each change, this one only grows: a vector never changes,
and a learner's vectors are inserted under its lock, so their ids are in the order in which they became visible. What a
merge added is read, nothing else; what was erased meanwhile is left out by the look at the rows' states.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from .matrix import ID, SPARE, Growing
from .models import EmbeddingSpace, Proposition, PropositionVector
from .reading import copy_vectors
from .scan import CACHE_BYTES
from .topk import top_k_each

FIRST_LOOK = 4
"""So many times the number wanted are looked at first: enough unless most of a neighbourhood is retired."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The first ``count`` rows of a store, and the id of the last vector among them."""

    store: Growing
    count: int = 0
    last: int = 0

    @classmethod
    def none(cls, dimension: int) -> "_Rows":
        return cls(Growing(np.empty(0, ID), np.empty((0, dimension), np.float32)))

    @property
    def ids(self) -> np.ndarray:
        """(count,) 16 raw bytes each."""
        return self.store.ids[: self.count]

    @property
    def rows(self) -> np.ndarray:
        """(count, d) float32."""
        return self.store.rows[: self.count]

    def grown(self, ids: np.ndarray, rows: np.ndarray, last: int) -> "_Rows":
        """The same with these rows more: behind the others where there is room, else in a larger store."""
        store, count = self.store, self.count + len(ids)
        if not store.add(self.count, ids, rows):
            store = Growing(self.ids, self.rows, room=len(ids) + count // SPARE)
            store.add(self.count, ids, rows)
        return _Rows(store, count, last)


class GrowingCache:
    """Matrices of whole graphs, the most recently used within a bound on their bytes; the newest one always stays."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[UUID, UUID], _Rows] = OrderedDict()

    def get(self, space: EmbeddingSpace, learner_id: UUID) -> _Rows:
        """All vectors of a learner in a space as of now. Two queries, one of them empty when nothing was added."""
        key = (space.pk, learner_id)
        with self._lock:
            held = self._held.get(key) or _Rows.none(space.dimension)
        vectors = PropositionVector.objects.filter(space=space, learner=learner_id)
        newest = vectors.filter(pk__gt=held.last).order_by("-pk").values_list("pk", flat=True).first()
        if newest is None:
            return held
        added = vectors.filter(pk__gt=held.last, pk__lte=newest).order_by("pk")
        ids, rows = copy_vectors(added, space)
        grown = held.grown(ids, rows, newest)
        self._keep(key, grown)
        return grown

    def clear(self) -> None:
        with self._lock:
            self._held.clear()

    def _keep(self, key: tuple[UUID, UUID], grown: _Rows) -> None:
        with self._lock:
            self._held[key] = grown
            self._held.move_to_end(key)
            used = sum(held.store.nbytes for held in self._held.values())
            while used > self.max_bytes and len(self._held) > 1:
                _gone, dropped = self._held.popitem(last=False)
                used -= dropped.store.nbytes


cache = GrowingCache(CACHE_BYTES // 2)


def nearest_of_all(
    space: EmbeddingSpace, learner_id: UUID, queries: Sequence[np.ndarray], k: int
) -> list[list[tuple[UUID, float]]]:
    """For each query (d,) the ``k`` nearest retrievable propositions of a learner and the ``k`` nearest others: (id, cosine),
    exact, descending. The number of queries to the database does not depend on how many are asked about.
    """
    held = cache.get(space, learner_id)
    asked = np.asarray(queries, dtype=np.float32).reshape(-1, space.dimension)
    looked = min(held.count, k * FIRST_LOOK)
    while True:
        found = [_named(held, *top) for top in top_k_each(held.rows, asked, looked)]
        offered, there = _states({pk for one in found for pk, _score in one})
        enough = all(sum(pk in offered for pk, _score in one) >= k for one in found)
        if enough or looked >= held.count:
            return [_both(one, offered, there, k) for one in found]
        looked = min(held.count, looked * FIRST_LOOK)


def _named(held: _Rows, indexes: np.ndarray, scores: np.ndarray) -> list[tuple[UUID, float]]:
    return [(UUID(bytes=held.ids[i].tobytes()), float(score)) for i, score in zip(indexes, scores, strict=True)]


def _states(ids: Collection[UUID]) -> tuple[set[UUID], set[UUID]]:
    """Of these, the ids that are retrievable and those that exist."""
    rows = Proposition.objects.filter(pk__in=list(ids))
    return set(rows.retrievable().values_list("pk", flat=True)), set(rows.values_list("pk", flat=True))


def _both(found: list[tuple[UUID, float]], offered: set[UUID], there: set[UUID], k: int) -> list[tuple[UUID, float]]:
    live = [pair for pair in found if pair[0] in offered][:k]
    retired = [pair for pair in found if pair[0] in there and pair[0] not in offered][:k]
    return sorted([*live, *retired], key=lambda pair: (-pair[1], pair[0]))
