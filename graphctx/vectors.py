"""Writing vectors: with a merge, and in bulk when a space is filled or replaced.

A vector that is missing is never recorded as missing: it is the difference between the live propositions and the
space's rows, computed when asked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet

from coverage.models import Learner

from . import approximate
from .embedding import Embedder, EmbeddingError, UnusableVectors, embedder_of, get_embedder
from .models import EmbeddingSpace, Proposition, PropositionVector

BATCH = 128
"""Propositions per backfill transaction: some seconds of model time at most are lost by a kill."""

REMOVED_AT_ONCE = 5000
MAX_PASSES = 10
UNIT_TOLERANCE = 1e-3

Key = TypeVar("Key")


@dataclass(slots=True)
class Backfill:
    """What a backfill did. ``unusable`` names the propositions the model has no vector for, with the reason."""

    added: int = 0
    unusable: dict[UUID, str] = field(default_factory=dict)


def add_vectors(space: EmbeddingSpace, learner_id: UUID, vectors: Mapping[UUID, np.ndarray]) -> None:
    """Insert one learner's vectors, keyed by proposition; a vector that is already there stays as it is.

    The caller holds the transaction and the learner's lock, and raises the learner's ``graph_revision`` in it.
    Raises ValueError for a vector of another dimension than the space's, or not of unit length.
    """
    for proposition_id, vector in vectors.items():
        if np.shape(vector) != (space.dimension,):
            raise ValueError(
                f"the vector of {proposition_id} has shape {np.shape(vector)}, the space {space.name!r} has "
                f"{space.dimension} dimensions"
            )
        length = float(np.linalg.norm(vector))
        if not abs(length - 1) < UNIT_TOLERANCE:  # also false for NaN
            raise ValueError(f"the vector of {proposition_id} has length {length}, not 1")
    rows = [
        PropositionVector(space=space, learner_id=learner_id, proposition_id=proposition_id, embedding=vector)
        for proposition_id, vector in vectors.items()
    ]
    PropositionVector.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


def embed_usable(embedder: Embedder, texts: Mapping[Key, str]) -> tuple[dict[Key, np.ndarray], dict[Key, str]]:
    """Vectors of the texts, and the reasons for those without one: one bad text never fails the others."""
    ids = list(texts)
    unusable: dict[Key, str] = {}
    while ids:
        try:
            rows = embedder.embed_documents([texts[key] for key in ids])
        except UnusableVectors as error:
            bad = {ids[index] for index in error.indexes}
            unusable |= {key: str(UnusableVectors([texts[key]], [0])) for key in bad}
            ids = [key for key in ids if key not in bad]
        else:
            return dict(zip(ids, rows, strict=True)), unusable
    return {}, unusable


def missing_vectors(space: EmbeddingSpace) -> QuerySet[Proposition]:
    """Live propositions without a vector in this space."""
    there = PropositionVector.objects.filter(space=space, proposition=OuterRef("pk"))
    return Proposition.objects.filter(~Exists(there), state=Proposition.State.LIVE)


def backfill(
    space: EmbeddingSpace,
    progress: Callable[[int], object] = lambda _count: None,
    *,
    embedder: Embedder | None = None,
) -> Backfill:
    """Give every live proposition its vector in ``space``; ``progress`` hears how many each batch looked at.

    Resumable: each batch is one transaction and nothing else remembers where it was. Passes are repeated until one
    finds nothing new, because merges go on meanwhile.
    """
    embedder = embedder or get_embedder()
    if space.stamp != embedder.spec.stamp:
        raise EmbeddingError(f"the embedder {embedder.spec.name!r} does not make vectors of the space {space.name!r}")
    embedder_of(space, embedder)
    done = Backfill()
    for _pass in range(MAX_PASSES):
        before = done.added
        missing = missing_vectors(space).exclude(pk__in=list(done.unusable)).order_by("pk")
        ids = list(missing.values_list("pk", flat=True))
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            _backfill_batch(space, embedder, batch, done)
            progress(len(batch))
        if done.added == before:
            break
    return done


def _backfill_batch(space: EmbeddingSpace, embedder: Embedder, ids: Sequence[UUID], done: Backfill) -> None:
    texts = dict(Proposition.objects.filter(pk__in=ids).values_list("pk", "text"))
    vectors, unusable = embed_usable(embedder, texts)
    done.unusable |= unusable
    with transaction.atomic():
        for learner_id, owned in _lock_owners(vectors).items():
            add_vectors(space, learner_id, {key: vectors[key] for key in owned})
            done.added += len(owned)


def _lock_owners(vectors: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """Proposition ids by learner, of those that still exist; learners locked in id order, their revision raised."""
    ids = list(vectors)
    learners = Learner.objects.filter(propositions__in=ids).values_list("pk", flat=True)
    # Two steps: a lock cannot be taken on distinct rows, and the order keeps two backfills from a deadlock.
    locked = list(Learner.objects.filter(pk__in=set(learners)).order_by("pk").select_for_update(no_key=True))
    present = Proposition.objects.filter(pk__in=ids, learner__in=locked).select_for_update(no_key=True)
    owned: dict[UUID, list[UUID]] = {}
    for proposition_id, learner_id in present.values_list("pk", "learner_id"):
        owned.setdefault(learner_id, []).append(proposition_id)
    Learner.objects.filter(pk__in=owned).update(graph_revision=F("graph_revision") + 1)
    return owned


def activate(space: EmbeddingSpace) -> bool:
    """Make ``space`` the one that scans use; False when it already was. The old one keeps its rows."""
    with transaction.atomic():
        # One order for every switch; the database allows one active space at any moment.
        spaces = {row.pk: row for row in EmbeddingSpace.objects.order_by("pk").select_for_update()}
        if spaces[space.pk].active:
            return False
        EmbeddingSpace.objects.filter(active=True).update(active=False)
        EmbeddingSpace.objects.filter(pk=space.pk).update(active=True)
    return True


def old_spaces() -> QuerySet[EmbeddingSpace]:
    """Spaces that no scan uses and that still hold vectors of propositions, oldest first, with ``held``: how many."""
    spaces = EmbeddingSpace.objects.filter(active=False).annotate(held=Count("vectors"))
    return spaces.filter(held__gt=0).order_by("created_at", "pk")


def remove_vectors(space: EmbeddingSpace, progress: Callable[[int], object] = lambda _count: None) -> int:
    """Remove the propositions' vectors of a space that is not active, and its index; returns how many. The space's row
    stays: steers name it. Resumable: each batch is one transaction. Raises ValueError for the active space.
    """
    removed = 0
    while True:
        with transaction.atomic():
            # Locked, so that it does not become the active one meanwhile.
            if EmbeddingSpace.objects.select_for_update(no_key=True).get(pk=space.pk).active:
                raise ValueError(f"the space {space.name!r} is the active one")
            batch = PropositionVector.objects.filter(space=space).order_by("learner", "pk")[:REMOVED_AT_ONCE]
            rows = list(batch.values_list("pk", "learner"))
            list(
                Learner.objects.filter(pk__in={who for _pk, who in rows}).order_by("pk").select_for_update(no_key=True)
            )
            PropositionVector.objects.filter(pk__in=[pk for pk, _who in rows]).delete()
            Learner.objects.filter(pk__in={who for _pk, who in rows}).update(graph_revision=F("graph_revision") + 1)
        if not rows:
            approximate.drop_index(space)
            return removed
        removed += len(rows)
        progress(len(rows))
