"""Promotion of a version of a document with 1,000 chunks and their vectors, there and back; beside its rows, and a commit."""

import tempfile
from pathlib import Path

import numpy as np
from django.db import transaction
from django.db.models import F
from django.test.utils import override_settings

from extraction.documents import invariants, services
from extraction.documents.promotion import lock_document, move_primary
from extraction.models import Document, ExtractionVersion
from graphctx.embedding import active_space
from osii.library.models import Chunk, ChunkVector, Output, OutputKind, options_hash

from .measure import cost_of, growth, median_ratio, spread, take_turns
from .processor import processor_note
from .result import Result, Target

FEW, CHUNKS = 100, 1000
CHUNK_CHARS = 400
ROUNDS = 30
WARM_UP = 3
COMMIT, ALONE = "one commit", "its rows in the database alone"


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as directory, override_settings(OSII_HOME=Path(directory) / "home"):
        versions, bare = _document(Path(directory), "long.txt", CHUNKS), _document(Path(directory), "bare.txt", CHUNKS)
        short = _document(Path(directory), "short.txt", FEW)
        fewer, case = (f"promote, a document of {count:,} chunks, with its files" for count in (FEW, CHUNKS))
        calls = {COMMIT: lambda: _commit(bare), ALONE: lambda: _rows_alone(bare)}
        calls |= {fewer: lambda: _move(short), case: lambda: _move(versions)}
        times = take_turns(calls, rounds=ROUNDS, warm_up=WARM_UP)
        cost, note = cost_of(calls[case]), processor_note(case, calls[case])
        services.reconcile_document(bare[0].document_id)  # its files follow now
        if list(invariants.check()):
            raise RuntimeError("disk and database disagree: the promotion benchmark is void")
    return [
        Result("promote", COMMIT, "ms", **spread(times[COMMIT])),
        Result(
            "promote", ALONE, "ms", **spread(times[ALONE]), beside=COMMIT, ratio=median_ratio(times[ALONE], times[COMMIT])
        ),
        Result(
            "promote", fewer, "ms", **spread(times[fewer]), beside=COMMIT, ratio=median_ratio(times[fewer], times[COMMIT])
        ),
        Result(
            "promote", case, "ms", **spread(times[case]), beside=COMMIT, ratio=median_ratio(times[case], times[COMMIT]),
            to_rival=median_ratio(times[case], times[ALONE]), target=Target(100), peak_mb=cost.peak_mb,
            queries=cost.queries, notes=(note,), growth=growth(times[fewer], times[case], CHUNKS / FEW),
        ),
    ]  # fmt: skip


def _commit(versions: list[ExtractionVersion]) -> None:
    Document.objects.filter(pk=versions[0].document_id).update(size_bytes=F("size_bytes"))


def _rows_alone(versions: list[ExtractionVersion]) -> None:
    """The move and its record, without a look at the files and without writing any."""
    with transaction.atomic():
        document = lock_document(versions[0].document_id)
        move_primary(document, next(one for one in versions if one.pk != document.primary_id), "benchmark", "")


def _move(versions: list[ExtractionVersion]) -> None:
    """Make that of the two versions primary which is not."""
    before = Document.objects.get(pk=versions[0].document_id).primary_id
    target = next(one for one in versions if one.pk != before)
    services.promote(target.document_id, target.pk, "benchmark", expected_primary=before)
    if Document.objects.get(pk=target.document_id).primary_id != target.pk:
        raise RuntimeError("the primary did not move: the promotion benchmark is void")


def _document(directory: Path, name: str, chunks: int) -> list[ExtractionVersion]:
    path = directory / name
    line = "A chunk of the long document that says something of its own. " * 7
    path.write_text("\n\n".join(f"{number:06} {name} {line}"[:CHUNK_CHARS] for number in range(chunks)))
    file_id = services.add_file(path).file_id
    versions = [
        services.extract(file_id, "text"), services.extract(file_id, "text", "save_variant", force=True),
    ]  # fmt: skip
    for version in versions:
        _chunks(version, chunks)
    services.reconcile_document(file_id)  # writes the copies of the outputs
    return versions


def _chunks(version: ExtractionVersion, count: int) -> None:
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
        for number in range(count)
    )  # fmt: skip
    random = np.random.default_rng(0)
    ChunkVector.objects.bulk_create(
        ChunkVector(output=vectors, space=space, chunk=chunk, embedding=random.standard_normal(space.dimension))
        for chunk in chunks
    )
