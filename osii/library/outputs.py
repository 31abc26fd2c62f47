"""Making outputs: beside everything else, then one transaction, then the copies on disk."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from rq.timeouts import BaseTimeoutException

from extraction.documents.errors import DocumentError
from extraction.documents.store import library_store
from extraction.documents.versions import find_document
from extraction.models import Document, ExtractionVersion
from graphctx.embedding import EmbeddingError

from . import files, methods, staleness
from .base import ENDINGS, Made, MethodRefused, Piece, Source
from .methods import Wanted
from .models import Chunk, ChunkVector, Output

logger = logging.getLogger(__name__)

ERROR_CHARACTERS = 2000
ROWS_AT_ONCE = 500


def make(
    file_id: str,
    kind: str,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    checkpoint: Callable[[], None] = lambda: None,
) -> Output:
    """Make an output of the document's primary, and return it; one that is current already is returned as it is.

    ``checkpoint`` is called between steps; what it raises ends the work, and nothing is written. A failure is a failed
    output with its named reason in ``error``; nothing else changes. Raises UnknownDocument, StoreError, and MethodRefused:
    unknown_kind, unknown_method, unknown_option, wrong_option, not_ready, no_text, no_learner,
    version_removed.
    """
    document = find_document(library_store(), file_id)
    wanted = methods.wanted(kind, method, options)
    if document.primary_id is None:
        raise MethodRefused("no_text", f"{document.filename} has no text in force: extract it, or choose a version")
    if wanted.needs_learner and document.learner_id is None:
        raise MethodRefused(
            "no_learner", f"{document.filename} has no learner, so it feeds search only: add it again with one"
        )
    _check_there(document.primary_id)
    extraction = ExtractionVersion.objects.get(pk=document.primary_id)
    return make_of(Source(document, extraction, checkpoint), wanted)


def make_of(source: Source, wanted: Wanted) -> Output:
    """The same for one extraction and what is wanted of it."""
    there = existing(source.extraction.pk, wanted)
    if there is not None:
        return there
    if wanted.unready:
        raise MethodRefused("not_ready", f"{wanted.method}: {wanted.unready}")
    began = time.monotonic()
    made, error = _attempt(source, wanted)
    row = Output(
        document=source.document,
        source_extraction=source.extraction,
        kind=wanted.kind,
        method=wanted.method,
        method_version=wanted.method_version,
        options=dict(wanted.options),
        options_hash=wanted.options_hash,
        prompt_version=wanted.prompt_version,
        space_id=wanted.space_id,
        status=Output.Status.FAILED if error else Output.Status.SUCCEEDED,
        error=error,
        text=made.text,
        content=made.content,
        counts=made.counts,
        seconds=round(time.monotonic() - began, 3),
    )
    return _store(row, made, source, wanted)


def current(document: Document, kind: str, method: str | None = None) -> Output | None:
    """The output that is current for the document's primary, as wanted now of the method (the chosen one by default)."""
    return staleness.current_outputs(methods.wanted(kind, method)).filter(document=document).first()


def existing(extraction_id: str, wanted: Wanted) -> Output | None:
    """The succeeded output of an extraction that was made as it is wanted now."""
    made = staleness.outputs_of(wanted).filter(staleness.as_wanted(wanted), source_extraction=extraction_id)
    return made.first()


def _attempt(source: Source, wanted: Wanted) -> tuple[Made, str]:
    """What the method made, or nothing and why: "name: what happened"."""
    stops: list[BaseException] = []

    def watched() -> None:
        try:
            source.checkpoint()
        except BaseException as stop:
            stops.append(stop)
            raise

    method = methods.find(wanted.kind, wanted.method)
    try:
        return method.make(Source(source.document, source.extraction, watched), wanted.options), ""
    except (DatabaseError, BaseTimeoutException, *ENDINGS):
        raise
    except BaseException as error:
        if stops:
            raise  # the run was paused or lost its lease: that is no failure of the document
        expected = isinstance(error, DocumentError | EmbeddingError)
        logger.warning("%s of %s failed: %s", wanted.kind, source.document.pk, error, exc_info=not expected)
        return Made(), _named(error)


def _named(error: BaseException) -> str:
    if isinstance(error, DocumentError):
        name, text = error.reason, str(error)
    elif isinstance(error, EmbeddingError):
        name, text = "embedding_failed", str(error)
    elif isinstance(error, MemoryError):
        name, text = "out_of_memory", "the method needs more memory than there is"
    else:
        name, text = "method_error", f"{type(error).__name__}: {error}"
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"{name}: {printable.encode('utf-8', 'replace').decode()}"[:ERROR_CHARACTERS]


def _store(row: Output, made: Made, source: Source, wanted: Wanted) -> Output:
    """Everything of the output in one transaction; of two that are made at once the first one stays."""
    files.foretell(row)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            _insert_chunks(row, made.pieces)
            _insert_vectors(row, made.vectors)
            if made.write is not None:
                made.write(row.pk)
    except IntegrityError:
        there = existing(source.extraction.pk, wanted)
        if there is None:
            _check_there(source.extraction.pk)
            raise
        return there
    row.refresh_from_db()
    transaction.on_commit(lambda: files.bring_up(row))
    return row


def _check_there(extraction_id: str) -> None:
    if not ExtractionVersion.objects.filter(pk=extraction_id).exists():
        raise MethodRefused("version_removed", f"{extraction_id} was removed meanwhile: nothing is made of it")


def _insert_chunks(output: Output, pieces: Iterable[Piece]) -> None:
    pieces = list(pieces)
    ids = [f"chunk-{output.document_id}-{index:06d}" for index in range(len(pieces))]
    rows = [
        Chunk(
            output=output,
            document_id=output.document_id,
            source_extraction_id=output.source_extraction_id,
            chunk_id=ids[index],
            chunk_index=index,
            char_start=piece.start,
            char_end=piece.end,
            text=piece.text,
            source_segment_ids=piece.segment_ids,
            source_pages=piece.pages,
            previous_chunk_id=ids[index - 1] if index else None,
            next_chunk_id=ids[index + 1] if index + 1 < len(ids) else None,
            language=piece.language,
        )
        for index, piece in enumerate(pieces)
    ]
    Chunk.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def _insert_vectors(output: Output, vectors: Mapping[int, Any]) -> None:
    rows = [
        ChunkVector(output=output, space_id=output.space_id, chunk_id=chunk, embedding=vector)
        for chunk, vector in vectors.items()
    ]
    # A vector that another run stored meanwhile is the same: a function of the chunk and the space.
    ChunkVector.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE, ignore_conflicts=True)
