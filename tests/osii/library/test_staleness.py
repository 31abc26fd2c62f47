"""What is current and what is stale, for which reason."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document
from osii.library import methods, outputs, staleness
from osii.library.models import Output, OutputSetting
from osii.library.statistics import Statistics

pytestmark = pytest.mark.django_db


def state(document: Document, kind: str = "enrichment", method: str | None = "statistics", **more) -> tuple[str, str]:
    row = staleness.annotate(Document.objects.filter(pk=document.pk), methods.wanted(kind, method, **more)).get()
    return row.output_state, row.output_reason


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


def test_counts_are_one_statement_and_say_the_reasons(extracted, document, variant, promote):
    outputs.make(document.pk, "enrichment", "statistics")
    promote(variant)
    fresh = extracted("b.txt", "Another document with a sentence.").document
    outputs.make(fresh.pk, "enrichment", "statistics")
    extracted("c.txt", "A third document with a sentence.")
    wanted = methods.wanted("enrichment", "statistics")
    with CaptureQueriesContext(connection) as queries:
        found = staleness.counts(Document.objects.all(), wanted)
    assert len(queries) == 1
    assert found == {
        "current": {"": 1},
        "stale": {"extraction changed": 1},
        "missing": {"": 1},
        "blocked": {},
    }
    assert staleness.totals(found) == {"eligible": 2, "current": 1, "stale": 1, "missing": 1, "blocked": 0}
