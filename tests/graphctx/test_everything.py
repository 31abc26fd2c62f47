"""Nearest among all propositions of a learner: exact, the retired apart, as fresh as the graph, and only what is new is read."""

import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from coverage.models import Learner
from graphctx import everything
from graphctx.embedders import EmbedderSpec
from graphctx.embedding import space_of
from graphctx.models import EmbeddingSpace, Instance, Proposition
from graphctx.vectors import add_vectors

pytestmark = pytest.mark.django_db
DIMENSION = 16


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    everything.cache.clear()
    yield
    everything.cache.clear()


@pytest.fixture
def space() -> EmbeddingSpace:
    return space_of(EmbedderSpec("test", "none", "random", "1", "none", DIMENSION, "{text}", "{text}", 1))


def unit(rows: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((rows, DIMENSION)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def fill(
    learner: Learner, space: EmbeddingSpace, rows: np.ndarray, *, live: bool = True
) -> dict[uuid.UUID, np.ndarray]:
    made = [Proposition(learner=learner, text="x", kind="fact", identity=uuid.uuid4().hex) for _ in rows]
    Proposition.objects.bulk_create(made)
    Instance.objects.bulk_create(
        Instance(proposition=one, document_id="d", extraction_id="e", char_start=0, char_end=1, quote="q", speaker="user", live=live)
        for one in made
    )  # fmt: skip
    vectors = {one.pk: row for one, row in zip(made, rows, strict=True)}
    add_vectors(space, learner.pk, vectors)
    return vectors


def expected(vectors: dict[uuid.UUID, np.ndarray], query: np.ndarray, k: int) -> list[uuid.UUID]:
    return sorted(vectors, key=lambda pk: -float(vectors[pk].astype(np.float64) @ query.astype(np.float64)))[:k]


def test_the_nearest_live_and_the_nearest_retired_are_those_of_a_plain_scan(space: EmbeddingSpace) -> None:
    learner = Learner.objects.create(name="Ada")
    live = fill(learner, space, unit(40, 1))
    retired = fill(learner, space, unit(60, 2), live=False)
    fill(Learner.objects.create(name="Bo"), space, unit(20, 3))
    queries = unit(5, 4)
    for query, found in zip(queries, everything.nearest_of_all(space, learner.pk, list(queries), 3), strict=True):
        names = [pk for pk, _score in found]
        assert [pk for pk in names if pk in live] == expected(live, query, 3)
        assert [pk for pk in names if pk in retired][:3] == expected(retired, query, 3)
        assert len(names) == 6


def test_a_live_one_is_found_behind_any_number_of_retired_ones(space: EmbeddingSpace) -> None:
    learner, query = Learner.objects.create(name="Ada"), unit(1, 5)[0]
    fill(learner, space, np.repeat(query[None], 70, axis=0), live=False)
    (far,) = fill(learner, space, -query[None])
    (found,) = everything.nearest_of_all(space, learner.pk, [query], 2)
    assert far in [pk for pk, _score in found]


def test_what_was_added_is_found_by_reading_nothing_else_whatever_state_it_is_in(
    space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, query = Learner.objects.create(name="Ada"), unit(1, 6)[0]
    (first,) = fill(learner, space, query[None])
    read, copy = [], everything.copy_vectors
    monkeypatch.setattr(everything, "copy_vectors", lambda *given: read.append(copy(*given)) or read[-1])
    everything.nearest_of_all(space, learner.pk, [query], 2)
    (second,) = fill(learner, space, query[None])
    (found,) = everything.nearest_of_all(space, learner.pk, [query], 2)
    assert {pk for pk, _score in found} == {first, second}
    assert [len(ids) for ids, _rows in read] == [1, 1]
    Proposition.objects.filter(pk=first).update(state="forgotten")
    Instance.objects.filter(proposition=second).update(live=False)
    (found,) = everything.nearest_of_all(space, learner.pk, [query], 2)
    assert {pk for pk, _score in found} == {first, second}


def test_an_empty_graph_has_nothing_near(space: EmbeddingSpace) -> None:
    learner = Learner.objects.create(name="Ada")
    assert everything.nearest_of_all(space, learner.pk, [unit(1, 7)[0]], 3) == [[]]


def test_what_was_added_goes_behind_the_others_without_a_copy_of_them(space: EmbeddingSpace) -> None:
    learner, query = Learner.objects.create(name="Ada"), unit(1, 7)[0]
    vectors, stores = {}, []
    for number, rows in enumerate((16, 2, 1)):  # there is room for an eighth
        vectors |= fill(learner, space, unit(rows, 10 + number))
        held = everything.cache.get(space, learner.pk)
        stores.append(held.store)
        assert held.count == len(vectors)
        (found,) = everything.nearest_of_all(space, learner.pk, [query], 5)
        assert [pk for pk, _score in found] == expected(vectors, query, 5)
    assert stores[0] is stores[1] is not stores[2]


def test_two_that_add_to_the_same_rows_do_not_see_each_other() -> None:
    rows = everything._Rows.none(DIMENSION).grown(np.zeros(8, everything.ID), unit(8, 1), 8)
    one, other = (rows.grown(np.zeros(1, everything.ID), unit(1, seed), 9) for seed in (2, 3))
    assert one.store is rows.store is not other.store
    assert (one.rows[8] == unit(1, 2)[0]).all()
    assert (other.rows[8] == unit(1, 3)[0]).all()
    assert (other.rows[:8] == rows.rows).all()
