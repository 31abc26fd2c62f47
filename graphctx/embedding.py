"""The configured embedder, warm once per process, and the embedding space that it must match."""

import threading
import time
from uuid import UUID
from weakref import WeakKeyDictionary

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction

from .embedders import REGISTRY, Embedder, EmbedderSpec, EmbeddingError, UnusableVectors
from .models import EmbeddingSpace, PropositionVector

__all__ = [
    "Embedder",
    "EmbedderSpec",
    "EmbeddingError",
    "SpaceMismatch",
    "UnusableVectors",
    "active_space",
    "embedder_of",
    "get_embedder",
    "space_of",
]

_lock = threading.Lock()
_warm: dict[tuple[str, str], Embedder] = {}
_proven: WeakKeyDictionary[Embedder, dict[UUID, float]] = WeakKeyDictionary()

PROOF_SECONDS = 600
"""So long a model that can change behind its name is taken for the same one."""

SAME_MODEL = 0.9
"""Two runs of one model on other hardware, or at another precision, are nearer; two models are nowhere near."""

SPEC_FIELDS = (
    "name", "provider", "model", "revision", "runtime", "dimension", "query_format", "document_format", "max_tokens",
    "truncated_from", "normalisation",
)  # fmt: skip


class SpaceMismatch(EmbeddingError):
    """The configured embedder's vectors do not belong into the active space."""

    def __init__(self, space: EmbeddingSpace, spec: EmbedderSpec) -> None:
        super().__init__(
            f"the graph's vectors were made by {space.name!r}, not by the configured embedder {spec.name!r} "
            f"({_differences(space, spec)}): run `manage.py backfill_embeddings` to move the graph to {spec.name!r}, "
            f"or go back to {space.name!r} as it was"
        )


def _differences(space: EmbeddingSpace, spec: EmbedderSpec) -> str:
    pairs = ((name, getattr(space, name), getattr(spec, name)) for name in SPEC_FIELDS if name != "name")
    return ", ".join(f"{name} {old!r} → {new!r}" for name, old, new in pairs if old != new)


def get_embedder(name: str | None = None) -> Embedder:
    """The embedder of this name (default: OSII_EMBEDDER), one per process. Raises EmbeddingError.

    Its weights load with its first text; call ``.warm()`` to load them now.
    """
    name = name or settings.OSII_EMBEDDER
    key = (name, str(settings.OSII_HOME))
    with _lock:
        if key not in _warm:
            if name not in REGISTRY:
                raise EmbeddingError(f"there is no embedder {name!r}; there are: {', '.join(REGISTRY)}")
            _warm[key] = REGISTRY[name](settings.OSII_HOME)
        return _warm[key]


def active_space() -> EmbeddingSpace:
    """The space that the graph's vectors live in, made on first use.

    Raises SpaceMismatch when the configured embedder is not the one that made it. Loads no weights.
    """
    spec = get_embedder().spec
    space = EmbeddingSpace.objects.filter(active=True).first() or _activate_first(spec)
    if space.stamp != spec.stamp:
        raise SpaceMismatch(space, spec)
    return space


def embedder_of(space: EmbeddingSpace, embedder: Embedder | None = None) -> Embedder:
    """The embedder (default: the configured one), which still makes the vectors of this space.

    A model behind an address can be swapped for another of the same name and dimension. So it has to embed again, now
    and then, what the space holds. Raises EmbeddingError.
    """
    embedder = embedder or get_embedder()
    if embedder.can_change:
        proven = _proven.setdefault(embedder, {})
        if time.monotonic() - proven.get(space.pk, -np.inf) > PROOF_SECONDS:
            _prove(space, embedder)
            proven[space.pk] = time.monotonic()
    return embedder


def _prove(space: EmbeddingSpace, embedder: Embedder) -> None:
    """Compare the oldest and the newest vector of the space with what the embedder makes of their texts."""
    held = PropositionVector.objects.filter(space=space).values_list("proposition__text", "embedding")
    ends = [row for row in (held.order_by("pk").first(), held.order_by("-pk").first()) if row is not None]
    if not ends:
        return
    made = embedder.embed_documents([text for text, _vector in ends])
    for vector, (text, kept) in zip(made, ends, strict=True):
        similarity = float(vector @ np.asarray(kept, dtype=np.float32))
        if similarity < SAME_MODEL:
            raise EmbeddingError(
                f"{embedder.spec.model!r} is not the model that made the graph's vectors: what it makes of "
                f"{text[:80]!r} has a similarity of {similarity:.2f} to the vector that is kept. Have the same model served "
                "again, or name the new one (OSII_EMBEDDINGS_MODEL or OSII_EMBEDDINGS_REVISION) and run "
                "`manage.py backfill_embeddings`"
            )


def space_of(spec: EmbedderSpec) -> EmbeddingSpace:
    """The space of this stamp, made beside the others (inactive) when it is new."""
    fields = {name: getattr(spec, name) for name in SPEC_FIELDS}
    return EmbeddingSpace.objects.get_or_create(stamp=spec.stamp, defaults=fields)[0]


def _activate_first(spec: EmbedderSpec) -> EmbeddingSpace:
    space = space_of(spec)
    try:
        with transaction.atomic():
            EmbeddingSpace.objects.filter(pk=space.pk).update(active=True)
    except IntegrityError:
        pass  # another process was first; the database allows one
    return EmbeddingSpace.objects.get(active=True)
