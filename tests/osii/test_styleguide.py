"""The style page shows every fragment in its states, and both themes fit on one page."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from osii.web.statuses import FAMILIES

pytestmark = pytest.mark.django_db


@pytest.fixture
def shown(client: Client) -> str:
    client.force_login(User.objects.create_superuser("root"))
    response = client.get(reverse("styleguide"))
    assert response.status_code == 200
    return response.text


def test_every_status_is_shown_in_both_themes(shown: str) -> None:
    for known in FAMILIES.values():
        for status in known.values():
            assert shown.count(f"<span>{escape(status.word)}</span></span>") >= 2, status
    assert 'data-bs-theme="light"' in shown
    assert 'data-bs-theme="dark"' in shown


def test_ids_are_unique_and_what_refers_to_them_finds_them(shown: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', shown)
    assert sorted(ids) == sorted(set(ids))
    for name in re.findall(r'(?:\sfor="|aria-labelledby="|url\(#)([^")]+)', shown):
        assert name in ids
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=", shown)
