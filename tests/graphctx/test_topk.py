"""The exact top k against a naive float64 ranking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphctx.topk import rounding_bound, top_k

from .conftest import unit


def naive(matrix: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    scores = (matrix.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return sorted(range(len(matrix)), key=lambda row: (-scores[row], row))[:k]


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 200),
    d=st.integers(1, 64),
    k=st.integers(0, 220),
    copies=st.integers(0, 5),
)
def test_equals_the_naive_ranking(seed: int, n: int, d: int, k: int, copies: int) -> None:
    random = np.random.default_rng(seed)
    matrix = unit(random.standard_normal((n, d)))
    for _copy in range(copies):  # equal rows: the order among them is the row order
        matrix[random.integers(n)] = matrix[random.integers(n)]
    query = unit(random.standard_normal(d))
    indexes, scores = top_k(matrix, query, k)
    assert indexes.tolist() == naive(matrix, query, k)
    assert (np.diff(scores) <= 0).all()


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 50))
def test_rows_that_float32_cannot_tell_apart_are_ranked_by_float64(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    near = random.standard_normal(256) + 1e-7 * random.standard_normal((300, 256))
    matrix, query = unit(near), unit(random.standard_normal(256))
    assert top_k(matrix, query, k)[0].tolist() == naive(matrix, query, k)


def test_float32_error_stays_within_the_bound() -> None:
    random = np.random.default_rng(1)
    matrix, query = unit(random.standard_normal((5000, 512))), unit(random.standard_normal(512))
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    assert np.abs((matrix @ query) - exact).max() < rounding_bound(512) < 1e-4


@pytest.mark.parametrize("k", [0, 3])
def test_an_empty_matrix_has_no_nearest(k: int) -> None:
    indexes, scores = top_k(np.empty((0, 8), dtype=np.float32), np.ones(8, dtype=np.float32), k)
    assert len(indexes) == len(scores) == 0
