"""Secrets are planted wherever the installation has some, and looked for wherever it writes: nothing of them may turn up."""

import html
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django_rq
import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.views.debug import technical_500_response

from graphctx.embedders.endpoint import Connection, EndpointEmbedder
from osii import tokens, workers
from osii.ops import logs, metrics
from tests.osii import jobs, rows
from tests.osii.security.routes import every_route

PLANTED = {
    "SECRET_KEY": "planted-secret-key-0123456789",
    "DATABASE_URL": "planted-database-password",
    "REDIS_URL": "planted-redis-password",
    "OSII_LLM_API_KEY": "planted-model-key",
    "OSII_EMBEDDINGS_API_KEY": "planted-embeddings-key",
    "OSII_EMBEDDINGS_BASE_URL": "planted-embeddings-password",
    "OSII_ADMIN_PASSWORD": "planted-admin-password",
    "OSII_METRICS_TOKEN": "planted-metrics-token",
    "OTHER_API_KEY": "planted-other-key",
}
VARIABLES = PLANTED | {
    "DATABASE_URL": f"postgresql://me:{PLANTED['DATABASE_URL']}@127.0.0.1:1/osii",
    "REDIS_URL": f"redis://me:{PLANTED['REDIS_URL']}@127.0.0.1:1/0",
    "OSII_EMBEDDINGS_BASE_URL": f"http://me:{PLANTED['OSII_EMBEDDINGS_BASE_URL']}@127.0.0.1:1/v1",
    "OSII_EMBEDDER": "endpoint",
    "OSII_EMBEDDINGS_MODEL": "m",
    "OSII_EMBEDDINGS_DIMENSION": "8",
    "OSII_LLM_MODEL": "m",
    "EXTRACTION_WORKER": "llm",
}


def leaked(text: str) -> list[str]:
    return [name for name, value in PLANTED.items() if value in text or html.escape(value) in text]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    for name in ("OSII_LLM_API_KEY", "OSII_EMBEDDINGS_API_KEY", "OSII_ADMIN_PASSWORD", "OSII_METRICS_TOKEN"):
        setattr(settings, name, PLANTED[name])
    settings.SECRET_KEY = PLANTED["SECRET_KEY"]
    known = logs.Secrets()
    known.learn(PLANTED["SECRET_KEY"])
    monkeypatch.setattr(logs, "secrets", known)


COMMANDS = {
    "doctor": ("doctor", "--production"),
    "a worker": ("work", "chats", "--burst"),
    "a backup": ("backup", "."),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_tells_a_secret_when_nothing_answers(command: tuple[str, ...], tmp_path: Path) -> None:
    """Each with real settings, and servers that are not there: what goes wrong is told, and what it was tried with is not."""
    told = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).parents[3] / "manage.py"), *command],
        check=False, capture_output=True, text=True, cwd=tmp_path, timeout=150, env=os.environ | VARIABLES | {"OSII_HOME": str(tmp_path)},
    )  # fmt: skip
    assert leaked(told.stdout + told.stderr) == []
    assert told.stdout + told.stderr


# --- Error pages ---


def failing(request: HttpRequest) -> Any:
    """As a page that fails with a secret in its message, its variables, its settings and its request."""
    password = PLANTED["OSII_ADMIN_PASSWORD"]
    try:
        raise RuntimeError(f"{VARIABLES['DATABASE_URL']} and {password} and {PLANTED['OTHER_API_KEY']} were refused")
    except RuntimeError:
        return technical_500_response(request, *sys.exc_info())


def test_the_page_of_an_error_with_details_tells_none(planted: None, settings: Any) -> None:
    settings.DEBUG = True
    settings.RQ_QUEUES = {"chats": {"URL": VARIABLES["REDIS_URL"]}}
    for accepted in ("text/html", "text/plain"):
        token = "osii_abcd1234_" + "x" * 43
        request = RequestFactory().get(
            "/", headers={"Accept": accepted, "Authorization": f"Bearer {token}"}, **VARIABLES
        )
        page = failing(request).content.decode()
        assert "RuntimeError" in page
        assert leaked(page) == []
        assert token not in page


@pytest.mark.django_db
def test_the_page_of_an_error_without_details_tells_nothing(
    planted: None, monkeypatch: pytest.MonkeyPatch, rq_connection: Any
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logs.Plain())
    logging.getLogger("django.request").addHandler(handler)
    monkeypatch.setattr(
        "osii.web.views.home.render", lambda *_: (_ for _ in ()).throw(RuntimeError(" ".join(PLANTED.values())))
    )
    try:
        page = client.get("/")
    finally:
        logging.getLogger("django.request").removeHandler(handler)
    assert page.status_code == 500
    assert leaked(page.text) == []
    assert "planted" not in page.text
    assert "RuntimeError" in lines.getvalue()
    assert leaked(lines.getvalue()) == []


# --- Jobs, metrics, pages ---


@pytest.mark.django_db
def test_a_job_that_fails_leaves_no_secret_in_redis(planted: None, rq_connection: redis.Redis) -> None:
    queue = django_rq.get_queue("chats", commit_mode="auto")
    job = queue.enqueue(jobs.fail_saying, " ".join(PLANTED))
    workers.worker("chats").work(burst=True, logging_level="CRITICAL")
    assert job.get_status(refresh=True) == "failed"
    kept = [rq_connection.dump(key) or b"" for key in rq_connection.keys("*")]
    trace = job.latest_result().exc_string
    assert "RuntimeError" in trace
    assert leaked(trace + " ".join(one.decode("latin-1") for one in kept)) == []


@pytest.mark.django_db
def test_jobs_are_named_by_ids_alone(rq_connection: redis.Redis, django_capture_on_commit_callbacks: Any) -> None:
    from extraction import services

    chat = rows.chat(title=PLANTED["OTHER_API_KEY"])
    with django_capture_on_commit_callbacks(execute=True):
        services.request_run(chat.pk, mode="rest")
    (job,) = django_rq.get_queue("chats").jobs
    assert leaked(job.description + str(job.args) + str(job.kwargs)) == []


# The pages that say how the installation is set up.
TELLING = {
    "/",
    "/activity/",
    "/intake/",
    "/context/",
    "/talk/",
    "/search/",
    "/admin/",
    "/api/docs",
    "/login/",
    "/dock/",
}


@pytest.mark.django_db
def test_no_page_and_no_metric_tells_a_secret(planted: None, rq_connection: redis.Redis) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    told = {route.path: leaked(client.get(route.path).text) for route in every_route() if route.path in TELLING}
    assert set(told) == TELLING
    assert {path: names for path, names in told.items() if names} == {}
    bearer = {"Authorization": f"Bearer {PLANTED['OSII_METRICS_TOKEN']}"}
    page = metrics.metrics(RequestFactory().get("/metrics", headers=bearer))
    assert page.status_code == 200
    assert leaked(page.content.decode()) == []


def stored() -> Iterator[tuple[str, str]]:
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT string_agg(one::text, chr(10)) FROM "{table}" AS one')
            yield table, cursor.fetchone()[0] or ""


@pytest.mark.django_db
def test_a_token_is_in_no_row(rq_connection: redis.Redis) -> None:
    _, token = tokens.issue(name="Mine")
    Client().get("/api/propositions", headers={"Authorization": f"Bearer {token}"})
    secret = token.rpartition("_")[2]
    assert [table for table, text in stored() if secret in text] == []


def test_an_embeddings_server_is_named_without_its_password() -> None:
    url = VARIABLES["OSII_EMBEDDINGS_BASE_URL"]
    made = EndpointEmbedder.__new__(EndpointEmbedder)
    made.spec, made.connection = type("Spec", (), {"model": "m"})(), Connection(url, "planted-embeddings-key")
    said = str(made._error("refused planted-embeddings-key"))
    assert leaked(said + repr(made.connection)) == []
    assert "http://127.0.0.1:1/v1" in said


def test_what_was_planted_would_be_found() -> None:
    assert leaked(json.dumps(PLANTED)) == list(PLANTED)
