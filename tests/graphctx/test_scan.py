"""The scan on the database: what it finds, when it reads again, and whose it is."""

import threading
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage.models import Learner
from graphctx import scan
from graphctx.embedding import active_space, get_embedder
from graphctx.models import EmbeddingSpace, Instance, Proposition, PropositionVector
from graphctx.reading import now, read_all
from graphctx.scan import MatrixCache, nearest
from graphctx.vectors import add_vectors

from .conftest import SOLAR, add_evidence, add_propositions, bump, unguarded


def tides() -> np.ndarray:
    return get_embedder().embed_query("what causes the tides?")


def found(learner: Learner, k: int = 10) -> list:
    return [key for key, _similarity in nearest(active_space(), learner.pk, tides(), k)]


def reference(learner: Learner, query: np.ndarray, k: int) -> list:
    """Row by row in Python, straight from the tables."""
    rows = PropositionVector.objects.filter(
        space=active_space(), learner=learner, proposition__in=Proposition.objects.retrievable()
    ).values_list("proposition_id", "embedding")
    scores = [(-float(np.dot(np.array(vector), query.astype(np.float64))), key) for key, vector in rows]
    return [key for _score, key in sorted(scores)[:k]]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    states=st.lists(st.sampled_from(["live", "superseded", "forgotten", "no evidence"]), max_size=12),
    k=st.integers(0, 14),
)
def test_equals_a_naive_scan(db: None, states: list[str], k: int) -> None:
    learner = Learner.objects.create(name=uuid4().hex)
    rows = add_propositions(learner, [f"claim {number} about tides and {uuid4().hex}" for number in range(len(states))])
    for row, state in zip(rows, states, strict=True):
        if state == "no evidence":
            row.instances.update(live=False)
        else:
            Proposition.objects.filter(pk=row.pk).update(state=state)
    assert found(learner, k) == reference(learner, tides(), k)
    assert len(found(learner, 99)) == states.count("live")


def test_vectors_survive_the_round_trip_bit_for_bit(learner: Learner) -> None:
    rows = add_propositions(learner, SOLAR)
    matrix = read_all(active_space(), learner.pk, now(learner.pk))
    expected = dict(zip([row.pk for row in rows], get_embedder().embed_documents(SOLAR), strict=True))
    assert len(matrix) == len(SOLAR)
    for index in range(len(matrix)):
        assert matrix.rows[index].tobytes() == expected[matrix.uuid(index)].tobytes()
    assert [matrix.uuid(index) for index in range(len(matrix))] == sorted(expected)


def test_an_empty_graph_has_no_nearest(learner: Learner) -> None:
    assert found(learner) == []


def test_learners_never_meet(learner: Learner, other_learner: Learner) -> None:
    mine = {row.pk for row in add_propositions(learner, SOLAR)}
    theirs = {row.pk for row in add_propositions(other_learner, SOLAR[:2])}
    assert set(found(learner)) == mine
    assert set(found(other_learner)) == theirs


def test_equal_vectors_are_ordered_by_id(learner: Learner) -> None:
    rows = add_propositions(learner, [f"same {number}" for number in range(6)], vectors=False)
    same = get_embedder().embed_documents(["tides"])[0]
    add_vectors(active_space(), learner.pk, {row.pk: same for row in reversed(rows)})
    assert found(learner, 4) == sorted(row.pk for row in rows)[:4]


def test_a_query_of_another_dimension_is_refused(learner: Learner) -> None:
    with pytest.raises(ValueError, match="256"):
        nearest(active_space(), learner.pk, np.ones(3, dtype=np.float32), 5)


def test_a_space_with_mixed_dimensions_is_refused(learner: Learner) -> None:
    rows = add_propositions(learner, SOLAR)
    with unguarded("graphctx_propositionvector"):
        PropositionVector.objects.filter(proposition=rows[0]).update(embedding=[1.0, 0.0])
    with pytest.raises(ValueError, match="another dimension"):
        found(learner)


def test_an_unknown_learner_is_an_error(db: None) -> None:
    with pytest.raises(Learner.DoesNotExist):
        nearest(active_space(), uuid4(), tides(), 5)


@pytest.mark.django_db(transaction=True)
class TestCache:
    """Committed data: the cache keeps what everyone may see."""

    @pytest.fixture
    def learner(self, transactional_db: None) -> Learner:
        return Learner.objects.create(name="Aiko")

    def test_an_unchanged_graph_is_read_once(self, learner: Learner, django_assert_num_queries) -> None:
        add_propositions(learner, SOLAR)
        space, query = active_space(), tides()
        first = nearest(space, learner.pk, query, 5)
        with django_assert_num_queries(1):  # the revision
            assert nearest(space, learner.pk, query, 5) == first

    def test_the_revision_shows_what_a_merge_added_and_retired(self, learner: Learner) -> None:
        rows = add_propositions(learner, SOLAR[:3])
        assert len(found(learner)) == 3
        added = add_propositions(learner, SOLAR[3:4])
        assert added[0].pk in found(learner)
        Proposition.objects.filter(pk=rows[0].pk).update(state=Proposition.State.SUPERSEDED)
        bump(learner.pk)
        assert rows[0].pk not in found(learner)

    def test_a_proposition_leaves_with_its_evidence_and_comes_back(self, learner: Learner) -> None:
        row = add_propositions(learner, SOLAR[:1])[0]
        for live, expected in ((False, []), (True, [row.pk])):
            Instance.objects.filter(proposition=row).update(live=live)
            bump(learner.pk)
            assert found(learner) == expected

    def test_what_is_rolled_back_never_enters_the_cache(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR[:2])
        with transaction.atomic():
            add_propositions(learner, SOLAR[2:3])
            assert len(found(learner)) == 3  # its own writes are seen inside
            transaction.set_rollback(True)
        assert len(found(learner)) == 2
        add_propositions(learner, SOLAR[3:4])  # reaches the revision that was rolled back
        assert set(found(learner)) == set(reference(learner, tides(), 10))
        assert len(found(learner)) == 3

    def test_threads_that_start_together_load_once(self, learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
        add_propositions(learner, SOLAR)
        loads, results, original = [], [], scan.read_all
        monkeypatch.setattr(scan, "read_all", lambda *args: loads.append(args) or original(*args))
        barrier = threading.Barrier(4)

        def work() -> None:
            barrier.wait()
            results.append(found(learner))
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(loads) == 1
        assert results == [results[0]] * 4

    def test_the_least_recently_used_matrix_goes_first(self, learner: Learner) -> None:
        space = active_space()
        learners = [learner, *(Learner.objects.create(name=name) for name in ("Ben", "Chi"))]
        for one in learners:
            add_propositions(one, SOLAR)
        one_matrix = read_all(space, learner.pk, now(learner.pk)).nbytes
        cache = MatrixCache(max_bytes=2 * one_matrix)
        first = cache.get(space, learners[0].pk)
        cache.get(space, learners[1].pk)
        assert cache.get(space, learners[0].pk) is first
        cache.get(space, learners[2].pk)  # drops the second
        assert cache.nbytes == 2 * one_matrix
        assert cache.get(space, learners[0].pk) is first

    def test_a_matrix_above_the_bound_is_kept_alone(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR)
        cache = MatrixCache(max_bytes=1)
        assert cache.get(active_space(), learner.pk) is cache.get(active_space(), learner.pk)


def test_two_spaces_never_meet(learner: Learner) -> None:
    rows = add_propositions(learner, SOLAR[:1])
    add_evidence(rows[0], "solid")
    other = EmbeddingSpace.objects.create(
        name="other", provider="p", model="m", revision="1", runtime="r", dimension=256,
        query_format="{text}", document_format="{text}", max_tokens=1, stamp="other",
    )  # fmt: skip
    assert nearest(other, learner.pk, tides(), 5) == []
    assert len(nearest(active_space(), learner.pk, tides(), 5)) == 1
