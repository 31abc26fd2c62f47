"""The groups of staff accounts, and what each of them gets to, over all routes of the dashboard."""

import re
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from coverage.ids import new_id
from osii import groups
from osii.models import ChatImport, Collection
from osii.web import urls
from osii.web.access import needs_of, staff_page
from tests.osii import review_rows, rows
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
    user.groups.set(Group.objects.filter(name=name))
    client = Client()
    client.force_login(user)
    return client


def test_each_group_holds_what_the_one_before_it_holds(members):
    order = (groups.VIEWER, groups.REVIEWER, groups.LIBRARIAN, groups.ADMINISTRATOR)
    assert set(members) == set(order)
    assert all(members[less] < members[more] for less, more in pairwise(order))
    assert not any(name.startswith("auth.") for name in members[groups.ADMINISTRATOR])  # accounts are superusers'
    assert "osii.view_apitoken" not in members[groups.LIBRARIAN]


def test_an_account_made_in_the_admin_logs_in_as_what_its_group_may(client, members):
    client.force_login(User.objects.create_superuser("root", password="pw"))
    viewer = Group.objects.get(name=groups.VIEWER)
    secret = {"usable_password": "true", "password1": "Tides and moons 7", "password2": "Tides and moons 7"}
    client.post(reverse("admin:auth_user_add"), {"username": "ines", "groups": [viewer.pk], **secret})
    made = User.objects.get(username="ines")
    assert (made.is_staff, made.is_superuser, [*made.groups.all()]) == (True, False, [viewer])
    assert '<td class="field-in_groups">viewer</td>' in client.get(reverse("admin:auth_user_changelist")).text
    client.post(reverse("logout"))
    entered = client.post(reverse("login"), {"username": "ines", "password": secret["password1"], "next": "/chats/"})
    assert entered["Location"] == "/chats/"
    assert client.get("/chats/").status_code == 200
    # Who keeps accounts may still make one that is not of staff.
    client.force_login(User.objects.get(username="root"))
    change = {"username": "ines", "is_active": "on", "date_joined_0": "2026-01-02", "date_joined_1": "03:04:05"}
    client.post(reverse("admin:auth_user_change", args=[made.pk]), change)
    made.refresh_from_db()
    assert not made.is_staff


def test_making_them_again_keeps_what_an_owner_changed(members):
    own = Group.objects.get(name=groups.VIEWER)
    own.permissions.add(Permission.objects.get(codename="add_group"))
    groups.create(apps, apps)
    assert own.permissions.filter(codename="add_group").exists()
    assert Group.objects.count() == 4


def test_an_upgrade_lets_staff_see_what_they_saw(members):
    for name, group, more in (
        ("seen", None, {"is_staff": True}),
        ("own", "own group", {"is_staff": True}),
        ("reviews", groups.REVIEWER, {"is_staff": True}),
        ("root", None, {"is_staff": True, "is_superuser": True}),
        ("learner", None, {}),
    ):
        user = User.objects.create_user(name, **more)
        if group:
            user.groups.add(Group.objects.get_or_create(name=group)[0])
    migration = import_module("osii.migrations.0017_who_saw_every_page")
    migration.keep(apps, None)
    migration.keep(apps, None)
    viewers = User.objects.filter(groups__name=groups.VIEWER).values_list("username", flat=True)
    assert sorted(viewers) == ["own", "seen"]
    Group.objects.filter(name=groups.VIEWER).delete()
    migration.keep(apps, None)


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
    batch = review_rows.read(chat)
    candidate = review_rows.staged(batch, "Ice floats.")
    proposition = rows.proposition()
    rows.instance(proposition, chat)
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


REVIEWERS = {
    "review", "review-candidate", "review-decide", "review-undo", "proposition-forget", "proposition-restore",
    "chat-steer", "graph-budget",
}  # fmt: skip
LIBRARIANS = {
    "chat-extract", "chat-abort", "batch-retry", "batch-split", "bulk",
    "talk-begin", "talk-say", "talk-answer", "talk-reply",
    "intake", "intake-upload", "intake-uploaded", "intake-preview", "intake-confirm", "intake-process-start",
    "imports", "import-create", "import", "import-live", "import-cancel", "import-repeat", "import-extract",
    "documents-bulk", "document-promote", "document-rollback", "processing-action", "processing-again",
    "collection-create", "collection-rename", "collection-delete",
}  # fmt: skip
ADMINISTRATORS = {"chat-reread", "chat-purge", "document-remove", "document-clean-up"}
"""The routes that the group is the first to have; a viewer has all others."""
SUPERUSERS = {"styleguide"}
ROUTES = {route.name: route for route in urls.urlpatterns if route.name not in FOR_EVERYBODY}
REFUSED = {
    "nobody": set(ROUTES) - {"home"},
    groups.VIEWER: REVIEWERS | LIBRARIANS | ADMINISTRATORS | SUPERUSERS,
    groups.REVIEWER: LIBRARIANS | ADMINISTRATORS | SUPERUSERS,
    groups.LIBRARIAN: ADMINISTRATORS | SUPERUSERS,
    groups.ADMINISTRATOR: SUPERUSERS,
}


def test_every_route_names_what_it_needs(members):
    lacking = {name for name in ROUTES if not needs_of(name).every + needs_of(name).one_of}
    assert lacking == set()
    asked = {one for name in ROUTES for one in needs_of(name).every + needs_of(name).one_of}
    assert asked <= members[groups.ADMINISTRATOR]
    with pytest.raises(TypeError, match="names the permissions"):
        staff_page(lambda request: None)
    with pytest.raises(TypeError, match="names the permissions"):
        staff_page()


DECIDED_WITHIN = {"bulk", "documents-bulk", "home", "styleguide"}
"""Routes whose needs hang on what the form asks for, or on more than permissions; Home welcomes whoever may see nothing yet."""


@pytest.mark.parametrize("group", REFUSED)
def test_each_group_holds_what_its_routes_need_and_no_more(members, group):
    in_group(group)
    user = User.objects.get()
    closed = {name for name in ROUTES if not needs_of(name).allow(user)}
    assert closed - DECIDED_WITHIN == REFUSED[group] - DECIDED_WITHIN


def test_a_viewer_gets_to_its_routes_and_no_further(members, arguments, rq_connection):
    client = in_group(groups.VIEWER)
    found = {name: asked(client, name, arguments) for name in ROUTES}
    assert {name for name, answer in found.items() if answer.status_code == 403} == REFUSED[groups.VIEWER]
    assert {name: answer for name, answer in found.items() if answer.status_code >= 500} == {}
    pages = {name: answer.text for name, answer in found.items() if answer.status_code == 200 and not answer.streaming}
    led_to = {name: set(map(route_of, LEADS.findall(html))) & set(ROUTES) for name, html in pages.items()}
    assert {"chat", "graph"} <= led_to["proposition"]
    closed = {name: routes & REFUSED[groups.VIEWER] for name, routes in led_to.items()}
    assert {name: routes for name, routes in closed.items() if routes} == {}


LEADS = re.compile(r'(?:href|action|hx-get|hx-post)="(/[^"#?]*)')


@cache
def route_of(path: str) -> str:
    try:
        return resolve(path).view_name
    except Resolver404:  # a file
        return ""


def asked(client: Client, name: str, arguments: dict[str, object]) -> HttpResponseBase:
    """What the route answers: to a look, or where there is nothing to look at, to a form."""
    given = arguments | ({"name": "chats", "action": "rest"} if name == "bulk" else {})
    url = reverse(name, kwargs={one: given[one] for one in ROUTES[name].pattern.converters})
    answer = client.get(url)
    if answer.status_code != 405:
        return answer
    form = {"action": "add", "collection": arguments["collection_id"], "document": arguments["file_id"]}
    return client.post(url, form)


def test_a_page_that_names_things_of_another_kind_needs_the_permission_of_these_too(arguments, rq_connection):
    client = Client()
    client.force_login(rows.account("view_processingrun"))  # whose documents a plan and a run name
    for name in ("intake-process", "processing", "processing-live", "processing-log"):
        assert asked(client, name, arguments).status_code == 403, name
    assert reverse("processing", args=[arguments["run_id"]]) not in client.get(reverse("activity")).text
    client.force_login(rows.account("view_batch", "view_document", username="of documents"))
    assert asked(client, "batch", arguments).status_code == 403  # it is of a chat
    client.force_login(rows.account("view_batch", "view_chat", username="of chats"))
    assert asked(client, "batch", arguments).status_code == 200
    client.force_login(rows.account("view_chatimport", username="of imports"))
    assert reverse("activity") in client.get(reverse("home")).text


def test_an_account_in_no_group_is_told_which_there_are_and_whom_to_ask(members, rq_connection):
    User.objects.create_superuser("grace")
    client = in_group("nobody")
    home = client.get(reverse("home")).text
    assert "Your account is in no group yet" in home
    assert all(f"<dt>{name}</dt>" in home for name in groups.ORDER)
    assert "<bdi>grace</bdi>" in home
    for absent in ('class="nav-item-link" href="/chats/"', 'id="dock"', 'id="find-everything"', 'href="/admin/"'):
        assert absent not in home
    assert client.get(reverse("dock"), headers={"HX-Request": "true"}).status_code == 286
    assert {client.get(reverse(name)).status_code for name in ("chats", "documents", "activity", "search")} == {403}


def test_what_is_refused_says_what_is_needed_and_who_holds_it(members):
    User.objects.create_superuser("grace")
    refused = in_group(groups.VIEWER).get(reverse("review"))
    assert refused.status_code == 403
    shown = " ".join(re.sub(r"<[^>]+>", " ", re.sub("</?bdi>", "", refused.text)).split())
    for said in (
        "This needs the permission extraction.review_candidate.",
        "Can decide what becomes of candidates extraction.review_candidate",
        "Held by the groups reviewer, librarian, administrator",
        "Your groups viewer",
        "Ask a superuser of this installation (grace) to put your account into one of these groups",
    ):
        assert said in shown
    Group.objects.exclude(name=groups.VIEWER).delete()
    alone = Client()
    alone.force_login(User.objects.get(username=groups.VIEWER))
    assert "no group: superusers only" in alone.get(reverse("review")).text


def test_home_search_and_navigation_hold_what_the_account_may_see(arguments, rq_connection):
    rows.run(rows.chat(title="Lamps"), "failed")
    rows.document("lamps.md", 7)
    client = Client()
    client.force_login(rows.account("view_document"))
    home = client.get(reverse("home")).text
    assert re.findall(r'class="nav-item-link" href="([^"]+)"', home)[:3] == ["/", "/documents/", "/admin/"]
    assert f'href="{reverse("documents")}"' in home
    for absent in ("Lamps", "Latest runs", "All chats", reverse("chats"), reverse("propositions"), 'id="dock"'):
        assert absent not in home
    found = client.get(reverse("search"), {"q": "lamps"}).text
    assert "lamps.md" in found
    assert "Lamps</a>" not in found
    client.force_login(rows.account("view_chat", username="reader"))
    found = client.get(reverse("search"), {"q": "lamps", "mode": "semantic", "type": "pdf"}).text
    assert "Lamps</a>" in found
    assert "lamps.md" not in found
    assert "passage" not in found
