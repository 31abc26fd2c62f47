"""Deny by default: every route, by everyone who might call it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from coverage.models import Chat, Learner, Message
from coverage.services import get_or_create_learner
from extraction.models import Document, Run
from graphctx.models import Instance, Proposition
from osii import groups, tokens
from osii.api import schemas
from osii.api.routes import api
from osii.models import ApiToken
from tests import factories
from tests.factories import message
from tests.osii.api import Caller, answer, learner_caller, staff_caller, ui

pytestmark = pytest.mark.django_db

CHAT, PROPOSITION = "0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002"

# method, path as the schema names it, body, status for the owner, status for another learner
ROUTES = [
    ("POST", "/chats", {"learner": "Ada"}, 201, 403),
    ("GET", "/chats/{chat_id}", None, 200, 404),
    ("DELETE", "/chats/{chat_id}", None, 200, 404),
    ("PUT", "/chats/{chat_id}/settings", {"model": "m"}, 200, 404),
    ("PUT", "/chats/{chat_id}/messages", [ui("b", "More")], 200, 404),
    ("DELETE", "/chats/{chat_id}/messages/{message_id}", None, 200, 404),
    ("POST", "/chats/{chat_id}/finish", None, 200, 404),
    ("GET", "/chats/{chat_id}/coverage", None, 200, 404),
    ("POST", "/chats/{chat_id}/extract", {"mode": "rest"}, 202, 404),
    ("POST", "/chats/{chat_id}/reread", {"from": 1, "to": 1}, 200, 404),
    ("POST", "/chats/{chat_id}/abort", None, 200, 404),
    ("GET", "/chats/{chat_id}/context", None, 200, 404),
    ("POST", "/chats/{chat_id}/turn", {"turn": "t"}, 200, 404),
    ("POST", "/context", {"learner": "Ada", "topic": "metals", "budget": 256}, 200, 403),
    ("GET", "/propositions?learner=Ada", None, 200, 403),
    ("GET", "/propositions/{proposition_id}", None, 200, 404),
    ("POST", "/propositions/{proposition_id}/forget", None, 200, 404),
    ("POST", "/propositions/{proposition_id}/restore", None, 200, 404),
]
FILE, RUN = f"sha256-{'c0' * 32}", "0190a000-0000-7000-8000-000000000003"
VERSION = "/objects/{file_id}/extractions/{extraction_id}"
# Routes whose answers to their owner are tested elsewhere: method, path, body, status for another learner
CLOSED = [
    ("POST", "/chats/{chat_id}/steer/ack", {"steer_id": PROPOSITION}, 404),
    ("POST", "/search", {"query": "copper"}, 200),
    ("POST", "/resolve", {"workflow": "library", "build_embeddings": True}, 403),
    ("POST", "/resolve/documents?step=embeddings", {"workflow": "library", "build_embeddings": True}, 403),
    ("POST", "/runs", {"workflow": "library", "build_embeddings": True}, 403),
    ("GET", "/runs", None, 403),
    ("GET", "/runs/{run_id}", None, 403),
    ("GET", "/runs/{run_id}/items", None, 403),
    *(("POST", f"/runs/{{run_id}}/{action}", None, 403) for action in ("pause", "resume", "cancel", "retry")),
    ("GET", "/objects", None, 200),
    ("GET", "/objects/{file_id}", None, 404),
    *(
        ("GET", f"/objects/{{file_id}}/{what}", None, 404)
        for what in ("manifest", "texts", "syntheses", "source", "extractions")
    ),
    ("POST", "/objects/{file_id}/extractions", {"extractor_name": "text", "extraction_policy": "save_variant"}, 403),
    ("POST", f"{VERSION}/primary", None, 403),
    ("GET", f"{VERSION}/artifacts", None, 404),
    ("GET", "/objects/{file_id}/removal", None, 403),
    ("DELETE", "/objects/{file_id}", None, 403),
    ("GET", "/objects/{file_id}/retention", None, 403),
    ("POST", "/objects/{file_id}/retention", {"extraction_ids": ["text-1"]}, 403),
    ("GET", f"{VERSION}/artifacts/{{name}}", None, 404),
]


def named(routes: list[tuple]) -> list[str]:
    return [f"{method} {path}" for method, path, *_rest in routes]


every_route = pytest.mark.parametrize("route", ROUTES, ids=named(ROUTES))
really_every_route = pytest.mark.parametrize("route", ROUTES + CLOSED, ids=named(ROUTES + CLOSED))


def call(caller: Caller, route: tuple) -> Any:
    method, path, body, *_statuses = route
    filled = path.format(
        chat_id=CHAT, message_id="a", proposition_id=PROPOSITION, file_id=FILE, run_id=RUN,
        extraction_id="text-20260101000000-00000000", name="a.csv",
    )  # fmt: skip
    return caller.send(method, filled, body)


@pytest.fixture(autouse=True)
def chat() -> Chat:
    """Ada's chat and what was learned from it; Bo exists too."""
    chat = factories.chat(message("a", "Copper melts at 1085 degrees."), id=CHAT)
    proposition = Proposition.objects.create(
        pk=PROPOSITION, learner=chat.learner, text="Copper melts at 1085 degrees.", kind="fact", identity="x"
    )
    Instance.objects.create(
        proposition=proposition, chat=chat, message_id="a", char_start=0, char_end=6, quote="Copper", speaker="user"
    )
    Document.objects.create(file_id=FILE, learner=chat.learner, filename="Copper.txt", mime="text/plain", size_bytes=1)
    get_or_create_learner("Bo")
    return chat


@pytest.fixture
def everything() -> Callable[[], list]:
    """All rows that a route could touch."""
    models = (Learner, Chat, Message, Proposition, Instance, Run, Document)
    return lambda: [list(model.objects.order_by("pk").values()) for model in models]


def test_the_routes_here_are_all_routes() -> None:
    paths = api.get_openapi_schema()["paths"]
    known = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert known == {(method, f"/api{path.partition('?')[0]}") for method, path, *_ in ROUTES + CLOSED}


def test_the_schema_says_which_routes_are_for_staff() -> None:
    """A route that another learner's token finds closed by 403, whoever owns what it names."""
    paths = api.get_openapi_schema()["paths"]
    said = {(m.upper(), path) for path, of in paths.items() for m, one in of.items() if one.get("x-callers") == "staff"}
    assert said == {(m, f"/api{path.partition('?')[0]}") for m, path, _body, status in CLOSED if status == 403}


def bearers() -> dict[str, dict[str, str]]:
    ada = get_or_create_learner("Ada")
    expired, expired_token = tokens.issue(learner=ada)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at="2020-01-01T00:00Z")
    revoked, revoked_token = tokens.issue()
    tokens.revoke(revoked)
    _good, good = tokens.issue(learner=ada)
    return {
        "none": {},
        "empty": {"Authorization": ""},
        "no token": {"Authorization": "Bearer"},
        "another scheme": {"Authorization": f"Basic {good}"},
        "no scheme": {"Authorization": good},
        "wrong": {"Authorization": f"Bearer {good[:-1]}{'a' if good[-1] != 'a' else 'b'}"},
        "not a token": {"Authorization": "Bearer é\x01"},
        "expired": {"Authorization": f"Bearer {expired_token}"},
        "revoked": {"Authorization": f"Bearer {revoked_token}"},
    }


@really_every_route
def test_without_a_valid_token_every_route_is_closed(route: tuple, everything: Callable[[], list]) -> None:
    before = everything()
    for name, headers in bearers().items():
        caller = Caller()
        caller.headers = headers
        status, problem = call(caller, route)
        assert status == 401, name
        challenge = call(caller, route).headers["WWW-Authenticate"]
        assert challenge.startswith('Bearer realm="osii"')
        assert ("invalid_token" in challenge) == (name in {"no token", "wrong", "not a token", "expired", "revoked"})
        if name in {"expired", "revoked"}:
            assert name in problem["detail"]
    assert everything() == before


@really_every_route
def test_a_session_is_no_token(route: tuple, admin_client: Client) -> None:
    caller = Caller()
    caller.client = admin_client
    assert call(caller, route).status == 401


@really_every_route
def test_another_learner_finds_nothing(route: tuple, everything: Callable[[], list]) -> None:
    before = everything()
    status, problem = call(learner_caller("Bo"), route)
    assert status == route[-1]
    assert "Copper" not in str(problem)
    assert everything() == before


@every_route
def test_what_is_not_yours_looks_like_what_is_not_there(route: tuple) -> None:
    if route[4] != 404:
        return
    bo = learner_caller("Bo")
    mine = call(bo, route)
    method, path, body, *_statuses = route
    unknown = CHAT.replace("0001", "0009").replace("a000", "a009")
    missing = bo.send(method, path.format(chat_id=unknown, message_id="a", proposition_id=unknown), body)
    hide = {CHAT, PROPOSITION, unknown}
    texts = [str(found.body) for found in (mine, missing)]
    for key in hide:
        texts = [text.replace(key, "ID") for text in texts]
    assert texts[0] == texts[1]


@every_route
def test_the_owner_is_let_in(route: tuple, rq_connection: object) -> None:
    assert call(learner_caller("Ada"), route).status == route[3]


@every_route
def test_staff_are_let_in(route: tuple, rq_connection: object) -> None:
    assert call(staff_caller(), route).status == route[3]


@every_route
def test_the_answer_is_what_the_description_says(route: tuple, rq_connection: object) -> None:
    """Every field is described, and every described field is there."""
    method, path, *_rest = route
    operation = api.get_openapi_schema()["paths"][f"/api{path.partition('?')[0]}"][method.lower()]
    content = operation["responses"][route[3]]["content"]["application/json"]["schema"]
    described = getattr(schemas, content["$ref"].rpartition("/")[2])
    body = call(learner_caller("Ada"), route).body
    assert described.model_validate(body).model_dump(mode="json", exclude_unset=True) == body


VIEWERS = {
    *(("GET", f"/chats/{{chat_id}}{rest}") for rest in ("", "/coverage", "/context")),
    ("POST", "/context"), ("GET", "/propositions"), ("GET", "/propositions/{proposition_id}"),
    ("POST", "/search"), ("POST", "/resolve"), ("POST", "/resolve/documents"),
    *(("GET", f"/runs{rest}") for rest in ("", "/{run_id}", "/{run_id}/items")),
    ("GET", "/objects"), ("GET", "/objects/{file_id}"),
    *(
        ("GET", f"/objects/{{file_id}}/{rest}")
        for rest in ("manifest", "texts", "syntheses", "source", "extractions")
    ),
    ("GET", f"{VERSION}/artifacts"), ("GET", f"{VERSION}/artifacts/{{name}}"),
}  # fmt: skip
REVIEWERS = {
    ("PUT", "/chats/{chat_id}/settings"),
    *(("POST", f"/propositions/{{proposition_id}}/{act}") for act in ("forget", "restore")),
}
LIBRARIANS = {
    ("POST", "/chats"), ("PUT", "/chats/{chat_id}/messages"), ("POST", "/runs"), ("POST", f"{VERSION}/primary"),
    ("POST", "/objects/{file_id}/extractions"),
    *(("POST", f"/chats/{{chat_id}}/{act}") for act in ("finish", "extract", "abort", "turn", "steer/ack")),
    *(("POST", f"/runs/{{run_id}}/{act}") for act in ("pause", "resume", "cancel", "retry")),
}  # fmt: skip
EVERYTHING = {(method, path.partition("?")[0]) for method, path, *_ in ROUTES + CLOSED}
MAY = {
    "nobody": set(),
    groups.VIEWER: VIEWERS,
    groups.REVIEWER: VIEWERS | REVIEWERS,
    groups.LIBRARIAN: VIEWERS | REVIEWERS | LIBRARIANS,
    groups.ADMINISTRATOR: EVERYTHING,
}


@pytest.mark.parametrize("group", MAY)
def test_a_token_of_an_account_may_what_its_group_may(group: str, rq_connection: object) -> None:
    groups.create(apps, apps)  # a test with real transactions empties these tables
    account = User.objects.create_user("ines", is_staff=True)
    account.groups.set(Group.objects.filter(name=group))
    caller = Caller(tokens.issue(account=account)[1])
    open_to_it, broken = set(), {}
    for route in ROUTES + CLOSED:
        status, body = call(caller, route)
        if status != 403:
            open_to_it.add((route[0], route[1].partition("?")[0]))
        elif "for the account ines" not in body["detail"]:
            broken[route[:2]] = body
        if status == 500:
            broken[route[:2]] = body
    assert open_to_it == MAY[group]
    assert broken == {}


def test_a_token_ends_with_its_account() -> None:
    account = User.objects.create_user("ines", is_staff=True, is_superuser=True)
    row, token = tokens.issue(account=account)
    assert Caller(token).get("/propositions").status == 200
    for change in ({"is_active": False}, {"is_active": True, "is_staff": False}):
        User.objects.update(**change)
        status, problem = Caller(token).get("/propositions")
        assert (status, "account that the token acts for is closed" in problem["detail"]) == (401, True)
    User.objects.update(is_staff=True)
    with pytest.raises(IntegrityError, match="api_token_staff_acts_for_somebody"), transaction.atomic():
        ApiToken.objects.update(account=None)
    User.objects.all().delete()
    row.refresh_from_db()
    assert (row.account, row.unlimited) == (None, False)
    status, problem = Caller(token).get("/propositions")
    assert (status, problem["detail"]) == (401, "The token was revoked.")


def test_a_learner_sees_its_own_lists_only() -> None:
    assert len(learner_caller("Ada").get("/propositions").body["items"]) == 1
    assert learner_caller("Bo").get("/propositions").body["items"] == []
    assert len(staff_caller().get("/propositions").body["items"]) == 1
    assert learner_caller("Bo").post("/context", {"topic": "Copper melts"}).body["items"] == []


def test_naming_another_learner_tells_nothing_about_who_exists() -> None:
    bo = learner_caller("Bo")
    answers = [bo.post("/chats", {"learner": name}) for name in ("Ada", "Nobody at all")]
    assert [status for status, _body in answers] == [403, 403]
    assert answers[0].body == answers[1].body
    assert not Learner.objects.filter(name="Nobody at all").exists()


def test_a_learner_may_name_itself() -> None:
    assert learner_caller("Bo").post("/chats", {"learner": " Bo "}).status == 201


@pytest.mark.parametrize("path", ["/chats/x/y/z", "/nothing", "/admin", "/chats//settings"])
def test_an_unknown_route_is_a_problem_too(path: str) -> None:
    status, problem = staff_caller().get(f"/{path.lstrip('/')}")
    assert (status, problem["title"]) == (404, "Not Found")


def test_a_method_that_a_route_does_not_take() -> None:
    found = staff_caller().send("PATCH", f"/chats/{CHAT}")
    assert found.status == 405
    assert set(found.headers["Allow"].split(", ")) == {"GET", "DELETE"}


def test_another_host_is_refused_as_a_problem() -> None:
    found = Client().get("/api/propositions", headers={"Host": "elsewhere.example"})
    assert answer(found).status == 400


def test_the_description_needs_no_token_and_shows_no_data() -> None:
    for name in ("api:openapi-json", "api:openapi-view"):
        page = Client().get(reverse(name))
        assert page.status_code == 200
        assert "Copper" not in page.content.decode()
