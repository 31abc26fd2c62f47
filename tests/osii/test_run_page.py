"""What the page of a processing run offers when it has ended: the same again, and its log to download."""

import csv
import uuid

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from osii.library import outputs, runs
from osii.library.requests import Request
from osii.models import ProcessingItem, ProcessingRun, ProcessingStep
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii import rows
from tests.osii.library import rows as library_rows

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queue(rq_connection) -> None:
    """Runs are enqueued."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("add_processingrun"))
    return client


def test_a_run_is_repeated_once_and_does_what_is_not_current(staff, extracted):
    extracted()
    first, _ = runs.create(Request.of({"scope": {"all": True}, "build_chunks": True}), actor="somebody")
    page, again = reverse("processing", args=[first.pk]), reverse("processing-again", args=[first.pk])
    assert again not in staff.get(page).text  # it has not ended
    ProcessingItem.objects.update(status="failed", error="chunks: no_text: gone", finished_at=timezone.now())
    ProcessingRun.objects.update(status="failed", error="all failed", finished_at=timezone.now())
    shown = staff.get(page)
    assert again in shown.text
    assert (
        '<span class="live-percent">0 %</span><span class="live-fraction">0 of 1 document, 1 failed</span>'
        in shown.text
    )
    assert 'aria-label="0 % done, 100 % failed"' in shown.text
    assert '<rect class="state-parked" x="0%" width="100%"' in shown.text
    assert "state-covered" not in shown.text
    sent = {"submission": str(shown.context["submission"])}
    led = {staff.post(again, sent)["Location"] for _ in range(2)}
    second = ProcessingRun.objects.exclude(pk=first.pk).get()
    assert led == {reverse("processing", args=[second.pk])}
    assert (second.request, second.actor, second.items.count()) == (first.request, "staff", 1)

    outputs.make(second.items.get().document_id, "chunks")
    said = staff.post(again, {"submission": str(uuid.uuid4())}, follow=True).text
    assert "Nothing was started: nothing is eligible" in said
    assert "The form was not complete" in staff.post(again, follow=True).text
    assert ProcessingRun.objects.count() == 2
    staff.force_login(rows.staff_user("change_processingrun", username="another"))
    assert staff.post(again, {"submission": str(uuid.uuid4())}).status_code == 403
    assert again not in staff.get(page).text


def test_home_names_a_run_with_failed_documents_until_somebody_has_seen_it(staff):
    run = library_rows.run(library_rows.document())
    run.items.update(status="failed", error="synthesis: too_long: gone", finished_at=timezone.now())
    ProcessingRun.objects.update(status="failed", error="all failed", finished_at=timezone.now())
    shown = " ".join(staff.get("/").text.split())
    assert "1 run over the library with failed documents" in shown
    assert f'href="{reverse("processing", args=[run.pk])}" dir="auto">Process library: synthesis</a>' in shown
    assert "The run’s page says what failed." in shown
    staff.force_login(rows.staff_user("change_processingrun", username="another"))
    assert "Retry the failed ones alone" in staff.get("/").text
    runs.acknowledge(run.pk, "somebody")
    assert "failed documents" not in staff.get("/").text


def test_the_log_has_each_step_of_each_document_and_no_formula(staff):
    *made, bare = [library_rows.document(name) for name in ("=1+1.md", "b.md", "c.md")]
    run = library_rows.run(*made, steps=("chunks", "synthesis"))
    first = run.items.get(position=1)
    failed = {"status": "failed", "attempt": 2, "started_at": timezone.now(), "finished_at": timezone.now()}
    ProcessingStep.objects.create(item=first, step="chunks", error="no_text: gone", **failed)
    ProcessingItem.objects.filter(pk=first.pk).update(error="chunks: no_text: gone", **failed)
    blocked = {"status": "blocked", "steps": [], "blocked": {"chunks": "no text"}, "error": "chunks: no text"}
    ProcessingItem.objects.create(run=run, position=3, document=bare, **blocked)
    answer = staff.get(reverse("processing-log", args=[run.pk]))
    assert answer["Content-Disposition"] == f'attachment; filename="run-{run.pk}.csv"'
    head, *lines = csv.reader(answer.getvalue().decode().splitlines())
    assert head[:6] == ["document", "file id", "step", "state", "reason", "attempt"]
    assert [[line[0], *line[2:6]] for line in lines] == [
        ["'=1+1.md", "chunks", "failed", "no_text: gone", "2"],
        ["'=1+1.md", "synthesis", "not begun", "chunks: no_text: gone", "2"],
        ["b.md", "chunks", "queued", "", "0"],
        ["b.md", "synthesis", "queued", "", "0"],
        ["c.md", "chunks", "blocked", "no text", "0"],
    ]
    assert lines[0][7] == failed["finished_at"].strftime("%Y-%m-%d %H:%M:%S")
    assert answer.request["PATH_INFO"] in staff.get(reverse("processing", args=[run.pk])).text
