"""A plan over many documents, each with a text and outputs of its own, beside reading the documents' rows once."""

import time
from collections.abc import Callable

from django.db import connection, transaction

from extraction.documents.extractors import registry
from extraction.models import Document
from osii.library import methods, plan, runs
from osii.library.models import Output
from osii.library.requests import Request
from osii.models import ProcessingItem

from .measure import Call, at_sizes, cost_of, median_ratio, spread, take_turns
from .processor import processor_note
from .result import Result, Target
from .scratch import analyze

QUICK, FULL = (1_000, 10_000), (10_000, 100_000)  # documents
ROUNDS = 7
TARGET_MS = 300
LISTED = 50
FLOOR = "reading every document's row, no plan"
KINDS = ("chunks", "embeddings", "synthesis", "enrichment")
"""The fifth kind, propositions, needs learners; its states are asked for in the same way."""

# Of every ten documents one has no text, one was extracted anew since its outputs were made, one has none of them.
FILL = """
INSERT INTO extraction_document (file_id, filename, mime, size_bytes, added_at)
SELECT 'sha256-' || encode(sha256(n::text::bytea), 'hex'), 'Document ' || n || '.md', 'text/markdown', 1000 + n % 5000,
       now() - n * interval '1 minute'
FROM generate_series(1, {documents}) n;

INSERT INTO extraction_documentsource (document_id, path, seen_at)
SELECT 'sha256-' || encode(sha256(n::text::bytea), 'hex'), '/files/' || n % 249 || '/Document ' || n || '.md', now()
FROM generate_series(1, {documents}) n;

INSERT INTO extraction_extractionversion (id, document_id, extractor, extractor_version, options, status, text_sha256,
                                          text_chars, manifest_records, error, created_at)
SELECT 'text-20260101000000-' || lpad(to_hex(n), 8, '0'), 'sha256-' || encode(sha256(n::text::bytea), 'hex'), 'text', %s,
       '{{"encoding": "auto"}}', 'succeeded', repeat('0', 64), 4000, 10, '', now() - interval '1 hour'
FROM generate_series(1, {documents}) n WHERE n % 10 <> 1;

INSERT INTO extraction_extractionversion (id, document_id, extractor, extractor_version, options, status, text_sha256,
                                          text_chars, manifest_records, error)
SELECT 'other-20260101000000-' || lpad(to_hex(n), 8, '0'), 'sha256-' || encode(sha256(n::text::bytea), 'hex'), 'other', '1',
       '{{}}', 'succeeded', repeat('0', 64), 4000, 10, ''
FROM generate_series(1, {documents}) n WHERE n % 10 = 2;
"""

PRIMARIES = """
UPDATE extraction_document d SET primary_id = v.id FROM extraction_extractionversion v
WHERE v.document_id = d.file_id AND (v.extractor = 'other' OR NOT EXISTS (
    SELECT 1 FROM extraction_extractionversion o WHERE o.document_id = v.document_id AND o.extractor = 'other'))
"""

MOVES = """
INSERT INTO extraction_promotion (id, document_id, before_id, after_id, actor, reason)
SELECT gen_random_uuid(), d.file_id, v.id, d.primary_id, 'benchmark', ''
FROM extraction_document d LEFT JOIN extraction_extractionversion v ON v.document_id = d.file_id AND v.id <> d.primary_id
WHERE d.primary_id IS NOT NULL
"""

OUTPUTS = """
INSERT INTO osii_output (id, document_id, source_extraction_id, kind, method, method_version, options, options_hash,
                         prompt_version, space_id, status, error, text, content, counts, seconds)
SELECT gen_random_uuid(), v.document_id, v.id, %s, %s, %s, '{}', %s, %s, %s, 'succeeded', '', repeat('text ', 20), '{}', '{}', 0.1
FROM extraction_extractionversion v WHERE v.extractor = 'text' AND right(v.id, 1) <> '3'
"""

REQUESTS = {
    "all steps, everything": {
        "scope": {"all": True}, "run_extraction": True, "build_embeddings": True, "synthesizer_name": "default",
        "enricher_name": "default",
    },
    "one step, everything": {"scope": {"all": True}, "enricher_name": "default"},
    "embeddings, everything": {"scope": {"all": True}, "build_embeddings": True},
    "another extractor over everything, with an enrichment": {
        "scope": {"all": True}, "run_extraction": True, "extract_mode": "reprocess", "extractor_name": "text",
        "enricher_name": "default",
    },
    "all steps, one folder": {
        "scope": {"folder": "/files/11"}, "run_extraction": True, "build_embeddings": True, "synthesizer_name": "default",
        "enricher_name": "default",
    },
}  # fmt: skip


def run_quick() -> list[Result]:
    return at_sizes(QUICK, _over)


def run_full() -> list[Result]:
    return at_sizes(FULL, _over)


def _over(documents: int) -> list[Result]:
    fill(documents)
    calls: dict[str, Call] = {FLOOR: _floor}
    calls |= {f"plan: {name}": _planning(fields) for name, fields in REQUESTS.items()}
    calls[f"listing: {LISTED} stale ones, with reasons"] = _listing
    costs = {name: cost_of(call) for name, call in calls.items()}
    times = take_turns(calls, rounds=ROUNDS)
    results = [
        Result(
            "plan", name, "ms", **spread(values), beside="" if name == FLOOR else FLOOR,
            ratio=None if name == FLOOR else median_ratio(values, times[FLOOR]),
            target=None if name == FLOOR else Target(TARGET_MS), notes=(processor_note(name, calls[name]),),
            peak_mb=costs[name].peak_mb, queries=costs[name].queries,
        )
        for name, values in times.items()
    ]  # fmt: skip
    return [*results, _creating()]


def fill(documents: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(documents=documents).replace("%s", f"'{registry.extractors()['text'].version}'"))
        cursor.execute(PRIMARIES)
        cursor.execute(MOVES)
        for kind in KINDS:
            wanted = methods.wanted(kind)
            cursor.execute(
                OUTPUTS,
                [
                    kind,
                    wanted.method,
                    wanted.method_version,
                    wanted.options_hash,
                    wanted.prompt_version,
                    wanted.space_id,
                ],
            )
    analyze()
    if (Document.objects.count(), Output.objects.count()) < (documents, 3 * documents):
        raise RuntimeError("the rows are not there: the plan benchmark is void")


def _floor() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), sum(size_bytes), count(primary_id), max(filename) FROM extraction_document")


def _planning(fields: dict) -> Callable[[], None]:
    def call() -> None:
        made = plan.make(Request.of(fields))
        if not made.matched or not made.eligible:
            raise RuntimeError("the plan is empty: the plan benchmark is void")

    return call


def _listing() -> None:
    found, total = plan.listing(Request.of(REQUESTS["one step, everything"]), "enrichment", "stale", limit=LISTED)
    if len(found) != LISTED or total < Document.objects.count() / 20:
        raise RuntimeError("the listing is short: the plan benchmark is void")


def _creating() -> Result:
    """The run itself: one item for each document with something to do."""
    with transaction.atomic():
        began = time.perf_counter()
        made, _ = runs.create(Request.of(REQUESTS["one step, everything"]), actor="benchmark")
        taken = time.perf_counter() - began
        items = ProcessingItem.objects.filter(run=made).count()
        transaction.set_rollback(True)  # no job of the scratch database in anybody's queue
    return Result("plan", f"starting a run of {items:,} documents", "s", median=taken, low=taken, high=taken, runs=1)
