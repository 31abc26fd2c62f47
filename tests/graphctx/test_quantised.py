"""The int8 pass: its error stays within what it claims, and its answers are those of a float64 ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphctx import matrix as matrices
from graphctx import quantised
from graphctx.matrix import Matrix, Seen
from graphctx.quantised import approximate, quantise
from graphctx.topk import top_k

from .conftest import unit
from .test_topk import naive

SEEN = Seen(1, 1, 1, 1)
SHAPES = ["spread", "near", "spiky", "tiny"]


def rows_like(random: np.random.Generator, shape: str, n: int, d: int) -> np.ndarray:
    rows = random.standard_normal((n, d))
    if shape == "near":  # nothing that eight bits could tell apart
        rows = random.standard_normal(d) + 1e-4 * rows
    if shape == "spiky":  # one number takes all steps, the others share what is left
        rows[:, 0] = 1000
    if shape == "tiny":
        rows[:, 1:] *= 1e-20
    return unit(rows)


def ids_of(random: np.random.Generator, n: int) -> np.ndarray:
    return np.frombuffer(random.bytes(16 * n), dtype="V16")


@given(
    seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES), n=st.integers(1, 300), d=st.integers(2, 70),
    k=st.integers(0, 40),
)  # fmt: skip
def test_equals_the_naive_ranking(seed: int, shape: str, n: int, d: int, k: int) -> None:
    random = np.random.default_rng(seed)
    matrix, query = rows_like(random, shape, n, d), unit(random.standard_normal(d))
    indexes, scores = quantised.nearest(quantise(matrix), matrix, query, k)
    true = (matrix.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    # Rows whose cosines differ by less than float64's rounding may stand either way round.
    np.testing.assert_allclose(true[indexes], true[naive(matrix, query, k)], rtol=0, atol=1e-15)
    assert len(set(indexes.tolist())) == len(indexes) == min(k, n)
    assert [indexes.tolist(), scores.tolist()] == [part.tolist() for part in top_k(matrix, query, k)]


@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES), d=st.sampled_from([1, 2, 7, 384, 1500]))
def test_the_error_stays_within_the_bound(seed: int, shape: str, d: int) -> None:
    random = np.random.default_rng(seed)
    matrix, query = rows_like(random, shape, 50, d), unit(random.standard_normal(d))
    scores, error = approximate(quantise(matrix), query)
    step = np.abs(query).max() / 127
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    assert (np.abs(scores - exact / step) <= error).all()


def test_a_smaller_bound_would_be_wrong() -> None:
    """The bound is needed: with a fortieth of it, rows that belong to the answer are left out."""
    random = np.random.default_rng(2)
    matrix = unit(random.standard_normal(64) + 0.01 * random.standard_normal((2000, 64)))
    codes, missed = quantise(matrix), 0
    for query in unit(random.standard_normal((20, 64))):
        scores, error = approximate(codes, query)
        kept = quantised.candidates(scores, 20, error / 40)
        missed += len(set(naive(matrix, query, 20)).difference(kept.tolist()))
    assert missed


def test_sums_are_exact_at_the_ends_of_the_range() -> None:
    """Where a sum of products would overflow 16 or 24 bits."""
    matrix = unit(np.ones((3, 2048)) * np.array([[1.0], [-1.0], [1.0]]))
    scores, _error = approximate(quantise(matrix), matrix[0])
    assert scores.tolist() == pytest.approx((np.array([1, -1, 1]) * 127 * np.sqrt(2048)).tolist(), rel=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1), coded=st.booleans(), k=st.integers(1, 30), n=st.integers(2, 60), dead=st.integers(0, 60)
)  # fmt: skip
def test_dead_rows_do_not_count_and_equal_ones_are_ordered_by_id(
    seed: int, coded: bool, k: int, n: int, dead: int
) -> None:
    random = np.random.default_rng(seed)
    distinct = unit(random.standard_normal((4, 16)))
    rows, ids = distinct[random.integers(4, size=n)], ids_of(random, n)  # very many equal rows
    query = unit(random.standard_normal(16))
    gone = np.sort(random.choice(n, min(dead, n), replace=False))
    scan = (lambda *a, **b: quantised.nearest(quantise(rows), *a, **b)) if coded else top_k
    indexes, _scores = scan(rows, query, k, ids=ids, dead=gone)
    scores = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    left = sorted(set(range(n)).difference(gone.tolist()), key=lambda row: (-scores[row].round(12), ids[row].tobytes()))
    assert indexes.tolist() == left[:k]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "QUANTISE_FROM", 40)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), steps=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), max_size=8))
def test_a_matrix_that_grew_is_one_that_was_read_at_once(seed: int, steps: list[tuple[int, int]]) -> None:
    random = np.random.default_rng(seed)
    query = unit(random.standard_normal(8))
    held = Matrix.of(SEEN, ids_of(random, 30), unit(random.standard_normal((30, 8))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "QUANTISE_FROM", 40)
        earlier = []
        for more, gone in steps:
            dead = np.sort(random.choice(held.count, min(gone, held.count), replace=False))
            earlier.append((held, answer(held, query)))
            held = held.changed(SEEN, ids_of(random, more), unit(random.standard_normal((more, 8))), dead)
            left = np.delete(np.arange(held.count), held.dead)
            assert answer(held, query) == answer(Matrix.of(SEEN, held.ids[left], held.rows[left]), query)
        for matrix, answered in earlier:  # whoever still scans an earlier one sees what it saw
            assert answer(matrix, query) == answered


def answer(matrix: Matrix, query: np.ndarray) -> list:
    indexes, scores = matrix.nearest(query, 12)
    return [(matrix.uuid(index), score) for index, score in zip(indexes, scores, strict=True)]


def test_two_heirs_of_one_matrix_do_not_overwrite_each_other(small: None) -> None:
    random = np.random.default_rng(3)
    ids, rows = ids_of(random, 80), unit(random.standard_normal((80, 8)))
    roomy = Matrix.of(SEEN, ids[:64], rows[:64]).changed(SEEN, ids[64:72], rows[64:72], np.empty(0, dtype=np.intp))
    none = np.empty(0, dtype=np.intp)
    first = roomy.changed(SEEN, ids[72:76], rows[72:76], none)
    second = roomy.changed(SEEN, ids[76:], rows[76:], none)
    assert first.storage is roomy.storage  # in the room that was there
    assert second.storage is not roomy.storage
    assert first.ids.tobytes() == ids[:76].tobytes()
    assert second.rows[72:].tobytes() == rows[76:].tobytes()
