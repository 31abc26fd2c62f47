"""The admin as a whole, model by model: what each group may look at and do, how often a list asks the database, that every
action asks a person first, and that no list counts a big table.
"""

import re
from collections import defaultdict

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection, models
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coverage import admin_base
from coverage.models import Chat, Message
from extraction.models import Batch, Candidate, Document, ExtractionVersion, ExtractorRule, LanguageModel
from osii import groups
from osii.models import ApiToken, OutputSetting
from tests.osii import rows
from tests.osii.admin_rows import everything

pytestmark = pytest.mark.django_db

MODELS = [model for model in admin.site._registry if model._meta.app_label != "django_rq"]
OURS = [model for model in MODELS if model._meta.app_label != "auth"]
APPS = sorted({model._meta.app_label for model in MODELS})

# What each group may do beyond the group before it.
ACTIONS = {
    groups.VIEWER: {},
    groups.REVIEWER: {Candidate: {"accept", "reject", "defer", "undo"}},
    groups.LIBRARIAN: {
        Chat: {"extract_rest", "abort"},
        Batch: {"retry_parked", "split_parked"},
        Document: {"upgrade_extraction", "roll_back"},
        ExtractionVersion: {"promote_to_primary"},
    },
    groups.ADMINISTRATOR: {
        Chat: {"reset_coverage", "purge_knowledge"},
        ApiToken: {"revoke"},
        ExtractorRule: {"delete_selected"},
        OutputSetting: {"delete_selected"},
    },
}
DELETABLE = {LanguageModel, ExtractorRule, OutputSetting}


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """The admin's index looks at the queues."""


def client_of(name: str = "") -> Client:
    """A browser logged in as a member of the group; without one, as a superuser."""
    user = User.objects.create_user(f"{name or 'root'}-account", is_staff=True, is_superuser=not name)
    if name:
        user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


def url(model: type[models.Model], page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def first(model: type[models.Model]) -> models.Model:
    row = model._default_manager.order_by("pk").first()
    assert row is not None, model
    return row


@pytest.mark.parametrize("app", APPS)
def test_lists_and_rows_open_and_ask_as_often_for_three_times_the_rows(app):
    everything()
    client = client_of()
    mine = [model for model in MODELS if model._meta.app_label == app]
    client.get(url(mine[0], "changelist"))  # what is asked once per process is asked

    def queries() -> dict[str, int]:
        counts = {}
        for model in mine:
            for address in (url(model, "changelist"), url(model, "change", first(model).pk)):
                with CaptureQueriesContext(connection) as captured:
                    answer = client.get(address)
                assert answer.status_code == 200, address
                assert "0.6" not in answer.text, address  # no vector is shown
                assert not re.search(r"<a (?![^>]* title=)[^>]*>\s*</a>", answer.text), address  # a link has words
                counts[address] = len(captured)
        return counts

    few = queries()
    for model in mine:
        assert client.get(url(model, "changelist"), {"q": "lamp"}).status_code == 200, model
    everything(2)
    everything(3)
    many = queries()
    grew = {page: (few[page], many[page]) for page in few.keys() & many.keys() if many[page] > few[page]}
    assert grew == {}


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_a_list_can_be_searched_and_counts_no_big_table(model):
    shown = admin.site._registry[model]
    assert shown.search_fields
    assert shown.list_display != ("__str__",)
    assert shown.show_full_result_count is False
    assert shown.show_facets is admin.ShowFacets.NEVER
    assert shown.paginator is admin_base.EstimatingPaginator


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_a_form_for_a_new_row_shows_no_insides_of_the_program(model, client):
    client.force_login(User.objects.create_superuser("root", password="pw"))
    answer = client.get(url(model, "add"))
    assert answer.status_code in (200, 403)
    assert "object at 0x" not in answer.text


def test_a_row_that_has_a_page_in_the_dashboard_links_to_it():
    everything()
    client, linked = client_of(), 0
    for model in OURS:
        row, shown = first(model), admin.site._registry[model]
        if not callable(shown.view_on_site):
            continue
        address = shown.view_on_site(row)
        assert client.get(address).status_code == 200, address
        assert f'href="{address.replace("&", "&amp;")}"' in client.get(url(model, "change", row.pk)).text, model
        linked += 1
    assert linked > 25


@pytest.mark.parametrize("name", ACTIONS)
def test_each_group_opens_what_it_may_view_and_no_more(name):
    groups.create(apps, apps)
    everything()
    client = client_of(name)
    held = User.objects.get(username=f"{name}-account").get_all_permissions()
    wrong = []
    for model in MODELS:
        app, short, row = model._meta.app_label, model._meta.model_name, first(model)
        may_view = held & {f"{app}.view_{short}", f"{app}.change_{short}"}
        may_delete = model in DELETABLE and f"{app}.delete_{short}" in held
        expected = {url(model, "delete", row.pk): 200 if may_delete else 403}
        if may_view:
            expected[url(model, "history", row.pk)] = 200  # asks what the list and the row ask, and is quick
        else:
            expected |= {url(model, "changelist"): 403, url(model, "change", row.pk): 403}
        found = {address: client.get(address).status_code for address in expected}
        wrong += [(address, status) for address, status in found.items() if status != expected[address]]
    assert wrong == []


def test_each_group_is_offered_the_actions_that_its_permissions_allow():
    groups.create(apps, apps)
    expected: dict[type, set[str]] = defaultdict(set)
    for name, added in ACTIONS.items():
        for model, actions in added.items():
            expected[model] |= actions
        request = RequestFactory().get("/")
        request.user = User.objects.create_user(name, is_staff=True)
        request.user.groups.add(Group.objects.get(name=name))
        offered = {model: set(admin.site._registry[model].get_actions(request)) for model in MODELS}
        assert {model: actions for model, actions in offered.items() if actions} == expected, name


def test_every_action_says_who_may_and_asks_before_it_acts(django_capture_on_commit_callbacks):
    everything()
    client = client_of()
    asked = set()
    with django_capture_on_commit_callbacks() as enqueued, CaptureQueriesContext(connection) as captured:
        for model in OURS:
            for action in admin.site._registry[model].actions:
                function = getattr(admin.site._registry[model], action)
                assert function.allowed_permissions, action
                assert function.short_description.endswith("…"), action
                if action == "roll_back":  # needs files: test_admin
                    continue
                chosen = [str(row.pk) for row in model._default_manager.all()]
                if model is ExtractionVersion:
                    chosen = [str(model.objects.exclude(pk__in=Document.objects.values("primary")).first().pk)]
                answer = client.post(url(model, "changelist"), {"action": action, "_selected_action": chosen})
                assert answer.status_code == 200, action
                assert re.search(r'name="(confirmed|policy)"', answer.text), action
                asked.add(action)
    assert len(asked) >= 13
    written = [query["sql"] for query in captured if re.match(r"(INSERT|UPDATE|DELETE)", query["sql"])]
    assert [sql for sql in written if "osii_staffaction" not in sql] == []  # that they were asked for is on record
    assert enqueued == []


def test_a_long_list_is_counted_to_a_limit_and_then_estimated(monkeypatch):
    monkeypatch.setattr(admin_base, "MOST_COUNTED", 5)
    for number in range(3):
        rows.chat(4, title=f"Chat {number}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE coverage_message")
    pager = admin_base.EstimatingPaginator
    assert pager(Message.objects.all(), 2).count == 12  # as the database estimates
    assert pager(Message.objects.filter(role="user"), 2).count == 5
    assert pager(Message.objects.filter(position=1), 2).count == 3
    with CaptureQueriesContext(connection) as captured:
        assert client_of().get(url(Message, "changelist")).status_code == 200
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]
    assert counts
    assert all("LIMIT 6" in sql for sql in counts)
