"""Adding files, and planning what is made of them."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from extraction.documents import services
from extraction.models import Document
from osii.intake import staging
from osii.library import jobs, outputs
from osii.models import ChatImport, ProcessingRun
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.library_pages import EVERYTHING, fields_of, queue, staff
from tests.osii.test_imports import chats

__all__ = ["add", "bad_extractors", "extracted", "queue", "staff", "store", "write"]

pytestmark = pytest.mark.django_db


def send(client: Client, *files: SimpleUploadedFile, **fields: Any) -> Any:
    return client.post(reverse("intake-upload"), {"files": list(files), "chunks": "on", **fields, "complete": "yes"})


def test_an_upload_is_looked_at_first_and_then_added_once(staff, store):
    name = f"{'ü' * 150}.md"
    response = send(staff, SimpleUploadedFile(name, b"# Tea\n\nWater first."), new_learner="Ada")
    html = staff.get(response["Location"]).text
    assert "Add 1 file" in html
    assert (Document.objects.count(), ProcessingRun.objects.count()) == (0, 0)
    fields = fields_of(html)
    first = staff.post(reverse("intake-confirm"), fields)
    again = staff.post(reverse("intake-confirm"), fields)
    run = ProcessingRun.objects.get()
    assert first["Location"] == again["Location"] == reverse("processing", args=[run.pk])
    item = run.items.get()
    assert jobs.process_item(str(item.pk)) == "succeeded"
    document = Document.objects.get()
    assert document.filename.endswith("ü.md")
    assert document.learner.name == "Ada"
    page = staff.get(first["Location"]).text
    assert "100 %" in page
    shown = page + staff.get(reverse("document", args=[document.pk])).text
    assert "uploaded as" in shown
    assert str(staging.uploads_root()) not in shown
    assert 'hx-trigger="every' not in page
    assert staging.sweep() == 1
    assert "not kept any more" in staff.get(response["Location"], follow=True).text


def test_a_preview_tells_what_is_known_what_are_chats_and_what_nobody_reads(staff, add):
    add("known.md", "The same bytes.\n")
    response = send(
        staff,
        SimpleUploadedFile("copy.md", b"The same bytes.\n"),
        SimpleUploadedFile("chats.json", json.dumps(chats()).encode()),
        SimpleUploadedFile("program.bin", b"\x7fELF\x00\x01"),
    )
    page = staff.get(response["Location"])
    assert dict(page.context["foresight"].counts) == {"known": 1, "chats": 1, "refused": 1}
    staff.post(reverse("intake-confirm"), fields_of(page.text))
    assert ChatImport.objects.get().files[0]["name"] == "chats.json"
    by_status = dict(ProcessingRun.objects.get().items.values_list("status", "path"))
    assert {status: Path(path).name for status, path in by_status.items() if status == "queued"} == {
        "queued": "copy.md"
    }
    page = reverse("processing", args=[ProcessingRun.objects.get().pk])
    report = reverse("import", args=[ChatImport.objects.get().pk])
    assert report not in staff.get(page).text, "who may not import sees no import"
    staff.force_login(rows.staff_user(*EVERYTHING, "add_chatimport", username="importer"))
    assert report in staff.get(page).text


def test_a_path_is_added_only_under_the_source_roots(staff, store, settings, tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.md").write_text("Some text.")
    (inside / "link.md").symlink_to(outside / "a.md")
    (inside / "folder").symlink_to(outside)
    settings.OSII_SOURCE_ROOTS = (inside,)
    preview = reverse("intake-preview")
    for path in (
        outside,
        inside / ".." / "outside",
        inside / "folder" / "a.md",
        inside / "link.md",
        "/etc/passwd",
        "a\x00b",
    ):
        refused = staff.get(preview, {"path": str(path)})
        assert refused.status_code == 422, path
        assert "foresight" not in refused.context
    page = staff.get(preview, {"path": str(inside), "chunks": "on"})
    verdicts = {file.name: file.verdict for file in page.context["foresight"].files}
    assert verdicts == {"a.md": "new", "link.md": "refused", "folder": "refused"}
    fields = fields_of(page.text)
    forged = fields | {"path": str(outside), "submission": str(uuid.uuid4())}
    assert "Nothing was started" in staff.post(reverse("intake-confirm"), forged, follow=True).text
    staff.post(reverse("intake-confirm"), fields)
    assert ProcessingRun.objects.get().items.filter(status="queued").get().path == str(inside / "a.md")


def test_new_bytes_under_a_known_path_replace_it(staff, store, settings, tmp_path):
    settings.OSII_SOURCE_ROOTS = (tmp_path,)
    path = tmp_path / "a.md"
    path.write_text("First.")
    services.add_file(path)
    path.write_text("Second.")
    found = staff.get(reverse("intake-preview"), {"path": str(path)}).context["foresight"].files
    assert [(file.verdict, file.document.filename) for file in found] == [("replaces", "a.md")]


def test_an_upload_that_broke_off_or_is_empty_adds_nothing(staff, store):
    assert staff.post(reverse("intake-upload"), {"files": SimpleUploadedFile("a.md", b"x")}).status_code == 400
    assert send(staff).status_code == 422
    assert send(staff, SimpleUploadedFile("a.md", b"x"), new_learner="a\u0000b").status_code == 422
    assert not list(staging.uploads_root().glob("*/*"))


def test_a_plan_is_shown_listed_and_started_once(staff, extracted):
    extracted()
    library_rows.document("bare.md")
    page = staff.get(reverse("intake-process"), {"chunks": "on"})
    (step,) = page.context["steps"]
    assert {count.name: count.number for count in step.counts} == {
        "eligible": 1, "current": 0, "stale": 0, "blocked": 1, "in progress": 0,
    }  # fmt: skip
    (blocked,) = [count for count in step.counts if count.name == "blocked"]
    behind = staff.get(blocked.url).text
    assert "bare.md" in behind
    assert "no text" in behind
    fields = fields_of(page.text)
    started = [staff.post(reverse("intake-process-start"), fields)["Location"] for _ in range(2)]
    run = ProcessingRun.objects.get()
    assert started == [reverse("processing", args=[run.pk])] * 2
    assert "blocked" in staff.get(started[0]).text


def test_a_plan_that_is_no_longer_true_is_not_started(staff, extracted):
    first = extracted()
    fields = fields_of(staff.get(reverse("intake-process"), {"chunks": "on"}).text)
    outputs.make(first.document_id, "chunks")
    extracted("more.txt", "Something else.\n")
    answer = staff.post(reverse("intake-process-start"), fields, follow=True)
    assert "Nothing was started: the library has changed" in answer.text
    assert not ProcessingRun.objects.exists()


def test_an_upgrade_says_its_policy_in_words_and_a_variant_has_no_outputs(staff, extracted):
    document = extracted().document
    ids = document.pk.removeprefix("sha256-")
    query = {"ids": ids, "extract": "reprocess", "extractor": "upper", "policy": "save_variant", "planned": "1"}
    page = staff.get(reverse("intake-process"), query)
    assert "Save as another version" in page.text
    staff.post(reverse("intake-process-start"), fields_of(page.text))
    assert ProcessingRun.objects.get().operations[0]["policy"] == "save_variant"
    refused = staff.get(reverse("intake-process"), query | {"chunks": "on"})
    assert "save_variant goes without downstream work" in refused.text
    for wrong in ({"ids": "zz"}, {"folder": "relative"}, {"extractor": "nonsense"}, {"stale": "nonsense"}):
        answer = staff.get(reverse("intake-process"), {"planned": "1", "chunks": "on"} | wrong)
        assert answer.status_code == 200
        assert "plan" not in answer.context or not answer.context["plan"]
