"""Bearer tokens: hashed, shown once, expiring, revocable, their use noted."""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coverage.models import Learner
from coverage.services import get_or_create_learner
from osii import tokens
from osii.models import ApiToken
from tests.osii.api import Caller

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


def test_only_the_hash_is_kept() -> None:
    row, token = tokens.issue(name="a client")
    assert re.fullmatch(r"osii_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", token)
    assert token.startswith(f"{row.prefix}_")
    row.refresh_from_db()
    assert row.secret_hash == hashlib.sha256(token.encode()).hexdigest()
    secret = token.removeprefix(row.prefix)
    assert not any(secret in str(value) for value in ApiToken.objects.values().get(pk=row.pk).values())


def test_a_token_is_found_by_its_whole_text() -> None:
    learner = get_or_create_learner("Ada")
    row, token = tokens.issue(learner=learner)
    _other, other = tokens.issue()
    assert tokens.authenticate(token) == row
    assert tokens.authenticate(other).staff
    swapped = row.prefix + other.removeprefix(_other.prefix)
    for wrong in (
        "",
        "osii_",
        row.prefix,
        token[:-1],
        token + "a",
        token.upper(),
        f"{token} ",
        "osii_é",
        swapped,
        "\x00",
    ):
        with pytest.raises(tokens.InvalidToken, match="not known"):
            tokens.authenticate(wrong)


def test_expiry_and_revocation(clock: time_machine.Traveller) -> None:
    year, year_token = tokens.issue()
    for_ever, for_ever_token = tokens.issue(days=0)
    assert year.expires_at == NOW + timedelta(days=365)
    assert for_ever.expires_at is None
    clock.shift(timedelta(days=365) - timedelta(seconds=1))
    tokens.authenticate(year_token)
    clock.shift(timedelta(seconds=1))
    with pytest.raises(tokens.InvalidToken, match="expired"):
        tokens.authenticate(year_token)
    tokens.authenticate(for_ever_token)
    assert tokens.revoke(for_ever)
    assert not tokens.revoke(for_ever)
    with pytest.raises(tokens.InvalidToken, match="revoked"):
        tokens.authenticate(for_ever_token)


@pytest.mark.parametrize("days", [-1, 3651])
def test_a_life_that_is_not_allowed(days: int) -> None:
    with pytest.raises(ValueError, match="1 to 3650 days, or 0"):
        tokens.issue(days=days)


def test_use_is_noted_once_a_minute(clock: time_machine.Traveller) -> None:
    row, token = tokens.issue()
    for seconds, noted in [(0, 0), (30, 0), (29, 0), (1, 60), (600, 660)]:
        clock.shift(timedelta(seconds=seconds))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            tokens.authenticate(token)
        row.refresh_from_db()
        assert row.last_used_at == NOW + timedelta(seconds=noted)
        assert len(queries) == (2 if seconds in {0, 1, 600} else 1)


def test_a_token_is_for_staff_or_for_one_learner() -> None:
    for wrong in ({"staff": True, "learner": get_or_create_learner("Ada")}, {"staff": False, "learner": None}):
        with pytest.raises(IntegrityError, match="api_token_for_staff_or_one_learner"), transaction.atomic():
            ApiToken.objects.create(prefix="osii_x", **wrong)


# --- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_token_alone() -> None:
    token = run("--learner", " Ada ", "--name", "phone").strip()
    row = tokens.authenticate(token)
    assert (row.learner.name, row.name, row.staff) == ("Ada", "phone", False)
    assert Caller(token).get("/propositions").status == 200


def test_the_command_prints_json() -> None:
    made = json.loads(run("--staff", "--days", "0", "--json"))
    assert tokens.authenticate(made.pop("token")).staff
    row = ApiToken.objects.get()
    assert made == {
        "id": str(row.pk),
        "prefix": row.prefix,
        "name": "",
        "learner": None,
        "staff": True,
        "account": None,
        "expires_at": None,
    }


def test_the_command_makes_a_token_that_acts_for_an_account() -> None:
    User.objects.create_user("ines", is_staff=True)
    made = json.loads(run("--staff", "--account", "ines", "--json"))
    row = tokens.authenticate(made["token"])
    assert (made["account"], row.account.username, row.unlimited, row.scope) == (
        "ines",
        "ines",
        False,
        "staff, as ines",
    )
    caller = Caller(made["token"])
    assert caller.get("/propositions").status == 403
    row.account.user_permissions.set(Permission.objects.filter(codename="view_processingrun"))
    refused = caller.get("/runs")  # which name documents
    assert (refused.status, "the permission extraction.view_document, held by" in refused.body["detail"]) == (403, True)
    row.account.user_permissions.add(Permission.objects.get(codename="view_document"))
    assert caller.get("/runs").status == 200


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the arguments --learner --staff is required"),
        (["--staff", "--learner", "Ada"], "not allowed with argument"),
        (["--staff", "--days", "-3"], "--days: a token lives"),
        (["--staff", "--days", "soon"], "invalid int value"),
        (["--learner", "  "], "--learner: the name is blank"),
        (["--learner", "x" * 201], "--learner: 201 characters"),
        (["--learner", "a\x00b"], "--learner: NUL"),
        (["--staff", "--name", "a\ud800"], "--name: lone surrogate"),
        (["--staff", "--account", "nobody"], "--account: there is no active staff account 'nobody'"),
        (["--learner", "Ada", "--account", "nobody"], "--account: only a token with --staff"),
    ],
)
def test_the_command_refuses(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run(*arguments)
    assert not ApiToken.objects.exists()
    assert not Learner.objects.exists()


# --- the admin -------------------------------------------------------------------------------------------------------


def staff_client(*permissions: str) -> Client:
    user = get_user_model().objects.create_user("staff", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="osii", codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_the_admin_shows_a_token_once() -> None:
    client = staff_client("add_apitoken", "view_apitoken")
    learner = get_or_create_learner("Ada")
    add = reverse("admin:osii_apitoken_add")
    assert b'name="days"' in client.get(add).content
    page = client.post(add, {"name": "phone", "learner": str(learner.pk), "days": "30"})
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    token = re.search(r"osii_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", page.content.decode())[0]
    row = tokens.authenticate(token)
    assert (row.learner, row.created_by.username, row.name) == (learner, "staff", "phone")
    assert timedelta(days=29) < row.expires_at - row.created_at <= timedelta(days=30)
    assert page.content.decode().count(token) == 1
    secret = token.removeprefix(row.prefix)
    for url in (reverse("admin:osii_apitoken_changelist"), reverse("admin:osii_apitoken_change", args=[row.pk])):
        shown = client.get(url)
        assert shown.status_code == 200
        assert row.prefix in shown.content.decode()
        assert secret not in shown.content.decode()
        assert row.secret_hash not in shown.content.decode()
    assert client.post(add, {"name": "job", "staff": "on", "days": "30"}).status_code == 200
    job = ApiToken.objects.get(name="job")
    assert (job.scope, job.account, row.account) == ("staff, as staff", job.created_by, None)
    assert secret not in str(list(LogEntry.objects.values()))
    assert secret not in str(client.session.items())


@pytest.mark.parametrize(
    "form", [{"days": "30"}, {"days": "30", "staff": "on", "learner": "LEARNER"}, {"staff": "on", "days": "9999"}]
)
def test_the_admin_refuses(form: dict[str, str]) -> None:
    learner = str(get_or_create_learner("Ada").pk)
    client = staff_client("add_apitoken", "view_apitoken")
    posted = {key: value.replace("LEARNER", learner) for key, value in form.items()}
    page = client.post(reverse("admin:osii_apitoken_add"), posted)
    assert "errorlist" in page.content.decode()
    assert ("Choose a learner or staff." in page.content.decode()) == (form == {"days": "30"})
    assert not ApiToken.objects.exists()


def test_the_admin_revokes_and_edits_nothing() -> None:
    row, _token = tokens.issue(name="phone")
    listed = reverse("admin:osii_apitoken_changelist")
    action = {"action": "revoke", "_selected_action": str(row.pk), "confirmed": "yes"}
    onlooker = staff_client("view_apitoken")
    onlooker.post(listed, action)
    row.refresh_from_db()
    assert row.revoked_at is None
    User.objects.all().delete()
    client = staff_client("view_apitoken", "change_apitoken")
    client.post(listed, action)
    row.refresh_from_db()
    assert row.revoked_at is not None
    assert LogEntry.objects.get().change_message == "Revoked."
    change = reverse("admin:osii_apitoken_change", args=[row.pk])
    assert client.post(change, {"name": "other", "staff": "on"}).status_code == 403
    assert client.post(reverse("admin:osii_apitoken_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
