"""The copies of outputs in the store, for people and other tools. The database decides; OSII never reads them.

``syntheses/<method>--<extraction_id>.{txt,json}``, ``enrichments/<kind>--<method>--<extraction_id>.json`` (propositions are
one) and ``chunks/<method>--<extraction_id>.jsonl``. Of one extraction and method the newest output is mirrored. Vectors stay
in the database.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extraction.documents import files
from extraction.documents.errors import StoreError
from extraction.documents.mirror import Difference
from extraction.documents.store import Store, library_store, utc

from .models import Chunk, Output, OutputKind

logger = logging.getLogger(__name__)

SYNTHESES, ENRICHMENTS, CHUNKS = "syntheses", "enrichments", "chunks"


def bring_up(output: Output) -> None:
    """Mirror a committed output; a failure is logged, because reconcile repairs it."""
    if output.status != Output.Status.SUCCEEDED or output.kind == OutputKind.EMBEDDINGS:
        return
    try:
        store = library_store()
        with store.lock(output.document_id):
            for _ in sync(store, output.document_id, write=True, only=output):
                pass
        store.unmark(output.document_id, str(output.pk))
    except (OSError, StoreError) as error:
        logger.warning("The copies of %s are behind the database (%s): reconcile repairs them.", output, error)


def foretell(output: Output) -> None:
    """Before it is committed: mark its document, so that its copy is made even when this process does not live to do it."""
    if output.status == Output.Status.SUCCEEDED and output.kind != OutputKind.EMBEDDINGS:
        library_store().mark(output.document_id, str(output.pk))


def sync(store: Store, file_id: str, *, write: bool, only: Output | None = None) -> Iterator[Difference]:
    """Write what is missing or different on disk; the caller holds the document's lock. Yields what differed."""
    for output in _newest(file_id, only):
        for path, wanted in _wanted(store, output):
            if path.is_file() and path.read_bytes() == wanted:
                continue
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                files.replace(path, wanted, store.scratch)
            what = f"{path.relative_to(store.object_dir(file_id))} differs from the database"
            yield Difference(file_id, what, healed=True)


def _newest(file_id: str, only: Output | None) -> list[Output]:
    """The newest succeeded output of each kind, method and extraction of a document."""
    rows = Output.objects.filter(document=file_id, status=Output.Status.SUCCEEDED).exclude(kind=OutputKind.EMBEDDINGS)
    if only is not None:
        rows = rows.filter(kind=only.kind, method=only.method, source_extraction=only.source_extraction_id)
    places = ("kind", "method", "source_extraction_id")
    return list(rows.order_by(*places, "-created_at", "-id").distinct(*places))


def _wanted(store: Store, output: Output) -> Iterator[tuple[Path, bytes]]:
    """The files of one output and what they are to hold."""
    folder = store.object_dir(output.document_id)
    name = f"{output.method}--{output.source_extraction_id}"
    if output.kind == OutputKind.CHUNKS:
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in chunk_rows(output))
        yield folder / CHUNKS / f"{name}.jsonl", "".join(rows).encode()
    elif output.kind == OutputKind.SYNTHESIS:
        yield folder / SYNTHESES / f"{name}.txt", output.text.encode()
        yield folder / SYNTHESES / f"{name}.json", files.to_json(described(output))
    else:
        yield folder / ENRICHMENTS / f"{output.kind}--{name}.json", files.to_json(described(output))


def described(output: Output) -> dict[str, Any]:
    """An output with its lineage, as its file holds it."""
    return {
        "file_id": output.document_id,
        "kind": output.kind,
        "source_extraction_id": output.source_extraction_id,
        "method": output.method,
        "method_version": output.method_version,
        "options": output.options,
        "prompt_version": output.prompt_version,
        "created_utc": utc(output.created_at),
        "counts": output.counts,
        "content": output.content,
    }


def chunk_rows(output: Output) -> Iterator[dict[str, Any]]:
    """The rows of a chunk manifest, in order."""
    first = output.document.sources.order_by("seen_at", "id").first()
    relpath = first.path.removeprefix("/") if first is not None else output.document.filename
    for chunk in Chunk.objects.filter(output=output).defer("terms").order_by("chunk_index").iterator(chunk_size=2000):
        yield {
            "chunk_id": chunk.chunk_id,
            "file_id": chunk.document_id,
            "source_relpath": relpath,
            "source_extraction_id": chunk.source_extraction_id,
            "chunk_method": output.method,
            "chunk_size": output.options.get("chunk_size"),
            "chunk_overlap": output.options.get("chunk_overlap"),
            "chunk_index": chunk.chunk_index,
            "char_start": chunk.char_start,
            "char_end": chunk.char_end,
            "text": chunk.text,
            "source_segment_ids": chunk.source_segment_ids,
            "source_pages": chunk.source_pages,
            "previous_chunk_id": chunk.previous_chunk_id,
            "next_chunk_id": chunk.next_chunk_id,
        }
