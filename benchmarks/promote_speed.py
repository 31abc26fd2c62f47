"""Promotion of a version of a document with 1,000 chunks and their vectors, there and back."""

import tempfile
import time
from pathlib import Path

import numpy as np
from django.test.utils import override_settings

from extraction.documents import invariants, services
from extraction.models import Document, ExtractionVersion
from graphctx.embedding import active_space
from osii.library.models import Chunk, ChunkVector, Output, OutputKind, options_hash

from .measure import spread
from .processor import processor_note
from .result import Result, Target

CHUNKS = 1000
CHUNK_CHARS = 400
ROUNDS = 30
WARM_UP = 3


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as directory, override_settings(OSII_HOME=Path(directory) / "home"):
        versions = _document(Path(directory))
        times = []
        for number in range(WARM_UP + ROUNDS):
            begun = time.perf_counter()
            _move(versions)
            taken = (time.perf_counter() - begun) * 1000
            if number >= WARM_UP:
                times.append(taken)
        case = f"promote, a document of {CHUNKS:,} chunks, with its files"
        note = processor_note(case, lambda: _move(versions))
        if list(invariants.check()):
            raise RuntimeError("disk and database disagree: the promotion benchmark is void")
    return [Result("promote", case, "ms", **spread(times), target=Target(100), notes=(note,))]


def _move(versions: list[ExtractionVersion]) -> None:
    """Make that of the two versions primary which is not."""
    before = Document.objects.get(pk=versions[0].document_id).primary_id
    target = next(one for one in versions if one.pk != before)
    services.promote(target.document_id, target.pk, "benchmark", expected_primary=before)
    if Document.objects.get(pk=target.document_id).primary_id != target.pk:
        raise RuntimeError("the primary did not move: the promotion benchmark is void")


def _document(directory: Path) -> list[ExtractionVersion]:
    path = directory / "long.txt"
    line = "A chunk of the long document that says something of its own. " * 7
    path.write_text("\n\n".join(f"{number:06} {line}"[:CHUNK_CHARS] for number in range(CHUNKS)))
    file_id = services.add_file(path).file_id
    versions = [
        services.extract(file_id, "text"), services.extract(file_id, "text", "save_variant", force=True),
    ]  # fmt: skip
    for version in versions:
        _chunks(version)
    services.reconcile_document(file_id)  # writes the copies of the outputs
    return versions


def _chunks(version: ExtractionVersion) -> None:
    space = active_space()
    common = {"document_id": version.document_id, "source_extraction": version, "status": Output.Status.SUCCEEDED}
    common |= {"options_hash": options_hash({}), "method": "benchmark", "method_version": "1"}
    output = Output.objects.create(kind=OutputKind.CHUNKS, **common)
    vectors = Output.objects.create(kind=OutputKind.EMBEDDINGS, space=space, **common)
    text = "x" * CHUNK_CHARS
    chunks = Chunk.objects.bulk_create(
        Chunk(
            output=output, document_id=version.document_id, source_extraction=version, text=text, chunk_index=number,
            chunk_id=f"chunk-{version.document_id}-{number:06}", char_start=number * CHUNK_CHARS,
            char_end=(number + 1) * CHUNK_CHARS,
        )
        for number in range(CHUNKS)
    )  # fmt: skip
    random = np.random.default_rng(0)
    ChunkVector.objects.bulk_create(
        ChunkVector(output=vectors, space=space, chunk=chunk, embedding=random.standard_normal(space.dimension))
        for chunk in chunks
    )
