"""The groups of staff accounts, and that each action of the dashboard asks for what a viewer has not."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from coverage.ids import new_id
from osii import groups
from osii.models import ChatImport, Collection
from osii.web import urls
from tests.osii import rows
from tests.osii.library import rows as library_rows

pytestmark = pytest.mark.django_db

FOR_EVERYBODY = {"login", "logout"}


@pytest.fixture
def members() -> dict[str, set[str]]:
    groups.create(apps, apps)  # a test with real transactions empties these tables
    pairs = Group.objects.values_list("name", "permissions__content_type__app_label", "permissions__codename")
    found: dict[str, set[str]] = {}
    for name, app, codename in pairs:
        found.setdefault(name, set()).add(f"{app}.{codename}")
    return found


def in_group(name: str) -> Client:
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


def test_each_group_holds_what_the_one_before_it_holds(members):
    order = (groups.VIEWER, groups.REVIEWER, groups.LIBRARIAN, groups.ADMINISTRATOR)
    assert set(members) == set(order)
    assert all(members[less] < members[more] for less, more in pairwise(order))
    assert not any(name.startswith("auth.") for name in members[groups.ADMINISTRATOR])  # accounts are superusers'
    assert "osii.view_apitoken" not in members[groups.LIBRARIAN]


def test_making_them_again_keeps_what_an_owner_changed(members):
    own = Group.objects.get(name=groups.VIEWER)
    own.permissions.add(Permission.objects.get(codename="add_group"))
    groups.create(apps, apps)
    assert own.permissions.filter(codename="add_group").exists()
    assert Group.objects.count() == 4


def test_every_permission_that_is_named_exists(members):
    known = members[groups.ADMINISTRATOR]
    assert known >= groups.REVIEWS | groups.KEEPS | groups.SECRET
    pattern = re.compile(
        r"\b(?:coverage|extraction|graphctx|osii)\.(?:add|change|delete|view|review)_(?!admin)[a-z]+\b"
    )
    files = [path for app in (*groups.APPS, "templates") for path in Path(settings.BASE_DIR, app).rglob("*.*")]
    named = {
        name
        for path in files
        if path.suffix in {".py", ".html"} and "migrations" not in path.parts
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert "extraction.add_promotion" in named
    assert named <= known


@pytest.fixture
def arguments() -> dict[str, object]:
    """Something that is there for each kind of argument a route takes."""
    chat = rows.chat()
    batch = rows.batch(chat)
    candidate = rows.candidate(batch)
    proposition = rows.proposition()
    return {
        "chat_id": chat.pk,
        "batch_id": batch.pk,
        "candidate_id": candidate.pk,
        "resolution_id": rows.resolution(candidate, proposition).pk,
        "proposition_id": proposition.pk,
        "file_id": rows.document().pk,
        "collection_id": Collection.objects.create(name="Lamps").pk,
        "import_id": ChatImport.objects.create().pk,
        "run_id": library_rows.run().pk,
        "upload_id": new_id(),
        "action": "cancel",
        "extraction_id": "one",
        "name": "text.md",
    }


def test_a_viewer_sees_every_page_and_changes_nothing(members, arguments, rq_connection):
    viewer = in_group(groups.VIEWER)
    for route in urls.urlpatterns:
        if route.name in FOR_EVERYBODY:
            continue
        given = arguments | ({"name": "chats", "action": "rest"} if route.name == "bulk" else {})
        wanted = {name: given[name] for name in route.pattern.converters}
        bulk = {"action": "add", "collection": arguments["collection_id"], "ids": arguments["file_id"]}
        answer = viewer.post(reverse(route.name, kwargs=wanted), bulk)
        refused = {403, 405} | ({404} if "upload_id" in wanted else set())
        assert answer.status_code in refused, (route.name, answer.status_code)
    for page in ("home", "chats", "propositions", "documents", "activity", "graph", "collections"):
        assert viewer.get(reverse(page)).status_code == 200, page
