"""Propositions with their evidence, and documents with their versions."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from coverage.services import delete_message, get_or_create_learner
from extraction.documents import services
from extraction.documents.store import library_store
from extraction.models import Document, Promotion
from osii.web.reader import WINDOW
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("add_promotion"))
    return client


def found(response) -> set[str]:
    return {str(row) for row in response.context["page"]}


# --- Propositions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def claims() -> None:
    chat = rows.chat()
    rows.instance(rows.proposition("Ice floats."), chat, level="shaky")
    rows.instance(rows.proposition("Iron sinks.", kind="decision"), chat, 2, level=None)
    other = rows.chat(learner="Berta")
    rows.instance(rows.proposition("Mercury is liquid.", other.learner), other, 3, live=False)
    rows.proposition("Old claim.", state="superseded")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"Ice floats.", "Iron sinks.", "Mercury is liquid.", "Old claim."}),
        ({"q": "ICE"}, {"Ice floats."}),
        ({"kind": "decision"}, {"Iron sinks."}),
        ({"level": "shaky"}, {"Ice floats."}),
        ({"level": "none", "state": "live"}, {"Iron sinks.", "Mercury is liquid."}),
        ({"state": "superseded"}, {"Old claim."}),
        ({"state": "no_evidence"}, {"Mercury is liquid."}),
        ({"q": "claim", "kind": "decision"}, set()),
    ],
)
def test_proposition_filters(staff, claims, query, expected):
    assert found(staff.get("/propositions/", query)) == expected


def test_propositions_of_one_learner(staff, claims):
    assert found(staff.get("/propositions/", {"learner": get_or_create_learner("Berta").pk})) == {"Mercury is liquid."}


def test_evidence_links_to_where_the_message_stands_now(staff):
    chat = rows.chat(count=250)
    claim = rows.proposition()
    rows.instance(claim, chat, 230)
    rows.instance(claim, chat, 3)
    html = staff.get(reverse("proposition", args=[claim.pk])).text
    assert f'href="/chats/{chat.pk}/?page=2#m-230"' in html
    delete_message(chat.pk, "m2")
    delete_message(chat.pk, "m3")
    html = staff.get(reverse("proposition", args=[claim.pk])).text
    assert f'href="/chats/{chat.pk}/?page=2#m-228"' in html
    assert "a message that left" in html
    assert "quote no longer stands" in html


def test_levels_are_shown_in_the_order_in_which_they_were_said(staff):
    chat = rows.chat(count=4)
    claim = rows.proposition()
    for position, (level, day) in enumerate([("solid", 3), ("shaky", 1), (None, 4), ("resisted", 2)], start=1):
        rows.instance(claim, chat, position, level=level, occurred_at=datetime(2026, 3, day, tzinfo=UTC))
    response = staff.get(reverse("proposition", args=[claim.pk]))
    assert [instance.level for instance in response.context["levels"]] == ["shaky", "resisted", "solid"]
    assert response.context["latest_level"] == "solid"


def test_evidence_in_a_document(staff):
    document = rows.document("notes.md")
    claim = rows.proposition()
    chat = rows.chat()
    rows.instance(claim, chat)
    claim.instances.create(
        document_id=document.pk, extraction_id=document.primary_id, char_start=0, char_end=4, quote="Notes", speaker="document"
    )  # fmt: skip
    html = staff.get(reverse("proposition", args=[claim.pk])).text
    assert f'href="/documents/{document.pk}/"' in html


# --- Documents --------------------------------------------------------------------------------------------------------


def test_document_filters(staff):
    rows.document("good.md")
    rows.version(rows.document("half.md"), "failed")
    bare = rows.document("bare.md")
    Document.objects.filter(pk=bare.pk).update(primary=None)
    assert found(staff.get("/documents/")) == {"good.md", "half.md", "bare.md"}
    assert found(staff.get("/documents/", {"state": "failed"})) == {"half.md"}
    assert found(staff.get("/documents/", {"state": "no_primary"})) == {"bare.md"}
    assert found(staff.get("/documents/", {"state": "primary", "q": "/files/1/GOOD"})) == {"good.md"}
    assert "1 document whose last extraction failed" in staff.get("/").text


@pytest.fixture
def extracted(settings, tmp_path: Path) -> Document:
    """A real document with two versions of its text; the first is primary."""
    settings.OSII_HOME = tmp_path / "home"
    path = tmp_path / "notes.txt"
    path.write_text("Grüße aus 東京.\n" * 3000, encoding="utf-8")
    file_id = services.add_file(path).file_id
    first = services.extract(file_id)
    services.extract(file_id, policy=services.SAVE_VARIANT, force=True)
    document = Document.objects.get(pk=file_id)
    assert document.primary_id == first.pk
    return document


def test_the_text_in_force_is_shown_in_windows(staff, extracted):
    url = reverse("document", args=[extracted.pk])
    first = staff.get(url)
    assert first.context["text"].startswith("Grüße aus 東京.")
    assert len(first.context["text"]) == WINDOW
    whole = first.context["text"]
    while (start := first.context["text_after"]) is not None:
        first = staff.get(url, {"from": start})
        whole += first.context["text"]
    assert whole == "Grüße aus 東京.\n" * 3000
    assert first.context["text_end"] == extracted.primary.text_chars
    assert staff.get(url, {"from": "x"}).status_code == 200
    assert staff.get(url, {"from": 10**9}).context["text"] == first.context["text"]


def test_a_text_that_is_gone_from_the_disk_is_an_error_on_the_page(staff, extracted):
    text = library_store().version_dir(extracted.pk, extracted.primary_id) / "text.txt"
    text.parent.chmod(0o700)
    text.unlink()
    response = staff.get(reverse("document", args=[extracted.pk]))
    assert response.status_code == 200
    assert "cannot be read" in response.text


def test_promotion_names_its_effect_and_moves_the_pointer(staff, extracted):
    other = extracted.versions.exclude(pk=extracted.primary_id).get()
    html = staff.get(reverse("document", args=[extracted.pk]), {"tab": "extractions"}).text
    assert "take the place of" in html
    (form,) = re.findall(r'<form method="post" action="/documents/[^"]+/promote/">.*?</form>', html, re.S)
    fields = dict(re.findall(r'name="(extraction_id|expected_primary)" value="([^"]*)"', form))
    assert fields == {"extraction_id": other.pk, "expected_primary": extracted.primary_id}
    response = staff.post(reverse("document-promote", args=[extracted.pk]), fields | {"reason": "Better."}, follow=True)
    assert "is in force now" in response.text
    moved = Promotion.objects.order_by("-created_at")[0]
    assert (moved.after_id, moved.actor, moved.reason) == (other.pk, "staff", "Better.")
    stale = staff.post(
        reverse("document-promote", args=[extracted.pk]), fields | {"extraction_id": extracted.primary_id}, follow=True
    )
    assert "Nothing was changed" in stale.text
    assert Document.objects.get(pk=extracted.pk).primary_id == other.pk


def test_promotion_refuses_what_it_cannot_do(staff, client):
    document = rows.document()
    failed = rows.version(document, "failed")
    url = reverse("document-promote", args=[document.pk])
    for wrong in ("text-20260101000000-00000000", "../../etc/passwd", failed.pk):
        assert "Nothing was changed" in staff.post(url, {"extraction_id": wrong}, follow=True).text
    assert "not complete" in staff.post(url, {}, follow=True).text
    assert "Promote" not in staff.get(reverse("document", args=[document.pk]), {"tab": "extractions"}).text
    assert staff.get(url).status_code == 405
    client.force_login(rows.staff_user(username="viewer"))
    assert client.post(url, {"extraction_id": failed.pk}).status_code == 403


def test_a_file_that_took_the_place_of_another(staff):
    old, new = rows.document("notes.md", 1), rows.document("notes.md", 2)
    new.sources.update(replaces=old)
    assert "Replaced by" in staff.get(reverse("document", args=[old.pk])).text
    assert f'href="/documents/{old.pk}/"' in staff.get(reverse("document", args=[new.pk])).text


def test_text_of_any_script_and_very_long_ids_are_shown(staff):
    chat = factories.chat(factories.message("m" * 200, "أهلاً 東京 🌱"), title="ש" * 400)
    assert "أهلاً 東京 🌱" in staff.get(reverse("chat", args=[chat.pk])).text
    assert "ש" * 400 in staff.get("/chats/").text
