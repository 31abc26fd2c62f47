"""Searching many chunks, by words, by meaning and by both, with the plans of the statements behind it."""

import hashlib
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from django.db import connection
from django.test import override_settings

from extraction.documents.ids import new_extraction_id
from extraction.models import Document, DocumentSource, ExtractionVersion, Promotion
from graphctx.embedding import active_space, get_embedder
from osii.library import methods
from osii.library.models import Output
from osii.library.search import find, lexical, query, semantic

from .measure import at_sizes, cost_of, median_ratio, spread, take_turns
from .processor import processor_note
from .result import Result, Target
from .scratch import analyze

QUICK, FULL = (2_000, 20_000), (10_000, 100_000)  # chunks
CHUNKS_PER_DOCUMENT = 20
ROUNDS = 7
LIMIT_MS = 300.0
COMMON, RARE, IDENTIFIER, FOLDER = "baca", "zelum", "QX-123", "/bench/d1/"
RARELY, NUMBERS = 0.01, 200
TRIP = "one round trip"


# 120 words of 30,000, of which the n-th is said 1/n as often as the first; their numbers are written in letters.
TEXTS = """
INSERT INTO osii_chunk (output_id, document_id, source_extraction_id, chunk_id, chunk_index, char_start, char_end, text,
    source_segment_ids, source_pages, language)
SELECT id, document_id, source_extraction_id, format('chunk-%%s-%%s', document_id, lpad(number::text, 6, '0')), number,
    0, length(content), content, '{}', '{}', 'en'
FROM (
    SELECT output.id, output.document_id, output.source_extraction_id, number, (
        SELECT string_agg(translate((30000 ^ random() + 0 * (number + place))::int::text, '0123456789', 'bacedifogu') || 'm', ' ')
        FROM generate_series(1, 120) AS place
    ) || CASE WHEN random() < 0.8 THEN ' baca' ELSE '' END || CASE WHEN random() < %s THEN ' zelum' ELSE '' END
      || ' QX-' || (random() * %s)::int AS content
    FROM osii_output output, generate_series(0, %s - 1) AS number WHERE output.id = ANY(%s)
    OFFSET 0
) filled
"""
VECTORS = """
INSERT INTO osii_chunkvector (output_id, space_id, chunk_id, embedding)
SELECT output.id, output.space_id, chunk.id, l2_normalize((
    SELECT array_agg(random() - 0.5 + 0 * (chunk.id + place)) FROM generate_series(1, %s) AS place)::vector)
FROM osii_output output JOIN osii_chunk chunk ON chunk.source_extraction_id = output.source_extraction_id
WHERE output.space_id = %s AND output.id = ANY(%s)
"""


def run_quick() -> list[Result]:
    return at_sizes(QUICK, _over)


def run_full() -> list[Result]:
    return at_sizes(FULL, _over)


def _over(chunks: int) -> list[Result]:
    get_embedder().warm()
    began = time.perf_counter()
    _fill(chunks)
    return [*_measure(time.perf_counter() - began), _indexed()]


def _measure(loaded: float) -> list[Result]:
    calls = {
        "by words, in 1 of 100 chunks": _call("lexical", RARE),
        "by words, in most chunks": _call("lexical", COMMON),
        "by words, two of which one is common": _call("lexical", f"{COMMON} {RARE}"),
        "an identifier": _call("lexical", IDENTIFIER),
        "by meaning, exactly": _call("semantic", RARE),
        "by meaning, exactly, in a folder of a tenth": _call("semantic", RARE, {"folder": FOLDER}),
        "by both": _call("hybrid", RARE),
        "by both, a word in most chunks": _call("hybrid", COMMON),
    }
    if not find.search(IDENTIFIER, "lexical").results or not find.search(RARE, "hybrid").results:
        raise RuntimeError("what was put in is not found: the search benchmark is void")
    times = take_turns({TRIP: _round_trip, **calls}, rounds=ROUNDS)
    costs = {case: cost_of(call) for case, call in calls.items()}
    rows = [
        Result(
            "search", case, "ms", **spread(values), target=Target(LIMIT_MS), beside=TRIP,
            ratio=median_ratio(values, times[TRIP]), notes=(processor_note(case, calls[case]),),
            peak_mb=costs[case].peak_mb, queries=costs[case].queries,
        )
        for case, values in times.items() if case != TRIP
    ]  # fmt: skip
    notes = (f"the chunks were loaded in {loaded:.0f} s, indexes included\n" + "\n".join(_plans()),)
    return [Result("search", TRIP, "ms", **spread(times[TRIP]), notes=notes), *rows]


def _round_trip() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _call(mode: str, text: str, scope: dict | None = None) -> Callable[[], object]:
    return lambda: find.search(text, mode, find.RESULTS, scope)


def _indexed() -> Result:
    """By meaning, by an index, with what it takes to make one."""
    space = active_space()
    began = time.perf_counter()
    semantic.build_index(space)
    built = time.perf_counter() - began
    outputs = find.searched(find.scope_of(None))
    exact = [set(semantic.nearest(text, outputs, 10)) for text in (RARE, COMMON)]
    with override_settings(OSII_SEARCH_EXACT_VECTORS=0):  # as in a scope with more vectors than are compared one by one
        found = [set(semantic.nearest(text, outputs, 10)) for text in (RARE, COMMON)]
        times = take_turns({"indexed": _call("semantic", RARE)}, rounds=ROUNDS)["indexed"]
    shared = sum(len(one & other) for one, other in zip(exact, found, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {semantic.name(space)}")
    notes = (f"the index was made in {built:.0f} s; it finds {shared} of the 20 nearest of random vectors",)
    return Result("search", "by meaning, by index", "ms", **spread(times), notes=notes)


def _plans() -> Iterator[str]:
    """The plan of each statement, one line per node."""
    words = query.read(RARE)
    vector = get_embedder().embed_query(RARE)
    statements = {
        "words": lexical.sql(words.branches, words, None, 200),
        "meaning": semantic.sql(active_space(), vector, None, 200),
        "meaning in a scope": semantic.sql(
            active_space(), vector, find.searched(find.scope_of({"folder": FOLDER})), 10
        ),
    }
    for name, statement in statements.items():
        sql, values = statement
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}", values)
            lines = [line for (line,) in cursor.fetchall() if "->" in line or "Index Cond" in line or line[0] != " "]
        yield f"plan of a search by {name}:"
        yield from (line[:110] for line in lines)


def _fill(size: int) -> None:
    """Documents, versions and chunks until there are ``size`` chunks, each with a random vector; made in the database."""
    first = Document.objects.count()
    indexes = {"chunk_terms": "gin (terms)", "chunk_text_trigrams": "gin (text gin_trgm_ops)"}
    with connection.cursor() as cursor:
        for name in indexes:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")
    chunks, vectors = _documents(range(first, size // CHUNKS_PER_DOCUMENT))
    with connection.cursor() as cursor:
        cursor.execute(TEXTS, (RARELY, NUMBERS, CHUNKS_PER_DOCUMENT, chunks))
        space = active_space()
        cursor.execute(VECTORS, (space.dimension, space.pk, vectors))
        for name, what in indexes.items():
            cursor.execute(f"CREATE INDEX {name} ON osii_chunk USING {what}")
    analyze()


def _documents(numbers: range) -> tuple[list[UUID], list[UUID]]:
    """Ids of the chunk and the vector outputs of new documents, each with a primary."""
    documents = [
        Document(
            file_id=f"sha256-{hashlib.sha256(str(n).encode()).hexdigest()}", filename=f"{n}.md", mime="text/markdown",
            size_bytes=1,
        )
        for n in numbers
    ]  # fmt: skip
    Document.objects.bulk_create(documents, batch_size=1000)
    DocumentSource.objects.bulk_create(
        DocumentSource(document=one, path=f"/bench/d{n % 10}/{n}.md") for n, one in zip(numbers, documents, strict=True)
    )
    versions = [
        ExtractionVersion(
            id=new_extraction_id("text"), document=one, extractor="text", extractor_version="1", status="succeeded",
            text_sha256="0" * 64, text_chars=10,
        )
        for one in documents
    ]  # fmt: skip
    ExtractionVersion.objects.bulk_create(versions, batch_size=1000)
    Promotion.objects.bulk_create(Promotion(document_id=one.document_id, after=one, actor="bench") for one in versions)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE extraction_document document SET primary_id = version.id FROM extraction_extractionversion version "
            "WHERE version.document_id = document.file_id AND document.primary_id IS NULL"
        )
    return _outputs(versions, "chunks"), _outputs(versions, "embeddings")


def _outputs(versions: list[ExtractionVersion], kind: str) -> list[UUID]:
    wanted = methods.wanted(kind)
    same = {name: getattr(wanted, name) for name in ("kind", "method", "method_version", "options_hash", "space_id")}
    made = Output.objects.bulk_create(
        Output(
            document_id=one.document_id, source_extraction=one, options=dict(wanted.options), status="succeeded", **same
        )
        for one in versions
    )  # fmt: skip
    return [one.pk for one in made]
