"""The documents list over many documents, each page as a browser asks for it, with its slowest query plans."""

import json
import time
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from extraction.models import Document
from osii.models import Collection

from .measure import at_sizes, cost_of, median_ratio, spread, take_turns
from .processor import processor_note
from .result import Result, Target
from .scratch import analyze

QUICK, FULL = (1_000, 10_000), (10_000, 100_000)  # documents
ROUNDS = 5
TARGET_MS = 200
EMPTY = "an empty answer"

PAGES = {
    "first page": "/documents/",
    "the middle page": "/documents/?page={middle}",
    "last page": "/documents/?page={last}",
    "by name": "/documents/?sort=name",
    "largest": "/documents/?sort=largest",
    "search by name": "/documents/?q=report-424",
    "PDF": "/documents/?type=pdf",
    "last extraction failed": "/documents/?state=failed",
    "no text in force": "/documents/?state=no_primary",
    "source file changed": "/documents/?state=replaced",
    "one collection of a tenth": "/documents/?collection={collection}",
    "one folder of a hundredth": "/documents/?folder=/library/shelf-42",
    "one learner": "/documents/?learner={learner}",
    "one document, text": "/documents/{document}/",
    "one document, extractions": "/documents/{document}/?tab=extractions",
    "one document, outputs": "/documents/{document}/?tab=outputs",
    "one document, lineage": "/documents/{document}/?tab=lineage",
    "activity": "/activity/",
}

# Every fiftieth document has no text in force, every hundredth a failed version as its newest; every two hundredth path
# names a newer document by now.
FILL = """
CREATE FUNCTION pg_temp.file_id(n int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'sha256-' || lpad(md5(n::text), 64, '0') $$;
CREATE FUNCTION pg_temp.made_id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT ('01900000-0001-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$;

INSERT INTO coverage_learner (id, name, graph_revision)
SELECT pg_temp.made_id(n), 'Learner ' || n, 0 FROM generate_series(1, 20) n;

INSERT INTO extraction_document (file_id, learner_id, filename, mime, size_bytes, added_at)
SELECT pg_temp.file_id(n), CASE WHEN n % 3 = 0 THEN pg_temp.made_id(1 + n % 20) END, 'report-' || n || '.md',
       CASE WHEN n % 10 = 0 THEN 'application/pdf' ELSE 'text/markdown' END, 1000 + n % 5000,
       now() - n * interval '1 minute'
FROM generate_series(1, {documents}) n;

INSERT INTO extraction_documentsource (document_id, path, seen_at, replaces_id)
SELECT pg_temp.file_id(n), '/library/shelf-' || named % 100 || '/report-' || named || '.md', now() - n * interval '1 minute',
       CASE WHEN n % 200 = 198 AND n < {documents} THEN pg_temp.file_id(n + 1) END
FROM (SELECT n, n - n % 200 / 199 AS named FROM generate_series(1, {documents}) n) files;

INSERT INTO extraction_extractionversion
    (id, document_id, extractor, extractor_version, options, status, text_sha256, text_chars, manifest_records, error, created_at)
SELECT 'text-20261130000000-' || lpad(to_hex(n), 8, '0'), pg_temp.file_id(n), 'text', '1', '{{}}', 'succeeded',
       repeat('a', 64), 4000, 10, '', now() - interval '1 day'
FROM generate_series(1, {documents}) n WHERE n % 50 <> 0;

INSERT INTO extraction_extractionversion
    (id, document_id, extractor, extractor_version, options, status, text_sha256, text_chars, manifest_records, error, created_at)
SELECT 'pdf-20261130000001-' || lpad(to_hex(n), 8, '0'), pg_temp.file_id(n), 'pdf', '1', '{{}}', 'failed',
       '', 0, 0, 'timeout: it took too long', now()
FROM generate_series(1, {documents}) n WHERE n % 100 = 0;

UPDATE extraction_document d SET primary_id = v.id
FROM extraction_extractionversion v WHERE v.document_id = d.file_id AND v.status = 'succeeded';

INSERT INTO osii_collection (id, name, created_at) VALUES (pg_temp.made_id(1), 'A tenth', now());
INSERT INTO osii_collectiondocument (collection_id, document_id, added_at)
SELECT pg_temp.made_id(1), pg_temp.file_id(n), now() FROM generate_series(1, {documents}) n WHERE n % 10 = 3;
"""


def run_quick() -> list[Result]:
    return at_sizes(QUICK, _over)


def run_full() -> list[Result]:
    return at_sizes(FULL, _over)


def _over(documents: int) -> list[Result]:
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(documents=documents))
    analyze()
    if Document.objects.count() < documents:
        raise RuntimeError("the rows are not there: the documents benchmark is void")
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("benchmark-documents"))
    document = Document.objects.filter(learner__isnull=False, primary__isnull=False).first()
    names = {
        "collection": Collection.objects.get(name="A tenth").pk,
        "learner": document.learner_id,
        "document": document.pk,
        "middle": documents // 100,
        "last": documents // 50,
    }
    _seconds(client, "/documents/")  # loads templates and connections
    return [empty(client, "documents"), *(_page(client, name, url.format(**names)) for name, url in PAGES.items())]


def empty(client: Client, benchmark: str) -> Result:
    """The least that a request costs: one that asks nothing of the database."""
    return Result(benchmark, EMPTY, "ms", **spread([1000 * _seconds(client, "/healthz") for _ in range(ROUNDS)]))


def _page(client: Client, name: str, url: str) -> Result:
    with CaptureQueriesContext(connection) as captured:
        _seconds(client, url)
    # Taken now: the next request begins with an empty list.
    statements = list(captured.captured_queries)
    slowest = max(statements, key=lambda query: float(query["time"]))
    times = take_turns(
        {"page": lambda: _seconds(client, url), "empty": lambda: _seconds(client, "/healthz")}, rounds=ROUNDS, warm_up=1
    )
    cost, times, least = cost_of(lambda: _seconds(client, url)), times["page"], times["empty"]
    return Result(
        "documents", name, "ms", **spread(times), target=Target(TARGET_MS), beside=EMPTY, ratio=median_ratio(times, least),
        peak_mb=cost.peak_mb, queries=cost.queries,
        notes=(
            f"{name}: fastest {min(times):.0f} ms, {len(statements)} queries; {_plan(slowest['sql'])}",
            processor_note(name, lambda: _seconds(client, url)),
        ),
    )  # fmt: skip


def _seconds(client: Client, url: str) -> float:
    began = time.perf_counter()
    response = client.get(url)
    if response.status_code != 200:
        raise RuntimeError(f"{url} answered {response.status_code}")
    return time.perf_counter() - began


def _plan(statement: str) -> str:
    """The slowest statement's nodes with their times, outermost first."""
    if not statement.lstrip().startswith("SELECT"):
        return "no plan"
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        made = cursor.fetchone()[0]
    root: dict[str, Any] = (json.loads(made) if isinstance(made, str) else made)[0]["Plan"]
    nodes, found = [root], []
    while nodes and len(found) < 4:
        node = nodes.pop(0)
        found.append(f"{node['Node Type']} {node.get('Index Name') or node.get('Relation Name') or ''}".strip())
        nodes = node.get("Plans", []) + nodes
    return f"slowest query {root['Actual Total Time']:.0f} ms: {' > '.join(found)}"
