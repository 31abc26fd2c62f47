"""Stored and reflected markup: a payload in every text column, on every page, fragment and page of the admin."""

import importlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from extraction.models import LanguageModel
from osii.web.markdown import render
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write
from tests.osii.api import staff_caller
from tests.osii.security import poisoned
from tests.osii.security.markup import LONG, SHORT, escaped_from
from tests.osii.security.routes import every_route

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db


REFUSED = {
    *("coverage.MessageCoverage.role", "extraction.LanguageModel.base_url", "extraction.LanguageModel.key_variable"),
    *("extraction.LanguageModel.name", "osii.Chunk.text"),
}
"""Where a constraint lets no markup in; the text of a chunk is that of the document, which has some."""


@pytest.fixture
def known(extracted: Any, rq_connection: Any) -> dict[str, str]:
    document = extracted("notes.md", "\n\n".join(poisoned.SAID)).document
    found = poisoned.one_of_everything(document)
    assert poisoned.without_rows() == set()
    assert poisoned.poison() <= REFUSED
    return found


@pytest.fixture
def root(known: Any) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    return client


def pages(known: dict[str, str]) -> Iterator[str]:
    """Every page, with what it may be asked for."""
    document = reverse("document", args=[known["file_id"]])
    yield from (
        f"{document}?tab={tab}" for tab in ("text", "source", "extractions", "outputs", "propositions", "lineage")
    )
    for route in every_route(known):
        if not route.path.startswith(("/api", "/admin", "/logout")):
            yield route.path


def pages_of_admin() -> Iterator[str]:
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        row = model._base_manager.order_by("pk").last() if model._meta.managed else None
        yield f"{reverse(f'{name}_changelist')}?q={quote(SHORT)}"
        if row is not None:
            yield reverse(f"{name}_changelist")
            yield reverse(f"{name}_change", args=[row.pk])
    row = LogEntry.objects.get()
    yield reverse("admin:coverage_chat_history", args=[row.object_id])
    yield reverse("admin:extraction_languagemodel_delete", args=[LanguageModel.objects.get().pk])


def markup(response: Any) -> list[str]:
    """Where a payload became markup in an answer."""
    if response.streaming or "html" not in response["Content-Type"] or "xss" not in response.text:
        return []
    return sorted({*escaped_from(response.text)})


def test_no_text_becomes_markup_on_any_page(root: Client, known: dict[str, str]) -> None:
    wrong, shown, failed = {}, 0, []
    for path in [*pages(known), *pages_of_admin()]:
        response = root.get(path)
        if response.status_code != 200 and "/admin" not in path:
            response = root.get(path, headers={"HX-Request": "true"})
        failed += [path] * (response.status_code >= 500)
        shown += not response.streaming and "xss" in response.text
        if found := markup(response):
            wrong[path] = found
    assert wrong == {}
    assert failed == []
    assert shown > 80


def every_field() -> set[str]:
    """Names of the fields of all our forms."""
    importlib.import_module("osii.web.urls")
    found, waiting = (
        {"q", "next", "options", "queue", "reason", "submission", "upload", "path", "mode", "ids"},
        [forms.Form],
    )
    while waiting:
        form = waiting.pop()
        waiting += form.__subclasses__()
        if form.__module__.startswith("osii."):
            found |= set(form.base_fields)
    assert len(found) > 50
    return found


def test_nothing_that_was_asked_comes_back_as_markup(root: Client, known: dict[str, str]) -> None:
    """In a query, in a form that is refused, in the message after it."""
    names = every_field()
    query = "&".join(f"{name}={quote(LONG)}" for name in sorted(names))
    wrong, shown = {}, 0
    for route in every_route(known):
        if route.path.startswith(("/api", "/admin", "/logout")):
            continue
        for response in (
            root.get(f"{route.path}?{query}"),
            root.post(route.path, dict.fromkeys(names, LONG), follow=True),
        ):
            shown += not response.streaming and "xss" in response.text
            if response.status_code >= 500 or markup(response):
                wrong[route.path] = (response.status_code, markup(response))
    assert wrong == {}
    assert shown > 40


def test_the_api_gives_no_page(known: dict[str, str], root: Client) -> None:
    headers = staff_caller().headers
    for route in every_route(known):
        if route.of_api and route.path not in {"/api/", "/api/docs", "/api/docs/"}:
            response = root.get(route.path, headers=headers)
            as_file = response.get("Content-Disposition", "").startswith("attachment")
            assert as_file or response["Content-Type"].endswith("json"), route.path


@pytest.mark.parametrize("text", poisoned.SAID)
def test_markdown_keeps_markup_a_text(text: str) -> None:
    assert [*escaped_from(render(text) or "")] == []


@pytest.mark.parametrize(
    "html",
    [
        f"<p>{LONG}</p>",
        f'<a href="{LONG}">x</a>',
        f"<a title='{SHORT}'>x</a>",
        "<a href=' JavaScript:x'>x</a>",
        "<p style='x'>",
        "<p onclick=x>",
    ],
)
def test_what_gets_out_is_found(html: str) -> None:
    assert [*escaped_from(html)]
