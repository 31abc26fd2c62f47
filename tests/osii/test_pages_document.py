"""A document's page: its tabs, its versions and outputs, and removing it."""

import re
import uuid

import pytest
from django.urls import reverse

from coverage.services import get_or_create_learner
from extraction.documents import services
from extraction.models import Document, Removal
from osii.library import outputs
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.library_pages import queries, queue, staff, url_of

__all__ = ["add", "bad_extractors", "extracted", "queue", "staff", "store", "write"]

pytestmark = pytest.mark.django_db
TABS = ("text", "source", "extractions", "outputs", "propositions", "lineage")


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
    library_rows.version(version.document, error="damaged: it has no text to compare")
    assert "Compare two versions" not in staff.get(url_of(version.document, tab="extractions")).text
    upper = services.extract(version.document_id, "upper", "save_variant")
    assert "Compare two versions" in staff.get(url_of(version.document, tab="extractions")).text
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
