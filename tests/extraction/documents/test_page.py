"""The page of a document that has no text."""

import pytest
from django.urls import reverse

from tests.osii import rows

pytestmark = pytest.mark.django_db


def test_a_document_without_a_version_says_what_is_true(client, add):
    client.force_login(rows.staff_user())
    html = client.get(reverse("document", args=[add("clip.mp4", b"\0\0\0\x18ftypmp42")])).text
    assert "no extractor has run on it, or none here reads video/mp4." in html
    assert "There is no version to promote." in html
    assert "run add_files on the file again" in html
    assert "Promote a version" not in html
    assert "search only" not in html
