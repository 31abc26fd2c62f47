"""Replaying a batch: what is compared, and that nothing at all is written."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from coverage.models import Chat
from extraction import replay, workers
from extraction.llm import retrying
from extraction.models import Batch, ReferenceEnvironment
from extraction.running import runs
from extraction.services import request_run
from extraction.workers import register_worker
from tests import factories
from tests.extraction.llm_runs import tea
from tests.extraction.scripted_endpoint import Says, calls, finish, serving, stage
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def batch() -> Batch:
    chat = factories.chat(
        message("m0", "I decided to use PostgreSQL instead of SQLite, because several workers write at once."),
        message("m1", "I prefer short answers with an example.", "user"),
    )
    runs.execute(request_run(chat.pk, "rest", "rules", enqueue=False).pk)
    return Batch.objects.get()


def tables() -> dict[str, list[Any]]:
    """Every row of every table of ours, by content."""
    found = {}
    managed = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    with connection.cursor() as cursor:
        for model in managed:
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{model._meta.db_table}" t ORDER BY 1')
            found[model._meta.db_table] = cursor.fetchall()
    return found


def output(capsys: Any, *arguments: str) -> dict[str, Any]:
    call_command("replay_batch", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_the_same_worker_finds_the_same_and_no_table_changes(batch: Batch, capsys: Any) -> None:
    before = tables()
    assert before["extraction_candidate"] and before["coverage_coverageentry"]
    data = output(capsys, str(batch.pk), "--worker", "rules")
    assert tables() == before
    assert len(data["same"]) == batch.staged_count > 0
    assert (data["only_before"], data["only_now"]) == ([], [])
    assert all(row["differs"] == [] for row in data["same"])
    assert data["usage"]["finish_extraction"] == 1 and data["refusals"] == 0


def test_another_worker_is_compared_claim_by_claim(batch: Batch, settings: Any, capsys: Any) -> None:
    kept = batch.candidates.first()
    with serving(settings) as serve:
        script = (
            calls(
                stage(kept.claim.upper(), kept.evidence[0]["id"], kind=kept.kind, understanding="shaky"),
                stage("Nobody staged this before.", "m1.0"),
                stage("Not there.", "m9.0"),
            ),
            calls(finish(2, "read it again")),
        )
        serve(*script)
        before = tables()
        data = output(capsys, str(batch.pk), "--worker", "llm")
        assert tables() == before
        serve(*script)
        call_command("replay_batch", str(batch.pk), "--worker", "llm")
    assert [row["claim"] for row in data["only_now"]] == ["Nobody staged this before."]
    assert [(row["kind"], "understanding" in row["differs"]) for row in data["same"]] == [(kept.kind, True)]
    assert len(data["only_before"]) == batch.staged_count - 1
    assert (data["reason"], data["refusals"], data["usage"]["requests"]) == ("read it again", 1, 2)
    said = capsys.readouterr().out
    assert "+ fact: Nobody staged this before." in said and "Nothing was written." in said


class WritesElsewhere:
    """A worker that reaches past its tools."""

    name = "writes-elsewhere"
    version = "1"

    def run(self, *_: Any) -> None:
        Chat.objects.update(title="mine now")


def test_a_worker_that_writes_is_stopped_by_the_database(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_REGISTRY", dict(workers._REGISTRY))  # other tests do not know it
    register_worker("writes-elsewhere", f"{__name__}:WritesElsewhere")
    with pytest.raises(Exception, match="read-only transaction"):
        replay.replay(batch.pk, "writes-elsewhere")
    assert Chat.objects.get().title == "A chat"
    Chat.objects.update(title="still writable afterwards")


def test_a_worker_that_does_not_finish_is_said(batch: Batch, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    with serving(settings) as serve:
        serve(calls(stage("One.", "m1.0")), Says("That is all."))
        with pytest.raises(
            CommandError, match="could not read this batch: the model stopped without finish_extraction"
        ):
            call_command("replay_batch", str(batch.pk), "--worker", "llm")


def test_what_cannot_be_replayed_is_said(batch: Batch) -> None:
    def said(*arguments: str) -> str:
        with pytest.raises(CommandError) as error:
            call_command("replay_batch", *arguments)
        return str(error.value)

    assert "is not a batch id" in said("nonsense", "--worker", "rules")
    assert "there is no batch" in said(str(uuid4()), "--worker", "rules")
    assert "takes no model" in said(str(batch.pk), "--worker", "rules", "--model", "fast")
    assert "there is no model 'fast'; known: none" in said(str(batch.pk), "--worker", "llm", "--model", "fast")
    assert "OSII_LLM_MODEL" in said(str(batch.pk), "--worker", "llm")


def test_an_environment_that_is_not_what_was_stored_is_refused(batch: Batch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE extraction_referenceenvironment DISABLE TRIGGER USER")
        ReferenceEnvironment.objects.update(content_hash="0" * 32)
        cursor.execute("ALTER TABLE extraction_referenceenvironment ENABLE TRIGGER USER")
    with pytest.raises(CommandError, match=r"is not what was stored: .* but 0{32} is recorded"):
        call_command("replay_batch", str(batch.pk), "--worker", "rules")


def test_a_batch_that_never_began_has_nothing_to_replay(settings: Any) -> None:
    chat = factories.chat(tea())
    run = request_run(chat.pk, "rest", "rules", enqueue=False)
    half = Batch.objects.create(
        chat=chat, run=run, attempt_token=uuid4(), attempt=0, status="failed", first_position=1, last_position=1,
        tokens=10, worker="rules",
    )  # fmt: skip
    with pytest.raises(CommandError, match="formed and never begun"):
        call_command("replay_batch", str(half.pk), "--worker", "rules")
