"""What the tests of the library's pages share: who looks, and what is read off a page."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from extraction.models import Document
from tests.osii import rows

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


def fields_of(html: str) -> dict[str, str]:
    (form,) = re.findall(r'<form class="confirm".*?</form>', html, re.S)
    found = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    return {name: value.replace("&amp;", "&") for name, value in found if name != "csrfmiddlewaretoken"}
