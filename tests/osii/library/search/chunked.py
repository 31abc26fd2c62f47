"""Documents with chunks, and vectors of them, as rows: what a search reads, without files."""

from typing import Any

from coverage.models import Learner
from extraction.models import Document, ExtractionVersion
from graphctx.embedding import active_space, get_embedder
from osii.library import methods
from osii.library.models import Chunk, ChunkVector, Output
from tests.osii.library import rows


def document(name: str, *texts: str, language: str = "en", learner: str = "", **more: Any) -> Document:
    """A document whose primary has these chunks, one after the other."""
    if learner:
        more["learner"] = Learner.objects.get_or_create(name=learner)[0]
    made = rows.document(name, **more)
    chunks(rows.version(made), *texts, language=language)
    return made


def chunks(version: ExtractionVersion, *texts: str, language: str = "en", pages: tuple[int, ...] = ()) -> Output:
    """The chunks of a version, as they are wanted now."""
    made = _output(version, "chunks")
    at, new = 0, []
    for index, text in enumerate(texts):
        place = {"chunk_id": f"chunk-{version.document_id}-{index:06d}", "chunk_index": index}
        span = {"char_start": at, "char_end": at + len(text), "source_pages": list(pages)}
        owner = {"output": made, "document_id": version.document_id, "source_extraction": version}
        new.append(Chunk(**owner, **place, **span, text=text, language=language))
        at += len(text) + 2
    Chunk.objects.bulk_create(new)
    return made


def vectors(*documents: Document) -> None:
    """A vector for each chunk of the documents, in the active space."""
    space = active_space()
    for one in documents:
        output = _output(one.primary, "embeddings")
        found = list(Chunk.objects.filter(document=one, source_extraction=one.primary))
        made = get_embedder().embed_documents([chunk.text for chunk in found])
        ChunkVector.objects.bulk_create(
            ChunkVector(output=output, space=space, chunk=chunk, embedding=vector)
            for chunk, vector in zip(found, made, strict=True)
        )


def _output(version: ExtractionVersion, kind: str) -> Output:
    wanted = methods.wanted(kind)
    return Output.objects.create(
        document_id=version.document_id,
        source_extraction=version,
        kind=kind,
        method=wanted.method,
        method_version=wanted.method_version,
        options=dict(wanted.options),
        options_hash=wanted.options_hash,
        space_id=wanted.space_id,
        status="succeeded",
    )
