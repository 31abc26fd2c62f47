"""process_library as its user calls it."""

import io
import json
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from extraction.models import Document
from osii.library import methods, runs
from osii.management.commands import process_library
from osii.models import Output, ProcessingRun

from . import rows

pytestmark = pytest.mark.django_db(transaction=True)

STATISTICS = ("--all", "--enrichment", "statistics")


def call(*arguments: str) -> str:
    out = io.StringIO()
    call_command("process_library", *arguments, stdout=out)
    return out.getvalue()


def call_json(*arguments: str) -> dict:
    return json.loads(call(*arguments, "--json"))


def test_a_dry_run_prints_the_plan_and_starts_nothing(document):
    rows.document("without.md")
    said = call(*STATISTICS, "--dry-run")
    assert "2 documents" in said
    assert "1 eligible, 0 current, 1 blocked" in said
    assert "without.md" in said
    assert "enrichment: no text" in said
    data = call_json(*STATISTICS, "--dry-run")
    assert data["preview"]["processing_plan"]["eligible_count"] == 1
    assert (data["blocked_count"], data["blocked"][0]["filename"]) == (1, "without.md")
    assert not ProcessingRun.objects.exists()


def test_a_run_here_from_start_to_end(document, capsys):
    said = call(*STATISTICS, "--here")
    run = ProcessingRun.objects.get()
    assert f"run {run.pk} succeeded: 1 succeeded" in said
    assert run.actor.startswith("command:")
    assert Output.objects.get().kind == "enrichment"
    with pytest.raises(CommandError, match="nothing is eligible"):
        call(*STATISTICS, "--here")
    assert "succeeded" in call("--status")
    assert call_json("--status")["runs"][0]["progress"]["succeeded"] == 1


def test_a_run_is_left_to_the_workers(document, rq_connection):
    data = call_json(*STATISTICS)
    assert (data["run"]["status"], data["waited"]) == ("queued", False)
    assert rq_connection.llen("rq:queue:library") == 1


def test_failures_are_listed_and_resumed(document, monkeypatch):
    method = type(methods.find("enrichment", "statistics"))
    good = method.make
    monkeypatch.setattr(method, "make", lambda *_: 1 / 0)
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of 1 document failed"):
        call_command("process_library", *STATISTICS, "--here", stdout=out)
    assert "notes.md  enrichment: method_error" in out.getvalue()
    run = ProcessingRun.objects.get()
    monkeypatch.setattr(method, "make", good)
    assert "1 succeeded" in call("--resume", str(run.pk), "--here")
    with pytest.raises(CommandError, match="nothing is left to do"):
        call("--resume", str(run.pk), "--here")


def test_a_paused_run_goes_on(document):
    call(*STATISTICS)
    run = ProcessingRun.objects.get()
    runs.pause(run.pk)
    assert "1 succeeded" in call("--resume", str(run.pk), "--here")


def test_ctrl_c_hands_the_document_back(document, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(process_library.jobs.steps, "do", interrupt)
    call(*STATISTICS, "--here")
    run = ProcessingRun.objects.get()
    item = run.items.get()
    assert (run.status, item.status, item.recoveries) == ("running", "queued", 0)
    monkeypatch.undo()
    assert "1 succeeded" in call("--resume", str(run.pk), "--here")


def test_scopes_and_operations_become_a_request(document):
    call("--type", "text/*", "--name", "*.md", "--synthesis", "--embeddings", "--here")
    request = ProcessingRun.objects.get().request
    assert request == {
        "workflow": "library", "scope": {"types": ["text/*"], "names": ["*.md"]}, "build_embeddings": True,
        "synthesizer_name": "default",
    }  # fmt: skip
    assert Document.objects.get().outputs.count() == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--enrichment",), "say which documents"),
        (("--all",), "no operation is asked for"),
        (("--all", "--enrichment", "nobody"), "enricher_name: is 'nobody'"),
        (("--collection", "none", "--chunks"), "there is no collection 'none'"),
        (("--document", "x", "--chunks"), "is not a document's id"),
        (("--all", "--extract", "--policy", "save_variant", "--chunks"), "save_variant goes without downstream work"),
        (("--all", "--chunks"), "no document is in this scope"),
        (("--resume", "x"), "there is no run x"),
        (("--resume", str(uuid4())), "there is no run"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments, told):
    with pytest.raises(CommandError, match=told):
        call(*arguments)
