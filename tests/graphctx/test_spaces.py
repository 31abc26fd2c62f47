"""Embedding spaces: the stamp, moving to another embedder, filling what is missing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from django.db import transaction

from coverage.models import Learner
from graphctx import embedding, vectors
from graphctx.embedders.hashing import HashingEmbedder
from graphctx.embedding import EmbeddingError, SpaceMismatch, active_space, get_embedder, space_of
from graphctx.models import EmbeddingSpace, Proposition, PropositionVector
from graphctx.selection import select
from graphctx.vectors import (
    activate,
    add_vectors,
    backfill,
    embed_usable,
    missing_vectors,
    old_spaces,
    remove_vectors,
)

from .conftest import SOLAR, add_propositions


class Revised(HashingEmbedder):
    """The same model and dimension under another revision: a silent swap, were it not for the stamp."""

    spec = replace(HashingEmbedder.spec, revision="2")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, settings) -> Callable:
    """Configure an embedder instance, as a restarted process with another OSII_EMBEDDER would."""

    def configure(embedder: embedding.Embedder) -> embedding.Embedder:
        monkeypatch.setitem(embedding._warm, ("test", str(settings.OSII_HOME)), embedder)
        settings.OSII_EMBEDDER = "test"
        return embedder

    return configure


def test_the_space_is_made_on_first_use_with_every_field(db: None) -> None:
    space = active_space()
    assert space.active
    assert active_space().pk == space.pk
    for name in embedding.SPEC_FIELDS:
        assert getattr(space, name) == getattr(HashingEmbedder.spec, name)


@pytest.mark.parametrize("field", embedding.SPEC_FIELDS)
def test_every_field_is_in_the_stamp(field: str) -> None:
    spec = HashingEmbedder.spec
    other = replace(spec, **{field: 257 if isinstance(getattr(spec, field), int) else "other"})
    assert other.stamp != spec.stamp


def test_a_swap_at_equal_dimension_is_caught_and_the_error_names_the_way_out(learner: Learner, use: Callable) -> None:
    add_propositions(learner, SOLAR)
    use(Revised())
    with pytest.raises(SpaceMismatch, match=r"revision '1' → '2'.*manage.py backfill_embeddings"):
        select(learner, "tides", 1024)


def test_a_space_filled_ahead_becomes_active_when_it_is_the_first_used(db: None) -> None:
    ahead = space_of(HashingEmbedder.spec)
    assert not ahead.active
    assert active_space().pk == ahead.pk


def test_moving_to_another_embedder(learner: Learner, other_learner: Learner, use: Callable) -> None:
    for one in (learner, other_learner):
        add_propositions(one, SOLAR)
    old = active_space()
    new = space_of(use(Revised()).spec)
    assert missing_vectors(new).count() == 10
    assert backfill(new).added == 10
    assert EmbeddingSpace.objects.get(active=True) == old  # beside, until the switch
    assert activate(new)
    assert not activate(new)
    assert select(learner, "tides", 1024).count == 5
    assert PropositionVector.objects.filter(space=old).count() == 10


def test_a_backfill_goes_on_where_it_was_killed(learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BATCH", 2)
    add_propositions(learner, SOLAR, vectors=False)
    heard: list[int] = []

    def kill_after_two(count: int) -> None:
        heard.append(count)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(active_space(), kill_after_two)
    assert missing_vectors(active_space()).count() == 1
    assert backfill(active_space()).added == 1
    assert backfill(active_space()).added == 0


def test_a_backfill_raises_the_revision_so_that_scans_see_it(learner: Learner) -> None:
    add_propositions(learner, SOLAR, vectors=False)
    before = Learner.objects.get(pk=learner.pk).graph_revision
    assert select(learner, "tides", 1024).count == 0
    backfill(active_space())
    assert Learner.objects.get(pk=learner.pk).graph_revision > before
    assert select(learner, "tides", 1024).count == 5


def test_only_live_propositions_are_missing_a_vector(learner: Learner) -> None:
    rows = add_propositions(learner, SOLAR, vectors=False)
    Proposition.objects.filter(pk=rows[0].pk).update(state=Proposition.State.FORGOTTEN)
    Proposition.objects.filter(pk=rows[1].pk).update(state=Proposition.State.SUPERSEDED)
    assert set(missing_vectors(active_space())) == set(rows[2:])


def test_what_is_merged_during_a_backfill_is_filled_too(learner: Learner) -> None:
    add_propositions(learner, SOLAR[:2], vectors=False)
    late: list[Proposition] = []

    def merge_once(_count: int) -> None:
        if not late:
            late.extend(add_propositions(learner, SOLAR[2:], vectors=False))

    assert backfill(active_space(), merge_once).added == 5


class Picky(HashingEmbedder):
    """A model that answers NaN for one word."""

    def _encode(self, texts: list[str]) -> np.ndarray:
        rows = super()._encode(texts)
        rows[["poison" in text for text in texts]] = np.nan
        return rows


def test_one_bad_text_fails_neither_the_others_nor_the_end(learner: Learner, use: Callable) -> None:
    add_propositions(learner, ["This is poison.", "This is fine."], vectors=False)
    use(Picky())
    done = backfill(active_space())
    assert done.added == 1
    assert "This is poison." in next(iter(done.unusable.values()))
    assert missing_vectors(active_space()).count() == 1


def test_usable_vectors_keep_their_keys() -> None:
    good, bad = embed_usable(Picky(), {1: "a", 2: "poison", 3: "b", 4: "poison too"})
    assert set(good) == {1, 3}
    assert set(bad) == {2, 4}
    assert embed_usable(Picky(), {}) == ({}, {})


def test_a_space_takes_only_its_own_embedder(db: None) -> None:
    with pytest.raises(EmbeddingError, match="does not make vectors"):
        backfill(active_space(), embedder=Revised())


@pytest.mark.parametrize(
    ("vector", "complaint"),
    [
        (np.ones(3, dtype=np.float32), "shape"),
        (np.zeros(256, dtype=np.float32), "length 0"),
        (np.full(256, np.nan, dtype=np.float32), "length nan"),
        (np.ones(256, dtype=np.float32), "length 16"),
    ],
)
def test_a_vector_that_does_not_belong_is_refused(learner: Learner, vector: np.ndarray, complaint: str) -> None:
    row = add_propositions(learner, SOLAR[:1], vectors=False)[0]
    with pytest.raises(ValueError, match=complaint):
        add_vectors(active_space(), learner.pk, {row.pk: vector})
    assert not PropositionVector.objects.exists()


def test_adding_a_vector_twice_keeps_the_first(learner: Learner) -> None:
    row = add_propositions(learner, SOLAR[:1])[0]
    other = get_embedder().embed_documents(["something else"])[0]
    with transaction.atomic():
        add_vectors(active_space(), learner.pk, {row.pk: other})
    kept = PropositionVector.objects.get()
    assert np.allclose(kept.embedding, get_embedder().embed_documents(SOLAR[:1])[0])


def test_a_clean_up_goes_on_where_it_was_killed(
    learner: Learner, other_learner: Learner, use: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "REMOVED_AT_ONCE", 3)
    for one in (learner, other_learner):
        add_propositions(one, SOLAR)
    old = active_space()
    new = space_of(use(Revised()).spec)
    backfill(new)
    activate(new)

    def kill(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remove_vectors(old, kill)
    assert [(space.pk, space.held) for space in old_spaces()] == [(old.pk, 7)]
    assert remove_vectors(old) == 7
    assert not old_spaces().exists()
    assert select(learner, "tides", 1024).count == 5


def test_the_active_space_is_never_cleaned_up(learner: Learner) -> None:
    add_propositions(learner, SOLAR)
    with pytest.raises(ValueError, match="is the active one"):
        remove_vectors(active_space())
    assert PropositionVector.objects.count() == 5
