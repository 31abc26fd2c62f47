"""The dashboard over many chats, each page as a browser asks for it, with its query plans."""

import json
import re
import time
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from coverage import summaries
from coverage.models import Chat, Learner, Message
from extraction.models import Batch, Run

from .many_documents import EMPTY, empty
from .measure import at_sizes, cost_of, median_ratio, once, spread, take_turns
from .processor import processor_note
from .result import Result, Target
from .scratch import analyze

QUICK, FULL = (500, 5_000), (10_000, 100_000)  # chats
MESSAGES = 20  # of each chat
ROUNDS = 5
TARGET_MS = 200
PLANS_SHOWN = 3
"""Plans of a page's slowest queries."""

PAGES = {
    "first page": "/chats/",
    "the middle page": "/chats/?page={middle}",
    "last page": "/chats/?page={last}",
    "by uncovered tokens": "/chats/?sort=uncovered",
    "due": "/chats/?state=due",
    "due, by uncovered tokens": "/chats/?state=due&sort=uncovered",
    "with uncovered tokens": "/chats/?state=unread",
    "needs attention": "/chats/?state=attention",
    "one learner": "/chats/?learner={learner}",
    "one learner, due, by uncovered tokens": "/chats/?learner={learner}&state=due&sort=uncovered",
    "search in titles": "/chats/?q=chat+424",
    "by title": "/chats/?sort=title",
    "running or queued": "/chats/?state=running",
    "activity": "/activity/",
    "home": "/",
}

# Half of each chat is read, in one batch; every tenth text is the same in all messages of its chat.
FILL = """
-- Ids in the order of time, as the product's own are.
CREATE FUNCTION pg_temp.made_id(kind int, n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT ('01900000-000' || kind || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$;

INSERT INTO coverage_learner (id, name, graph_revision)
SELECT pg_temp.made_id(1, n), 'Learner ' || n, 0 FROM generate_series(1, 20) n;

INSERT INTO coverage_chat (id, learner_id, title, source, external_id, graph_context_tokens, settings, updated_at)
SELECT pg_temp.made_id(2, n), pg_temp.made_id(1, 1 + n % 20), 'Chat ' || n, 'api', '', 1024, '{{}}',
       now() - n * interval '1 minute'
FROM generate_series(1, {chats}) n;

INSERT INTO coverage_message
    (chat_id, message_id, position, role, parts, metadata, fingerprint, tokens, streaming)
SELECT pg_temp.made_id(2, c), 'm' || p, p, CASE p % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
       jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('Message ' || p || '. ', 15))), '{{}}',
       'v1:' || md5(CASE p % 10 WHEN 0 THEN 'same' ELSE p::text END), 100 + (c * p) % 300, false
FROM generate_series(1, {chats}) c, generate_series(1, {messages}) p;

INSERT INTO extraction_run (id, chat_id, mode, status, worker, model, attempt, recoveries, following, held_by, error, note,
                            retries, queued_at, started_at, finished_at)
SELECT pg_temp.made_id(3, n), pg_temp.made_id(2, n), 'rest', CASE WHEN n % 1000 = 0 THEN 'queued' ELSE 'succeeded' END,
       'rules', '', 1, 0, '{{}}', '', '', '', 0, now() - n * interval '1 minute', now() - n * interval '1 minute',
       CASE WHEN n % 1000 = 0 THEN NULL ELSE now() - n * interval '1 minute' END
FROM generate_series(1, {chats}) n;

INSERT INTO extraction_batch (id, chat_id, run_id, status, attempt, attempt_token, failures, first_position,
                              last_position, tokens, worker, worker_version, prompt_version, prompt_hash, model, reason,
                              staged_count, refusals, usage, error, created_at, finished_at)
SELECT pg_temp.made_id(4, n), pg_temp.made_id(2, n), pg_temp.made_id(3, n),
       CASE WHEN n % 500 = 0 THEN 'parked' ELSE 'succeeded' END, 1, pg_temp.made_id(3, n), 0, 1, {messages} / 2,
       1000, 'rules', '', '', '', '{{}}', 'a benchmark', 0, 0, '{{}}', '', now() - n * interval '1 minute',
       now() - n * interval '1 minute'
FROM generate_series(1, {chats}) n;

INSERT INTO extraction_batchmessage (batch_id, chat_id, "order", message_id, position, fingerprint, tokens)
SELECT pg_temp.made_id(4, c), pg_temp.made_id(2, c), p, 'm' || p, p,
       'v1:' || md5(CASE p % 10 WHEN 0 THEN 'same' ELSE p::text END), 100 + (c * p) % 300
FROM generate_series(1, {chats}) c, generate_series(1, {messages} / 2) p;

INSERT INTO coverage_coverageentry (chat_id, fingerprint, tokens, kind, batch)
SELECT m.chat_id, m.fingerprint, m.tokens, 'cover', m.batch_id
FROM extraction_batchmessage m JOIN extraction_batch b ON b.id = m.batch_id WHERE b.status = 'succeeded';
"""


def run_quick() -> list[Result]:
    return at_sizes(QUICK, _over)


def run_full() -> list[Result]:
    return at_sizes(FULL, _over)


def _over(chats: int) -> list[Result]:
    began = time.perf_counter()
    fill(chats)
    filled = time.perf_counter() - began
    began = time.perf_counter()
    summaries.fill_all()
    analyze()
    filling = time.perf_counter() - began
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("benchmark"))
    learner = Learner.objects.get(name="Learner 7").pk
    _seconds(client, "/chats/")  # loads templates and connections
    results = [
        Result("chats", f"filling in, {MESSAGES} messages each", "s", **once(filled)),
        Result("chats", "memos of all chats at once", "s", **once(filling)),
    ]
    names = {"learner": learner, "middle": max(1, chats // 100), "last": max(1, chats // 50)}
    results.append(empty(client, "chats"))
    return results + [_page(client, name, url.format(**names)) for name, url in PAGES.items()]


def fill(chats: int) -> None:
    with connection.cursor() as cursor:
        _set_defaults(cursor)
        cursor.execute(FILL.format(chats=chats, messages=MESSAGES))
    analyze()
    if (Chat.objects.filter(source="api").count(), Message.objects.count()) < (chats, chats * MESSAGES):
        raise RuntimeError("the rows are not there: the chats benchmark is void")


def _set_defaults(cursor: Any) -> None:
    """What the models fill in by themselves, this scratch database does too, so a new column needs no change here."""
    for model in (Learner, Chat, Message, Run, Batch):
        for field in model._meta.concrete_fields:
            value = None if field.null or field.is_relation else field.get_default()
            if isinstance(value, str | int | dict | list):
                text = json.dumps(value) if isinstance(value, dict | list) else str(value)
                cursor.execute(
                    sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET DEFAULT {}").format(
                        sql.Identifier(model._meta.db_table), sql.Identifier(field.column), sql.Literal(text)
                    )
                )


def _page(client: Client, name: str, url: str) -> Result:
    with CaptureQueriesContext(connection) as captured:
        first = _seconds(client, url)
    # Taken now: the next request begins with an empty list.
    statements = [query["sql"] for query in captured.captured_queries]
    # What takes many seconds is measured once.
    calls = {"page": lambda: _seconds(client, url), "empty": lambda: _seconds(client, "/healthz")}
    times = take_turns(calls, rounds=1 if first > 5 else ROUNDS, warm_up=0)
    cost = cost_of(lambda: _seconds(client, url))
    return Result(
        "chats", name, "ms", **spread(times["page"]), beside=EMPTY, ratio=median_ratio(times["page"], times["empty"]),
        target=Target(TARGET_MS), notes=(*_plans(statements), processor_note(name, lambda: _seconds(client, url))), peak_mb=cost.peak_mb, queries=cost.queries,
    )  # fmt: skip


def _seconds(client: Client, url: str) -> float:
    began = time.perf_counter()
    response = client.get(url)
    taken = time.perf_counter() - began
    if response.status_code != 200:
        raise RuntimeError(f"{url} answered {response.status_code}: the chats benchmark is void")
    return taken


def _plans(statements: list[str]) -> tuple[str, ...]:
    """The slowest of these queries: its time in the database, the tables it names, and the nodes of its plan."""
    plans = []
    with connection.cursor() as cursor:
        for statement in statements:
            if statement.startswith("SELECT"):
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
                (found,) = cursor.fetchone()
                plan = (json.loads(found) if isinstance(found, str) else found)[0]
                plans.append((plan["Execution Time"], _tables(statement), " > ".join(_nodes(plan["Plan"]))))
    plans.sort(reverse=True)
    return tuple(f"{taken:.1f} ms, {tables}: {nodes}" for taken, tables, nodes in plans[:PLANS_SHOWN])


def _tables(statement: str) -> str:
    return ", ".join(dict.fromkeys(re.findall(r'(?:FROM|JOIN) "(\w+)"', statement)))


def _nodes(plan: dict[str, Any]) -> list[str]:
    """The plan's nodes from the top, the first branch first; a scan with its index or table."""
    name = plan["Node Type"]
    of = plan.get("Index Name") or plan.get("Relation Name")
    nodes = [f"{name} {of}" if of else name]
    for child in plan.get("Plans", []):
        nodes += _nodes(child)
    return list(dict.fromkeys(nodes))
