"""The k nearest rows of a matrix, exactly.

One float32 pass ranks everything; whatever its rounding could have put on the wrong side is scored again in float64.
So the answer is that of a float64 scan, at the price of reading the matrix once.
"""

import numpy as np

RESCORE_ROWS = 4096
"""Rows per float64 block, so that many equal scores cost time and not memory."""


def top_k(matrix: np.ndarray, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Indexes (m,) and float64 scores (m,) of the m = min(k, n) rows with the largest dot product.

    ``matrix`` (n, d) and ``query`` (d,) are float32 of unit length. Descending; equal scores keep the row order.
    """
    return _select(matrix, query, matrix @ query, k)


def top_k_each(matrix: np.ndarray, queries: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """``top_k`` of each of several queries (m, d), for the price of reading the matrix once."""
    scores = queries @ matrix.T
    return [_select(matrix, query, row, k) for query, row in zip(queries, scores, strict=True)]


def _select(matrix: np.ndarray, query: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    n, d = matrix.shape
    k = min(k, n)
    if k <= 0:
        return np.empty(0, dtype=np.intp), np.empty(0)
    if k < n:
        threshold = np.partition(scores, n - k)[n - k]
        candidates = (scores >= threshold - 2 * rounding_bound(d)).nonzero()[0]
    else:
        candidates = np.arange(n)
    exact = _float64_scores(matrix, query, candidates)
    # Candidates ascend by row, and a stable sort keeps that order among equals.
    order = (-exact).argsort(kind="stable")[:k]
    return candidates[order], exact[order]


def rounding_bound(dimension: int) -> float:
    """The largest error of a float32 dot product of two unit vectors, summed in whatever order."""
    unit = 2.0**-24
    products = 1.0 + 1e-5  # Cauchy-Schwarz, with room for stored lengths that are not quite 1
    return (dimension * unit) / (1 - dimension * unit) * products


def _float64_scores(matrix: np.ndarray, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    wide = query.astype(np.float64)
    exact = np.empty(len(rows))
    for start in range(0, len(rows), RESCORE_ROWS):
        block = matrix.take(rows[start : start + RESCORE_ROWS], axis=0)
        # One dot product per row, not one for the block: equal rows get equal scores, wherever they stand.
        np.vecdot(block, wide, out=exact[start : start + RESCORE_ROWS])
    return exact
