"""The pages of the library: a document's tabs, the documents list, collections, intake, the planner and activity."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document, DocumentSource, Removal, Run
from osii.intake import staging
from osii.library import jobs, outputs
from osii.models import ChatImport, Collection, ProcessingItem, ProcessingRun
from osii.web import activity_list
from osii.web.documents import membership
from osii.web.documents.listing import DocumentFilter
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.test_imports import chats

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db
TABS = ("text", "source", "extractions", "outputs", "propositions", "lineage")
EVERYTHING = (
    "add_processingrun", "change_processingrun", "add_promotion", "add_collection", "change_collection", "delete_collection",
)  # fmt: skip


@pytest.fixture(autouse=True)
def queue(rq_connection) -> None:
    """Pages look at the queues."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user(*EVERYTHING))
    return client


def url_of(document: Document, **query: Any) -> str:
    return f"{reverse('document', args=[document.pk])}?" + "&".join(f"{name}={value}" for name, value in query.items())


def queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


# --- A document's tabs --------------------------------------------------------------------------------------------------


def test_every_tab_is_a_page_that_needs_no_script(staff, extracted):
    document = extracted().document
    for tab in TABS:
        response = staff.get(url_of(document, tab=tab))
        html = response.text
        assert response.status_code == 200, tab
        assert html.count("<h1") == 1
        assert f'href="?tab={tab}" aria-current="page"' in html
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", html), tab
        assert html.count("<table") == html.count("<caption"), tab
    assert 'href="?tab=text" aria-current="page"' in staff.get(url_of(document, tab="nonsense")).text


@pytest.mark.parametrize("tab", ["extractions", "outputs", "lineage"])
def test_a_tab_asks_as_often_for_many_versions_as_for_two(staff, tab):
    few, many = library_rows.document("few.md"), library_rows.document("many.md")
    for document, count in ((few, 2), (many, 12)):
        for _ in range(count):
            library_rows.version(document)
    queries(staff, url_of(few, tab=tab))
    assert queries(staff, url_of(few, tab=tab)) == queries(staff, url_of(many, tab=tab))


def test_a_passage_is_marked_and_other_versions_can_be_read(staff, extracted):
    version = extracted("notes.txt", "One line.\n\nAnother.\n")
    upper = services.extract(version.document_id, "upper", "save_variant")
    html = staff.get(url_of(version.document, at=11, to=18)).text
    assert re.search(r'<mark id="passage"[^>]*>Another</mark>', html)
    other = staff.get(url_of(version.document, version=upper.pk)).text
    assert "ANOTHER" in other
    assert "which is not in force" in other
    assert "no such version" in staff.get(url_of(version.document, version="text-1")).text


def test_versions_are_compared_side_by_side(staff, extracted):
    version = extracted("notes.txt", "One line.\n\nAnother.\n")
    upper = services.extract(version.document_id, "upper", "save_variant")
    html = staff.get(url_of(version.document, tab="extractions", a=version.pk, b=upper.pk)).text
    assert "2 lines changed" in html
    for made in (version, upper):  # of one minute, as a rule
        assert html.count(f"{made.created_at:%Y-%m-%d %H:%M:%S}") >= 3, "in both menus and above its text"
    assert "<del>Another.</del>" in html or "<del>Another</del>" in html
    assert "Choose two versions" in staff.get(url_of(version.document, tab="extractions", a=version.pk, b="x")).text


def test_artifacts_of_a_version_are_listed_and_downloaded_locked(staff, extracted, store):
    version = extracted()
    folder = store.version_dir(version.document_id, version.pk) / "artifacts" / "tables"
    folder.mkdir(parents=True)
    (folder / "a table.csv").write_text("a,b\n")
    html = staff.get(url_of(version.document, tab="extractions")).text
    assert "1 artifact<" in html
    link = re.search(r'href="(/documents/[^"]+/artifacts/[^"]+)"', html)[1]
    answer = staff.get(link)
    assert b"".join(answer.streaming_content) == b"a,b\n"
    assert answer["Content-Disposition"].startswith("attachment")
    assert "sandbox" in answer["Content-Security-Policy"]
    for name in ("none.csv", "../provenance.toml", "a%00b"):
        wrong = f"{reverse('document', args=[version.document_id])}artifacts/{version.pk}/{name}"
        assert staff.get(wrong).status_code == 404, name


def test_a_promotion_names_the_outputs_that_become_stale_and_is_rolled_back(staff, extracted):
    version = extracted("notes.txt", "One line. Another one here.\n")
    document = version.document
    upper = services.extract(document.pk, "upper", "save_variant")
    outputs.make(document.pk, "chunks")
    page = url_of(document, tab="extractions")
    assert "1 output becomes stale" in staff.get(page).text
    fields = {"extraction_id": upper.pk, "expected_primary": version.pk}
    (left, right) = re.findall(r'<option value="([^"]+)" selected', staff.get(page).text)
    assert (left, right) == (version.pk, upper.pk)
    told = staff.post(reverse("document-promote", args=[document.pk]), fields, follow=True).text
    assert "1 output made of the version before is stale." in told
    plan = staff.get(re.search(r'href="(/intake/process/\?ids=[^"]+)"', told)[1].replace("&amp;", "&"))
    assert [(row.step.id, row.counts[0].number) for row in plan.context["steps"]] == [("chunks", 1)]
    assert [(one.name, one.number) for one in plan.context["totals"]] == [
        ("eligible", 1),
        ("current", 0),
        ("blocked", 0),
    ]
    for row in plan.context["steps"]:
        for count in row.counts:
            assert count.url == "" or "notes.txt" in staff.get(count.url).text
    assert "extraction changed" in staff.get(url_of(document, tab="outputs")).text
    moved = reverse("document-rollback", args=[document.pk])
    assert "Nothing was changed" in staff.post(moved, {"expected_primary": version.pk}, follow=True).text
    assert "in force again" in staff.post(moved, {"expected_primary": upper.pk, "reason": "worse"}, follow=True).text
    assert Document.objects.get(pk=document.pk).primary_id == version.pk
    assert "takes back the move of" in staff.get(page).text
    assert "extraction changed" not in staff.get(url_of(document, tab="outputs")).text


def test_a_document_whose_claims_are_stale_is_offered_with_them(staff, extracted):
    version = extracted("notes.txt", "The tank holds 1000 litres of rain water. The tap stays open in frost.\n")
    document = version.document
    Document.objects.filter(pk=document.pk).update(learner=get_or_create_learner("Ada"))
    outputs.make(document.pk, "propositions")
    upper = services.extract(document.pk, "upper", "save_variant")
    page = url_of(document, tab="outputs")
    assert "propositions=on" not in staff.get(page).text, "nothing is stale yet"
    services.promote(document.pk, upper.pk, version.pk, "test")
    assert "propositions=on" in staff.get(page).text


def test_an_output_is_opened_with_its_chunks_and_drawn_in_the_lineage(staff, extracted):
    document = extracted("notes.txt", "One line. Another one here.\n").document
    made = outputs.make(document.pk, "chunks")
    html = staff.get(url_of(document, tab="outputs", output=made.pk)).text
    assert "Another one here." in html
    assert f"tab=text&amp;version={document.primary_id}&amp;at=0" in html
    assert "not there any more" in staff.get(url_of(document, tab="outputs", output=uuid.uuid4())).text
    lineage = staff.get(url_of(document, tab="lineage"))
    assert [node.title for node in lineage.context["picture"].nodes] == ["notes.txt", "text 1.1", "chunks · sentences"]
    assert len(lineage.context["picture"].lines) == 2


def test_source_files_run_nothing(staff, add):
    page = add("page.html", "<script>alert(1)</script>")
    drawing = add("drawing.svg", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    picture = add("a\u202e.png", b"\x89PNG\r\n\x1a\n rest")
    for file_id in (page, drawing):
        response = staff.get(reverse("document-source", args=[file_id]))
        assert response["Content-Type"] == "application/octet-stream"
        assert response["Content-Disposition"].startswith("attachment")
        assert "sandbox" in response["Content-Security-Policy"]
        assert response["X-Content-Type-Options"] == "nosniff"
        assert "<script>alert" not in staff.get(f"{reverse('document', args=[file_id])}?tab=source").text
    shown = staff.get(reverse("document-source", args=[picture]))
    assert (shown["Content-Type"], shown["X-Frame-Options"]) == ("image/png", "SAMEORIGIN")
    assert shown["Content-Disposition"].startswith("inline")
    assert "\u202e" not in shown["Content-Disposition"]
    kept = staff.get(reverse("document-source", args=[picture]), {"download": "1"})
    assert b"".join(kept) == b"\x89PNG\r\n\x1a\n rest"
    assert kept["Content-Disposition"].startswith("attachment")


def test_a_source_that_is_gone_says_so(staff):
    document = library_rows.document()
    assert staff.get(reverse("document-source", args=[document.pk])).status_code == 404
    assert "missing in the store" in staff.get(url_of(document, tab="source")).text


# --- Removing -----------------------------------------------------------------------------------------------------------


def test_old_versions_go_as_they_were_ticked(client, extracted):
    document = extracted().document
    former = document.primary_id
    upper = services.extract(document.pk, "upper").pk
    spare = services.extract(document.pk, "text", "save_variant", force=True).pk
    url = reverse("document-clean-up", args=[document.pk])
    client.force_login(rows.staff_user())
    assert "Clean up" not in client.get(url_of(document, tab="extractions")).text
    assert client.get(url).status_code == client.post(url, {"versions": [spare]}).status_code == 403
    client.force_login(rows.staff_user("delete_extractionversion", username="cleaner"))
    assert url in client.get(url_of(document, tab="extractions")).text
    page = client.get(url).text
    assert f'value="{spare}" checked' in page
    assert f'value="{former}"' not in page
    assert "stays: is what taking the last promotion back would return to" in page
    assert f'value="{former}" checked' in client.get(url, {"even_needed": "on"}).text
    assert "No version is old" in client.get(url, {"older_than": "1"}).text
    assert "less than or equal to" in client.get(url, {"keep": "100000"}).text
    for wrong in ([upper], [former, spare], [], ["x\0"]):
        refused = client.post(url, {"versions": wrong})
        assert (refused.status_code, "Nothing was removed" in refused.text) == (400, True)
    assert document.versions.count() == 3
    done = client.post(url, {"versions": [spare], "reason": "tidy"}, follow=True)
    assert "1 version removed, and 0 outputs made from it." in done.text
    removal = Removal.objects.get()
    assert (removal.versions, removal.actor, removal.reason) == ([spare], "cleaner", "tidy")


def test_a_document_is_removed_after_its_page_has_said_what_goes(client, extracted):
    document = extracted().document
    outputs.make(document.pk, "chunks")
    url = reverse("document-remove", args=[document.pk])
    client.force_login(rows.staff_user())
    assert "Remove…" not in client.get(url_of(document)).text
    assert client.get(url).status_code == client.post(url).status_code == 403
    client.force_login(rows.staff_user("delete_document", username="remover"))
    assert url in client.get(url_of(document)).text
    page = client.get(url).text
    assert "its 1 version of the text" in page
    assert "1 output made from it, with 1 chunk" in page
    assert client.post(url, {"reason": "x" * 501}).status_code == 400
    assert Document.objects.exists()
    done = client.post(url, {"reason": "asked to"}, follow=True)
    assert "is removed for good" in done.text
    assert not Document.objects.exists()
    removal = Removal.objects.get()
    assert (removal.what, removal.actor, removal.reason) == ("document", "remover", "asked to")
    assert client.get(url).status_code == client.post(url).status_code == 404


# --- The list, collections ------------------------------------------------------------------------------------------------


def listed(client: Client, **query: Any) -> list[str]:
    return [row.filename for row in client.get(reverse("documents"), query).context["page"].object_list]


def test_documents_are_filtered_and_sorted(staff):
    first = library_rows.document("b.md", path="/notes/2025/b.md", size_bytes=1)
    library_rows.document("A.pdf", path="/papers/A.pdf", mime="application/pdf", size_bytes=9)
    odd = library_rows.document("c.bin", path="/papers/c.bin", mime="application/x-odd", size_bytes=5)
    collection = Collection.objects.create(name="Shelf")
    membership.add(collection, Document.objects.filter(pk=odd.pk))
    assert listed(staff, sort="name") == ["A.pdf", "b.md", "c.bin"]
    assert listed(staff, sort="largest") == ["A.pdf", "c.bin", "b.md"]
    assert listed(staff, type="pdf") == ["A.pdf"]
    assert listed(staff, type="other") == ["c.bin"]
    assert listed(staff, folder="/notes") == ["b.md"]
    assert listed(staff, folder="/note") == []
    assert listed(staff, collection=collection.pk) == ["c.bin"]
    assert listed(staff, q="b.M") == listed(staff, q="notes/2025") == listed(staff, q=first.pk[:30]) == ["b.md"]
    assert listed(staff, q="PAPERS", sort="name") == ["A.pdf", "c.bin"]
    assert listed(staff, q="100%") == []
    DocumentSource.objects.create(document=odd, path="/notes/2025/b.md", replaces=first)
    assert listed(staff, state="replaced") == ["b.md"]
    assert "source file changed" in staff.get(url_of(first)).text
    DocumentSource.objects.create(document=first, path="/elsewhere/b.md")
    assert listed(staff, state="replaced") == []
    page = staff.get(url_of(first)).text
    assert "source file changed" not in page, "another path still has these bytes"
    assert "Replaced by" in page


def test_a_part_of_a_name_or_path_is_found_by_index():
    for number in range(50):
        library_rows.document(f"report {number}.md")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_extension WHERE extname = 'pg_trgm'")
        if not cursor.fetchone()[0]:
            pytest.skip("this PostgreSQL has no pg_trgm")
        # The tables are small: what matters is that the indexes answer this question at all.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    plan = DocumentFilter({"q": "report 42"}, Document.objects.all()).qs.explain()
    assert "document_filename_trigrams" in plan
    assert "source_path_trigrams" in plan


def test_collections_are_made_renamed_and_deleted_and_documents_stay(staff):
    document = library_rows.document()
    staff.post(reverse("collection-create"), {"name": "  Reading\u00a0 list "})
    row = Collection.objects.get()
    assert row.name == "Reading list"
    assert staff.post(reverse("collection-create"), {"name": "READING LIST"}).status_code == 422
    assert staff.post(reverse("collection-create"), {"name": " \u200b "}).status_code == 422
    bulk = {"action": "add", "collection": str(row.pk), "document": [document.pk, "sha256-x"]}
    for _ in range(2):
        staff.post(reverse("documents-bulk"), bulk)
    assert list(row.documents.all()) == [document]
    staff.post(reverse("collection-rename", args=[row.pk]), {"name": "Later"})
    assert "Later" in staff.get(reverse("collections")).text
    asked = staff.post(reverse("documents-bulk"), bulk | {"action": "remove"}).text
    assert "Take 1 document out of" in asked and document.filename in asked
    assert row.documents.exists()
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', asked[asked.index("What happens") :]))
    other = staff.post(reverse("documents-bulk"), sent | {"rows": "of-other-documents"})
    assert (other.status_code, "Other documents match by now" in other.text) == (409, True)
    assert "1 document taken out" in staff.post(reverse("documents-bulk"), sent, follow=True).text
    assert not row.documents.exists()
    assert "0 documents taken out" in staff.post(reverse("documents-bulk"), sent, follow=True).text
    staff.post(reverse("collection-delete", args=[row.pk]))
    assert (Collection.objects.count(), Document.objects.count()) == (0, 1)


def test_all_that_the_filters_let_through_is_chosen_and_a_wrong_filter_chooses_nothing(staff):
    for name in ("a.md", "b.md", "c.txt"):
        library_rows.document(name)
    row = Collection.objects.create(name="Shelf")
    chosen = {"action": "add", "collection": str(row.pk), "everything": "1"}
    staff.post(reverse("documents-bulk"), chosen | {"filters": "state=nonsense"})
    assert row.documents.count() == 0
    staff.post(reverse("documents-bulk"), chosen | {"filters": "q=.md"})
    assert row.documents.count() == 2
    assert "No document is chosen" in staff.post(reverse("documents-bulk"), {"action": "process"}, follow=True).text


def test_what_the_planner_cannot_name_is_not_handed_to_it(staff):
    library_rows.document("a.md")
    to = staff.post(reverse("documents-bulk"), {"action": "process", "everything": "1", "filters": "type=markdown"})
    assert to["Location"] == f"{reverse('intake-process')}?type=markdown"
    refused = staff.post(reverse("documents-bulk"), {"action": "process", "everything": "1", "filters": "q=a"})
    assert refused["Location"] == f"{reverse('documents')}?q=a"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("collection-create", {"name": "x"}),
        ("documents-bulk", {"action": "process", "everything": "1"}),
        ("intake-confirm", {}),
        ("intake-process-start", {}),
        ("intake-upload", {"complete": "yes"}),
    ],
)
def test_an_action_needs_its_permission(client, name, data):
    library_rows.document()
    client.force_login(rows.staff_user(username="viewer"))
    assert client.post(reverse(name), data).status_code == 403
    assert client.get(reverse("documents")).status_code == 200
    assert "documents-bulk" not in client.get(reverse("documents")).text


def test_forms_are_safe_from_other_sites():
    client = Client(enforce_csrf_checks=True)
    client.force_login(rows.staff_user(*EVERYTHING))
    for name in ("collection-create", "documents-bulk", "intake-confirm", "intake-process-start"):
        assert client.post(reverse(name), {"name": "x"}).status_code == 403
    sent = {"files": SimpleUploadedFile("a.md", b"text"), "complete": "yes"}
    assert client.post(reverse("intake-upload"), sent).status_code == 403


# --- Add files ------------------------------------------------------------------------------------------------------------


def send(client: Client, *files: SimpleUploadedFile, **fields: Any) -> Any:
    return client.post(reverse("intake-upload"), {"files": list(files), "chunks": "on", **fields, "complete": "yes"})


def fields_of(html: str) -> dict[str, str]:
    (form,) = re.findall(r'<form class="confirm".*?</form>', html, re.S)
    found = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    return {name: value.replace("&amp;", "&") for name, value in found if name != "csrfmiddlewaretoken"}


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


# --- Process library ------------------------------------------------------------------------------------------------------


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


# --- Runs and activity ----------------------------------------------------------------------------------------------------


def test_a_run_is_paused_resumed_cancelled_and_only_its_failures_are_retried(staff):
    documents = [library_rows.document(f"{n}.md") for n in range(3)]
    run = library_rows.run(*documents)

    def act(action: str) -> str:
        return staff.post(reverse("processing-action", args=[run.pk, action]), follow=True).text

    assert "data-poll" in staff.get(reverse("processing", args=[run.pk])).text
    assert "Paused" in act("pause")
    assert "data-poll" not in staff.get(reverse("processing", args=[run.pk])).text
    assert "It goes on" in act("resume")
    ProcessingItem.objects.filter(run=run, position=1).update(
        status="failed", error="chunks: no_text: gone", finished_at=timezone.now()
    )
    assert "1 failed document queued again" in act("retry")
    assert "Cancelled" in act("cancel")
    assert "Nothing was changed" in act("cancel")
    assert staff.post(reverse("processing-action", args=[run.pk, "destroy"])).status_code == 404
    staff.force_login(rows.staff_user(username="viewer"))
    assert staff.post(reverse("processing-action", args=[run.pk, "pause"])).status_code == 403


def test_failures_that_somebody_has_seen_ask_for_attention_no_more(staff):
    run = library_rows.run(library_rows.document())
    run.items.update(status="failed", error="chunks: no_text: gone", finished_at=timezone.now())
    ProcessingRun.objects.update(status="failed", error="all failed", finished_at=timezone.now())
    assert activity_list.counts()["attention"] == 1
    page = reverse("processing", args=[run.pk])
    assert "Leave it so" in staff.get(page).text
    act = reverse("processing-action", args=[run.pk, "acknowledge"])
    assert "asks for attention no more" in staff.post(act, follow=True).text
    assert "Nothing was changed" in staff.post(act, follow=True).text
    assert activity_list.counts()["attention"] == 0
    assert "Failures seen by" in staff.get(page).text


def test_a_fragment_is_sent_only_when_something_changed(staff):
    run = library_rows.run(library_rows.document())
    live = reverse("processing-live", args=[run.pk])
    seen = staff.get(reverse("processing", args=[run.pk])).context["seen"]
    assert staff.get(live, {"seen": seen}, HTTP_HX_REQUEST="true").status_code == 204
    library_rows.claimed(run.items.get())
    changed = staff.get(live, {"seen": seen}, HTTP_HX_REQUEST="true")
    assert changed.status_code == 200
    assert "<html" not in changed.text
    assert staff.get(live)["Location"] == reverse("processing", args=[run.pk])


def test_activity_holds_every_kind_and_says_what_needs_attention(staff):
    rows.run(rows.chat(), "failed", error="it broke", finished_at=timezone.now())
    ChatImport.objects.create(files=[{"name": "chats.json", "size": 3}])
    library_rows.run(library_rows.document())
    html = staff.get(reverse("activity")).text
    for shown in ("A chat", "chats.json", "Process library: synthesis"):
        assert shown in html
    assert activity_list.counts() == {"all": 3, "attention": 1, "progress": 2, "completed": 1}
    attention = staff.get(reverse("activity"), {"view": "attention"}).text
    assert "it broke" in attention
    assert "chats.json" not in attention


def test_paging_through_activity_shows_each_once_also_at_one_moment(staff):
    at = timezone.now()
    for _ in range(5):
        ChatImport.objects.create(files=[])
    ChatImport.objects.update(created_at=at)
    made = [rows.run(rows.chat(1), "succeeded", finished_at=at) for _ in range(activity_list.PER_PAGE)]
    Run.objects.update(queued_at=at)
    everything = activity_list.ActivityFilter({}, Run.objects.none())
    shown = [row.url for number in ("1", "2") for row in activity_list.listed("all", number, everything).object_list]
    assert len(shown) == len(set(shown)) == len(made) + 5


def test_activity_asks_as_often_for_many_as_for_few(staff):
    def more(count: int) -> None:
        for _ in range(count):
            rows.run(rows.chat(1), "succeeded", finished_at=timezone.now())
            ChatImport.objects.create(files=[])
            library_rows.run(library_rows.document(uuid.uuid4().hex))

    more(2)
    queries(staff, reverse("activity"))
    few = queries(staff, reverse("activity"))
    more(6)
    assert queries(staff, reverse("activity")) == few
