"""The documents list, what is done to its rows, and collections."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse

from extraction.models import Document, DocumentSource
from osii.models import Collection
from osii.web.documents import membership
from osii.web.documents.listing import DocumentFilter
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.library_pages import EVERYTHING, queue, staff, url_of

__all__ = ["queue", "staff"]

pytestmark = pytest.mark.django_db


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
