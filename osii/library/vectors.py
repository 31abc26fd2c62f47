"""Embeddings: a vector for every chunk, in the active space."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphctx import embedding
from graphctx.models import EmbeddingSpace
from graphctx.vectors import embed_usable

from . import methods
from .base import Made, Method, OutputFailed, Source
from .models import Chunk, ChunkVector, OutputKind

AT_ONCE = 64
"""Chunks per call of the model, between two looks at whether the work is to stop."""


class ActiveSpace(Method):
    """Vectors of the chunks that are chosen now. Chunks that are not there are made first."""

    kind = OutputKind.EMBEDDINGS
    name = "active-space"
    version = "1"
    label = "Vectors in the active embedding space"

    def space(self) -> EmbeddingSpace | None:
        return embedding.active_space()

    def identity(self, options: dict[str, Any]) -> dict[str, Any]:
        """Vectors are of chunks: with other chunks wanted, these are not the wanted vectors."""
        chunks = methods.wanted(OutputKind.CHUNKS)
        return options | {
            "chunks": chunks.method,
            "chunks_version": chunks.method_version,
            "chunks_options": dict(chunks.options),
        }

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        from .outputs import make_of

        made = make_of(source, methods.wanted(OutputKind.CHUNKS))
        if made.status != made.Status.SUCCEEDED:
            raise OutputFailed("no_chunks", f"the chunks could not be made: {made.error}")
        space = embedding.active_space()
        texts = dict(Chunk.objects.filter(output=made).order_by("chunk_index").values_list("pk", "text"))
        held = set(ChunkVector.objects.filter(space=space, chunk__in=list(texts)).values_list("chunk", flat=True))
        vectors, unusable = _embed(
            embedding.embedder_of(space), {pk: text for pk, text in texts.items() if pk not in held}, source
        )
        if texts and not vectors and not held:
            raise OutputFailed("no_vectors", f"the model has no vector for any chunk: {next(iter(unusable.values()))}")
        counts = {"vectors": len(vectors) + len(held), "chunks": len(texts), "unusable": len(unusable)}
        reasons = sorted(set(unusable.values()))[:10]
        content = {"space": space.name, "dimension": space.dimension, "unusable": reasons}
        return Made(vectors=vectors, counts=counts, content=content)


def _embed(
    embedder: embedding.Embedder, texts: Mapping[int, str], source: Source
) -> tuple[dict[int, np.ndarray], dict[int, str]]:
    vectors: dict[int, np.ndarray] = {}
    unusable: dict[int, str] = {}
    ids = list(texts)
    for at in range(0, len(ids), AT_ONCE):
        source.checkpoint()
        made, bad = embed_usable(embedder, {pk: texts[pk] for pk in ids[at : at + AT_ONCE]})
        vectors |= made
        unusable |= bad
    return vectors, unusable
