"""The page of a document that has no text."""

import pytest
from django.urls import reverse

from tests.osii import rows

pytestmark = pytest.mark.django_db


def test_a_document_without_a_version_says_what_is_true(client, add):
    client.force_login(rows.staff_user())
    page = reverse("document", args=[add("clip.mp4", b"\0\0\0\x18ftypmp42")])
    text, versions = client.get(page).text, client.get(page, {"tab": "extractions"}).text
    assert "no extractor has run on it, or none here reads video/mp4." in versions
    assert "There is no version to promote." in text
    assert "Promote a version" not in text
    assert "search only" not in text
