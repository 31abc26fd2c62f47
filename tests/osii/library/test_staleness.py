"""What is current and what is stale, for which reason."""

import random
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document
from osii.library import methods, outputs, staleness
from osii.library.models import Output, OutputSetting
from osii.library.statistics import Statistics

from . import rows, straightforward

pytestmark = pytest.mark.django_db


def state(document: Document, kind: str = "enrichment", method: str | None = "statistics", **more) -> tuple[str, str]:
    document = Document.objects.get(pk=document.pk)
    found = staleness.of_document(document, {"wanted": methods.wanted(kind, method, **more)})["wanted"]
    return found.state, found.reason


def test_missing_then_current(document):
    assert state(document) == ("missing", "")
    made = outputs.make(document.pk, "enrichment", "statistics")
    assert made.status == "succeeded"
    assert state(document) == ("current", "")
    assert outputs.current(document, "enrichment", "statistics") == made


def test_current_is_asked_of_the_method_and_not_of_any(document):
    outputs.make(document.pk, "enrichment", "statistics")
    assert state(document, method="entities") == ("missing", "")
    assert outputs.current(document, "enrichment", "entities") is None


def test_a_former_primary_finds_its_outputs_current_again(document, variant, promote):
    first = document.primary_id
    for kind, method in (("chunks", "sentences"), ("enrichment", "statistics"), ("synthesis", "extractive")):
        outputs.make(document.pk, kind, method)
    before = set(Output.objects.values_list("pk", flat=True))
    promote(variant)
    assert state(document) == ("stale", "extraction changed")
    assert state(document, "chunks", None) == ("stale", "extraction changed")
    outputs.make(document.pk, "enrichment", "statistics")
    assert state(document) == ("current", "")
    promote(first)
    for kind, method in (("chunks", "sentences"), ("enrichment", "statistics"), ("synthesis", "extractive")):
        assert state(document, kind, method) == ("current", "")
        assert outputs.make(document.pk, kind, method).pk in before  # nothing was made again
    assert Output.objects.count() == len(before) + 1


def test_the_method_its_options_and_its_prompt_change(document, monkeypatch):
    outputs.make(document.pk, "enrichment", "statistics")
    OutputSetting.objects.create(kind="enrichment", method="statistics", options={"keywords": 3})
    assert state(document) == ("stale", "options changed")
    OutputSetting.objects.all().delete()
    assert state(document) == ("current", "")
    monkeypatch.setattr(Statistics, "prompt_version", lambda self, options: "p-2")
    assert state(document) == ("stale", "prompt changed")
    monkeypatch.setattr(Statistics, "version", "next")
    assert state(document) == ("stale", "method version changed")


def test_blocked_documents_say_why(add, monkeypatch, bad_extractors):
    document = Document.objects.get(pk=add("a.txt", "A text that nobody extracted."))
    assert state(document) == ("blocked", "no text")
    services.extract(document.pk)
    monkeypatch.setattr(Statistics, "needs", ("text", "learner"))
    assert state(document) == ("blocked", "no learner")
    Document.objects.filter(pk=document.pk).update(learner=get_or_create_learner("Ada"))
    assert state(document) == ("missing", "")
    monkeypatch.setattr(Statistics, "ready", lambda self, options: "a model is missing")
    assert state(document) == ("blocked", "not ready")


def test_a_newer_document_takes_the_place_of_another(write, store, bad_extractors):
    path = write("a.txt", "The first text of this file.")
    old = Document.objects.get(pk=services.add_file(path).file_id)
    services.extract(old.pk)
    outputs.make(old.pk, "enrichment", "statistics")
    write("a.txt", "Another text that took its place.")
    new = Document.objects.get(pk=services.add_file(path).file_id)
    services.extract(new.pk)
    assert state(old) == ("stale", "source file changed")
    assert state(old, method="entities") == ("blocked", "source file changed")
    assert state(new) == ("missing", "")
    # A second path that still names the old bytes keeps the document in place.
    services.add_file(write("copy.txt", "The first text of this file."))
    assert state(old) == ("current", "")


def test_the_same_path_gets_its_old_bytes_back(write, store, bad_extractors):
    path = write("a.txt", "The first text of this file.")
    old = Document.objects.get(pk=services.add_file(path).file_id)
    services.extract(old.pk)
    write("a.txt", "Another text that took its place.")
    services.add_file(path)
    write("a.txt", "The first text of this file.")
    services.add_file(path)
    assert state(old) == ("missing", "")


def test_any_document_stands_as_its_outputs_say_one_by_one(monkeypatch):
    rows.any_library(random.Random(4))
    failing = rows.version(rows.document("failing.md"))
    rows.output(failing, methods.wanted("chunks"), status="failed", error="refused: it does not want to")
    wanted = {kind: methods.wanted(kind) for kind in ("chunks", "enrichment", "propositions")}
    wanted["unready"] = replace(wanted["chunks"], unready="a model is missing")
    seen = set()
    for kind, one in wanted.items():
        for row in straightforward.annotate(Document.objects.all(), one):
            found = staleness.of_document(row, {kind: one})[kind]
            assert found == (row.output_state, row.output_reason, row.output_error or "")
            seen.add(found[:2])
    assert len(seen) >= 10


def test_the_standing_of_all_methods_takes_two_statements(document):
    wanted = {kind: methods.wanted(kind) for kind in ("chunks", "enrichment", "synthesis")}
    with CaptureQueriesContext(connection) as queries:
        staleness.of_document(document, wanted)
    assert len(queries) == 2
