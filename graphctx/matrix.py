"""A learner's retrievable vectors in memory: what a scan reads, and how it grows without being read again."""

import threading
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from . import quantised
from .quantised import Codes, quantise
from .topk import Top, top_k

QUANTISE_FROM = 12_000
"""Rows from which the pass over int8 codes is the faster one, as measured; see docs/performance.md."""

SPARE = 8
"""One row in so many is room for more, when there was no room."""

ID = "V16"


class Growing:
    """Arrays with room for more rows. Rows that someone sees never change; one of those who see them may write behind them."""

    def __init__(self, ids: np.ndarray, rows: np.ndarray, room: int = 0) -> None:
        self.filled = len(ids)
        self._lock = threading.Lock()
        self.ids = _roomy(ids, room)
        self.rows = _roomy(rows, room)

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.rows.nbytes

    def add(self, after: int, ids: np.ndarray, rows: np.ndarray) -> bool:
        """Write rows behind the first ``after`` ones; False when others stand there already, or there is no room."""
        if not len(ids):
            return True
        upto = after + len(ids)
        with self._lock:
            if self.filled != after or upto > len(self.ids):
                return False
            self.filled = upto
        self.ids[after:upto], self.rows[after:upto] = ids, rows
        return True


class Storage(Growing):
    """The same with the codes of the rows, where there are enough of them."""

    def __init__(self, ids: np.ndarray, rows: np.ndarray, codes: Codes | None = None, room: int = 0) -> None:
        super().__init__(ids, rows, room)
        self.codes: np.ndarray | None = None
        self.scales: np.ndarray | None = None
        self.rest = self.length = 0.0
        if codes is not None:
            self.codes, self.scales = _roomy(codes.codes, room), _roomy(codes.scales, room)
            self.rest, self.length = codes.rest, codes.length
        else:
            self._quantise(0)

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(array.nbytes for array in (self.codes, self.scales) if array is not None)

    def add(self, after: int, ids: np.ndarray, rows: np.ndarray) -> bool:
        if not super().add(after, ids, rows):
            return False
        if len(ids):
            self._quantise(after)
        return True

    def view(self, count: int) -> Codes | None:
        """The codes of the first ``count`` rows, where there are enough to make it worth it."""
        if self.codes is None or self.scales is None or count < QUANTISE_FROM:
            return None
        return Codes(self.codes[:count], self.scales[:count], self.rest, self.length)

    def _quantise(self, after: int) -> None:
        if self.filled < QUANTISE_FROM:
            return
        if self.codes is None or self.scales is None:
            after = 0
            codes = np.empty(self.rows.shape, dtype=np.int8)
            scales = self.scales = np.empty(len(self.ids), dtype=np.float32)
        else:
            codes, scales = self.codes, self.scales
        made = quantise(self.rows[after : self.filled])
        codes[after : self.filled], scales[after : self.filled] = made.codes, made.scales
        # The bounds rise before a matrix with these rows is there.
        self.rest, self.length = max(self.rest, made.rest), max(self.length, made.length)
        self.codes = codes


def _roomy(array: np.ndarray, room: int) -> np.ndarray:
    if not room:
        return array
    roomy = np.empty((len(array) + room, *array.shape[1:]), dtype=array.dtype)
    roomy[: len(array)] = array
    return roomy


@dataclass(frozen=True, slots=True)
class Seen:
    """What a matrix has read: the learner's revision, the oldest transaction that was open then, the id of the last
    vector and the number of vectors up to it.
    """

    revision: int
    oldest: int
    last: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """The first ``count`` rows of a storage, but for those at the positions ``dead`` (ascending), which retired since."""

    seen: Seen
    storage: Storage
    count: int
    dead: np.ndarray

    @classmethod
    def of(cls, seen: Seen, ids: np.ndarray, rows: np.ndarray) -> "Matrix":
        return cls(seen, Storage(ids, rows), len(ids), np.empty(0, dtype=np.intp))

    def __len__(self) -> int:
        return self.count - len(self.dead)

    @property
    def nbytes(self) -> int:
        return self.storage.nbytes

    @property
    def ids(self) -> np.ndarray:
        """(count,) 16 raw bytes each."""
        return self.storage.ids[: self.count]

    @property
    def rows(self) -> np.ndarray:
        """(count, d) float32, C order, unit rows."""
        return self.storage.rows[: self.count]

    def uuid(self, index: int) -> UUID:
        return UUID(bytes=self.ids[index].tobytes())

    def nearest(self, query: np.ndarray, k: int) -> Top:
        """Positions and float64 cosines of the ``k`` nearest rows, exact, descending, equal ones by id."""
        codes = self.storage.view(self.count)
        if codes is None:
            return top_k(self.rows, query, k, ids=self.ids, dead=self.dead)
        return quantised.nearest(codes, self.rows, query, k, ids=self.ids, dead=self.dead)

    def positions(self, ids: list[UUID]) -> dict[UUID, int]:
        """Where those of these propositions stand that have a row."""
        if not ids or not self.count:
            return {}
        wanted = np.frombuffer(b"".join(key.bytes for key in ids), dtype=ID)
        # By the first half of the id, then by the whole: two looks at fewer bytes than one at all.
        alike = np.isin(_first_halves(self.ids), _first_halves(wanted)).nonzero()[0]
        found = {self.uuid(int(place)): int(place) for place in alike}
        return {key: found[key] for key in ids if key in found}

    def changed(self, seen: Seen, ids: np.ndarray, rows: np.ndarray, dead: np.ndarray) -> "Matrix":
        """The same with these rows more and these positions dead; this one stays as it is. The caller sees to it that
        one thread at a time does this to a matrix.
        """
        if len(dead) * 2 <= self.count and self.storage.add(self.count, ids, rows):
            return Matrix(seen, self.storage, self.count + len(ids), dead)
        left = np.delete(np.arange(self.count), dead) if len(dead) else slice(None)
        kept_ids, kept_rows, codes = self.ids[left], self.rows[left], self.storage.view(self.count)
        kept_codes = codes and Codes(codes.codes[left], codes.scales[left], codes.rest, codes.length)
        storage = Storage(kept_ids, kept_rows, kept_codes, room=len(ids) + len(kept_ids) // SPARE)
        storage.add(len(kept_ids), ids, rows)
        return Matrix(seen, storage, storage.filled, np.empty(0, dtype=np.intp))


def _first_halves(ids: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)[:, 0]
