"""The k nearest rows of a matrix, exactly.

One float32 pass ranks everything; whatever its rounding could have put on the wrong side is scored again in float64.
So the answer is that of a float64 scan, at the price of reading the matrix once.
"""

import numpy as np

THREADS_FROM = 12_000
"""Rows below which one thread goes over the matrix."""

RESCORE_ROWS = 4096
"""Rows per float64 block, so that many equal scores cost time and not memory."""

BLOCKS_PER_PLACE = 16
"""So many blocks per place asked for make the k-th best block maximum a close lower bound of the k-th best score."""

LEAST_BLOCK = 32
"""Smaller blocks cost more than a partition of all scores."""

Top = tuple[np.ndarray, np.ndarray]


def top_k(
    matrix: np.ndarray, query: np.ndarray, k: int, *, ids: np.ndarray | None = None, dead: np.ndarray | None = None
) -> Top:
    """Indexes (m,) and float64 scores (m,) of the m = min(k, n) rows with the largest dot product.

    ``matrix`` (n, d) and ``query`` (d,) are float32 of unit length. Descending; equal scores are ordered by ``ids``
    (n,) of 16 bytes each, else by row. Rows whose positions are in ``dead`` do not count.
    """
    # The library's product wakes a thread per core: on a busy machine waiting for the last of them costs a small matrix
    # a hundred times what it saves.
    scores = matrix @ query if len(matrix) >= THREADS_FROM else np.vecdot(matrix, query)
    return _select(matrix, query, scores, k, ids, dead)


def top_k_each(matrix: np.ndarray, queries: np.ndarray, k: int) -> list[Top]:
    """``top_k`` of each of several queries (m, d), for the price of reading the matrix once."""
    scores = queries @ matrix.T
    return [_select(matrix, query, row, k) for query, row in zip(queries, scores, strict=True)]


def top_k_among(matrix: np.ndarray, query: np.ndarray, rows: np.ndarray, k: int, ids: np.ndarray | None = None) -> Top:
    """``top_k`` of some rows (positions, ascending) of a matrix."""
    taken = matrix.take(rows, axis=0)
    places, exact = _select(taken, query, np.vecdot(taken, query), k, None if ids is None else ids[rows])
    return rows[places], exact


def _select(
    matrix: np.ndarray,
    query: np.ndarray,
    scores: np.ndarray,
    k: int,
    ids: np.ndarray | None = None,
    dead: np.ndarray | None = None,
) -> Top:
    found = candidates(scores, k, rounding_bound(matrix.shape[1]), dead)
    exact = _float64_scores(matrix, query, found)
    order = _descending(exact, None if ids is None else ids[found])[:k]
    return found[order], exact[order]


def candidates(scores: np.ndarray, k: int, error: float, dead: np.ndarray | None = None) -> np.ndarray:
    """Positions, ascending, of all rows that can be among the ``k`` best when each score may be wrong by ``error``.

    Sets the scores of ``dead`` rows to minus infinity; none of them is a candidate.
    """
    living = len(scores)
    if dead is not None and len(dead):
        scores[dead] = -np.inf
        living -= len(dead)
    if k <= 0 or living <= 0:
        return np.empty(0, dtype=np.intp)
    # At least k rows score this or more, so their true scores are above it less the error; and whoever is truly above
    # that scores at least that less the error.
    least = _reached_by(scores, k) - 2 * error if k < living else -np.inf
    found = (scores >= least).nonzero()[0]
    return found[scores[found] > -np.inf] if living < len(scores) else found


def _reached_by(scores: np.ndarray, k: int) -> float:
    """A score that at least ``k`` rows reach, near the largest such."""
    block = len(scores) // (BLOCKS_PER_PLACE * k)
    if block >= LEAST_BLOCK:
        whole = len(scores) // block * block
        scores = scores[:whole].reshape(-1, block).max(axis=1)
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def rounding_bound(dimension: int) -> float:
    """The largest error of a float32 dot product of two unit vectors, summed in whatever order."""
    unit = 2.0**-24
    products = 1.0 + 1e-5  # Cauchy-Schwarz, with room for stored lengths that are not quite 1
    return (dimension * unit) / (1 - dimension * unit) * products


def _float64_scores(matrix: np.ndarray, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    wide = query.astype(np.float64)
    exact = np.empty(len(rows))
    for start in range(0, len(rows), RESCORE_ROWS):
        # Widened at once: a product of two types goes through a small buffer, which takes ten times as long.
        block = matrix.take(rows[start : start + RESCORE_ROWS], axis=0).astype(np.float64)
        # One dot product per row, not one for the block: equal rows get equal scores, wherever they stand.
        np.vecdot(block, wide, out=exact[start : start + RESCORE_ROWS])
    return exact


def _descending(scores: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
    """The order of falling scores; equal ones by id, else as they stand."""
    if ids is None:
        return (-scores).argsort(kind="stable")
    halves = np.ascontiguousarray(ids).view(">u8").reshape(-1, 2)
    return np.lexsort((halves[:, 1], halves[:, 0], -scores))
