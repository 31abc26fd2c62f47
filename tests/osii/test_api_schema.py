"""Whatever the schema allows, and near what it forbids: no route breaks, and each answers as the schema says.

Calls go through the WSGI application, middleware and all. A few per route, always the same ones; with
`SCHEMA_EXAMPLES=300` in the environment so many, and new ones with every run.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage.models import Learner
from extraction.models import Document
from graphctx.models import Steer
from osii import tokens
from osii.library import runs
from osii.library.requests import Request
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii import rows

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "0"))
TRIES = settings(
    max_examples=EXAMPLES or 4,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
REMOVALS = {"POST /api/objects/{file_id}/retention", "DELETE /api/objects/{file_id}"}
TEXT = "Light reactions split water, and the oxygen of the air comes from that water."


@pytest.fixture
def there(extracted: Callable[..., Any], rq_connection: Any) -> dict[str, Any]:
    """Something of every kind, by the names under which paths, queries and bodies ask for it."""
    ada = Learner.objects.create(name="Ada")
    version = extracted("notes.md", TEXT)
    Document.objects.filter(pk=version.document_id).update(learner=ada)
    chat = rows.chat(learner=ada)
    read = rows.batch(chat)
    claim = rows.proposition("Ice floats.", ada)
    rows.instance(claim, chat)
    rows.resolution(rows.candidate(read), claim)
    now = rows.timezone.now()
    steer = Steer.objects.create(
        id=uuid4(),
        chat=chat,
        status="offered",
        topic="Ice",
        budget=1024,
        text="Ice floats.",
        tokens=3,
        count=1,
        offered_at=now,
    )
    run, _new = runs.create(Request.of({"scope": {"all": True}, "enricher_name": "statistics"}), actor="a test")
    return {
        "chat_id": str(chat.pk), "chat": str(chat.pk), "message_id": "m1", "proposition_id": str(claim.pk),
        "run_id": str(run.pk), "file_id": version.document_id, "file_ids": [version.document_id],
        "extraction_id": version.pk, "extraction_ids": [version.pk], "expected_primary_id": version.pk,
        "steer_id": str(steer.pk), "learner": "Ada", "name": "text.txt", "all": True,
        "scope": {"all": True}, "enricher_name": "statistics", "q": "ice", "topic": "ice",
    }  # fmt: skip


@pytest.fixture
def application() -> Iterator[WSGIHandler]:
    """The WSGI application; it may not end the test's transaction between two requests."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield get_wsgi_application()
    for signal in signals:
        signal.connect(close_old_connections)


def filled(case: Any, there: dict[str, Any], chosen: set[str]) -> None:
    """Put what is there in the place of some of what was made up, in path, query and body."""
    for names in (case.path_parameters, case.query, case.body):
        if isinstance(names, dict):
            names.update({name: there[name] for name in chosen & names.keys()})


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside is taken back, so that the next call finds what is there."""
    block = transaction.atomic()
    block._from_testcase = True  # a durable block may stand in it, as in a test's own
    with block:
        yield
        transaction.set_rollback(True)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.django_db
@pytest.mark.parametrize("scope", ["staff", "learner"])
def test_no_route_breaks_and_all_answer_as_the_schema_says(
    scope: str, there: dict[str, Any], application: WSGIHandler, subtests: pytest.Subtests
) -> None:
    import schemathesis  # slow, and needed here only
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    learner = None if scope == "staff" else Learner.objects.get(name="Ada")
    headers = {"Authorization": f"Bearer {tokens.issue(learner=learner)[1]}"}
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", application)
    answer = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]
    done: set[str] = set()

    def check(operation: Any, mode: Any) -> None:
        @TRIES
        @given(case=operation.as_strategy(generation_mode=mode), chosen=st.sets(st.sampled_from(sorted(there))))
        def answers(case: Any, chosen: set[str]) -> None:
            flawed = mode is schemathesis.GenerationMode.NEGATIVE
            filled(case, there, chosen if flawed else set(there))
            with undone():
                response = case.call(headers=headers)
            if response.status_code < 300:
                done.add(operation.label)
            refused = [checks.negative_data_rejection] if flawed and not chosen else []
            case.validate_response(response, checks=[not_a_server_error, *answer, *refused])

        answers()

    # What removes files comes last: these do not come back with the rows.
    operations = sorted((found.ok() for found in schema.get_all_operations()), key=lambda one: one.label in REMOVALS)
    assert len(operations) > 40
    for operation in operations:
        for mode in schemathesis.GenerationMode:
            with subtests.test(operation.label, mode=mode.value):
                check(operation, mode)
    # Most routes are not only refused: what they write and answer was seen.
    assert len(done) > (30 if scope == "staff" else 15), done
