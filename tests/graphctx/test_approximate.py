"""The index above a size: when it answers, what it leaves out, and how near it comes to the exact scan."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from django.db import connection

from coverage.models import Learner
from graphctx import approximate
from graphctx.approximate import applies, drop_index
from graphctx.embedding import active_space, get_embedder
from graphctx.models import EmbeddingSpace, Proposition
from graphctx.scan import cache, nearest

from .conftest import SOLAR, add_propositions, bump


@pytest.fixture(autouse=True)
def _forget(settings) -> Iterator[None]:
    settings.OSII_GRAPH_EXACT_VECTORS = 4
    approximate.forget()
    yield
    approximate.forget()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list:
    """Each time that the index answers."""
    calls: list = []
    original = approximate.nearest
    monkeypatch.setattr(approximate, "nearest", lambda *args: calls.append(args) or original(*args))
    return calls


def build_index(space: EmbeddingSpace) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # pending checks would keep the table from being indexed
    return approximate.build_index(space)


def found(learner: Learner, k: int = 10) -> list:
    return nearest(active_space(), learner.pk, get_embedder().embed_query("what causes the tides?"), k)


def test_without_an_index_every_scan_is_exact(learner: Learner, asked: list) -> None:
    add_propositions(learner, SOLAR)
    assert len(found(learner)) == 5
    assert not asked


def test_below_the_size_every_scan_is_exact(learner: Learner, asked: list, settings) -> None:
    settings.OSII_GRAPH_EXACT_VECTORS = 5
    add_propositions(learner, SOLAR)
    assert build_index(active_space())
    assert len(found(learner)) == 5
    assert not asked


def test_above_it_the_index_answers_what_the_scan_would(
    learner: Learner, other_learner: Learner, asked: list, settings
) -> None:
    rows = add_propositions(learner, [f"{text} {n}" for n in range(8) for text in SOLAR])
    add_propositions(other_learner, SOLAR)
    Proposition.objects.filter(pk=rows[0].pk).update(state=Proposition.State.SUPERSEDED)
    rows[1].instances.update(live=False)
    bump(learner.pk)
    exact = found(learner, 20)
    assert build_index(active_space())
    assert not build_index(active_space())  # it is there
    cache.clear()
    by_index = found(learner, 20)
    assert len(asked) == 1
    assert [key for key, _score in by_index] == [key for key, _score in exact]
    assert np.allclose([score for _key, score in by_index], [score for _key, score in exact], atol=1e-5)
    assert found(learner, 0) == []


def test_a_matrix_that_is_small_enough_is_not_asked_about(
    learner: Learner, settings, django_assert_num_queries
) -> None:
    settings.OSII_GRAPH_EXACT_VECTORS = 5
    add_propositions(learner, SOLAR)
    space = active_space()
    cache._keep((space.pk, learner.pk), cache.get(space, learner.pk))
    query = get_embedder().embed_query("tides")
    with django_assert_num_queries(1):  # the revision
        nearest(space, learner.pk, query, 5)


def test_the_planner_takes_the_index(learner: Learner) -> None:
    add_propositions(learner, SOLAR)
    space = active_space()
    build_index(space)
    statement = approximate.NEAREST.format(dimension=space.dimension, space=space.pk)
    values = {"query": str([0.5] * space.dimension), "learner": learner.pk, "k": 5}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {statement}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert approximate.index_name(space) in plan


def test_an_index_that_is_dropped_answers_no_more(learner: Learner) -> None:
    add_propositions(learner, SOLAR)
    space = active_space()
    build_index(space)
    assert applies(space, learner.pk)
    drop_index(space)
    assert not applies(space, learner.pk)


def test_a_space_of_too_many_dimensions_has_none(db: None) -> None:
    wide = replace(get_embedder().spec, dimension=2001)
    space = EmbeddingSpace(name="wide", dimension=wide.dimension)
    with pytest.raises(ValueError, match="2001 dimensions; an index takes 2000"):
        build_index(space)
