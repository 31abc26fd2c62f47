"""Whose data is whose: every route needs somebody, every tool of MCP answers its own learner, every table is known to erasure.

What is new and not listed here fails, so that nobody forgets to decide.
"""

import asyncio
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command, load_command_class
from django.db import models
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from mcp import Client as McpClient

from coverage.models import Learner
from extraction.models import Document
from osii import mcp_server, tokens
from osii.management import commands
from tests.graphctx.conftest import add_propositions
from tests.osii import rows
from tests.osii.library.search import chunked

# --- Routes ---

FOR_EVERYBODY = {
    "/login/",
    "/logout/",
    "/admin/login/",
    "/admin/logout/",  # a POST
    "/admin/jsi18n/",
    "/api",
    "/api/",
    "/api/docs/",
    "/api/docs",
    "/api/openapi.json",
}
"""Routes that show no data of anybody."""
FILLED = {"uuid": "0190a000-0000-7000-8000-000000000001", "int": "1", "str": "x", "slug": "x", "path": "x"}


def every_route(patterns: list[Any], before: str = "/") -> Iterator[str]:
    """A path of each route, its parameters filled with what is not there."""
    for pattern in patterns:
        part = (
            re.sub(r"\(\?P<\w+>[^)]*\)\??", "x", str(pattern.pattern))
            .removesuffix("$")
            .removesuffix("/?")
            .replace("\\", "")
        )
        part = re.sub(r"<(?:(\w+):)?\w+>", lambda found: FILLED[found[1] or "str"], part.removeprefix("^"))
        if isinstance(pattern, URLResolver):
            yield from every_route(pattern.url_patterns, before + part)
        elif isinstance(pattern, URLPattern):
            yield before + part


ROUTES = sorted(set(every_route(get_resolver().url_patterns)))


def refuses(client: Client, path: str, *, anonymous: bool) -> bool:
    """Whether the path is closed to whoever this is: by a login, a refusal, or because it is not there for them."""
    for method in (client.get, client.post) if anonymous else (client.get,):
        found = method(path)
        if found.status_code in {301, 302} and found["Location"].startswith(("/login/", "/admin/login/")):
            continue
        if found.status_code not in ({401, 403, 405} if anonymous else {401, 403, 404, 405}):
            return False
    return True


@pytest.mark.django_db
def test_no_route_but_those_listed_is_open_to_anybody() -> None:
    assert len(ROUTES) > 200
    anonymous = Client()
    unlisted = [path for path in ROUTES if path not in FOR_EVERYBODY and not refuses(anonymous, path, anonymous=True)]
    assert unlisted == []


@pytest.mark.django_db
def test_an_account_that_is_not_staff_gets_nowhere() -> None:
    client = Client()
    client.force_login(User.objects.create_user("learner"))
    closed = {path for path in ROUTES if refuses(client, path, anonymous=False)}
    assert [path for path in ROUTES if path not in closed | FOR_EVERYBODY] == []


@pytest.mark.django_db
def test_the_pages_of_the_queues_are_closed_to_staff(rq_connection: object) -> None:
    client = Client()
    client.force_login(rows.staff_user())
    queues = [path for path in ROUTES if "django_rq" in path]
    assert len(queues) > 10
    assert [path for path in queues if not refuses(client, path, anonymous=False)] == []


FOR_SUPERUSERS = "/styleguide/"
"""Nobody's data, and of no use to those who run a library."""


@pytest.mark.django_db
def test_the_style_page_is_for_superusers_and_for_staff_where_pages_are_developed(settings: Any) -> None:
    client = Client()
    client.force_login(rows.staff_user())
    assert refuses(client, FOR_SUPERUSERS, anonymous=False)
    settings.DEBUG = True
    assert client.get(FOR_SUPERUSERS).status_code == 200


@pytest.mark.django_db
def test_a_login_takes_no_large_body(client: Client) -> None:
    found = client.post("/login/", {"username": "x" * 100_000, "password": "y"})
    assert found.status_code == 413


# --- Tools of MCP ---

SECRET = "zanzibar"
TOOLS = {
    "context_for_topic": {"topic": f"{SECRET} secret boat", "budget": 1024},
    "search_propositions": {"query": SECRET, "by": "text"},
    "evidence_of_proposition": {},
    "search_documents": {"query": SECRET, "mode": "lexical"},
}


@pytest.mark.django_db(transaction=True)
def test_no_tool_shows_anything_of_another_learner() -> None:
    ada, bo = (Learner.objects.create(name=name) for name in ("Ada", "Bo"))
    claim = add_propositions(ada, [f"The {SECRET} boat is Ada's secret."])[0]
    add_propositions(bo, ["Boats swim."])
    chunked.document("ada.md", f"A {SECRET} boat.", learner="Ada")
    calls = TOOLS | {"evidence_of_proposition": {"proposition_id": str(claim.pk)}}

    async def ask(token: str) -> dict[str, str]:
        async with McpClient(mcp_server.build(token)) as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            assert offered == set(calls)
            return {name: str(await client.call_tool(name, arguments)) for name, arguments in calls.items()}

    shown = {learner.name: asyncio.run(ask(tokens.issue(learner=learner)[1])) for learner in (ada, bo)}
    for name, answer in shown["Bo"].items():
        assert f"{SECRET} boat" not in answer.replace("secret boat", ""), name
        assert "Ada" not in answer, name
    assert all(
        f"{SECRET} boat" in answer.lower() for answer in shown["Ada"].values()
    )  # the words are there to be found


# --- Commands ---

SHOWING: dict[str, Callable[[str, Path], list[str]]] = {
    "context": lambda name, _: [SECRET, "secret boat", "--learner", name, "--json"],
    "search": lambda name, _: [SECRET, "--mode", "lexical", "--learner", name, "--json"],
    "export_learner": lambda name, folder: [name, str(folder / f"{name}.zip")],
}
"""Commands that show what is of one learner, and how each is asked for it."""
BRINGING = {"add_files", "import_chats", "create_token", "erase_learner", "process_library"}
"""Those that name a learner and show nothing of what anybody said: they bring in, let in, take out, count."""


def test_every_command_that_names_a_learner_is_known() -> None:
    folder = Path(commands.__file__).parent
    named = set()
    for path in folder.glob("[!_]*.py"):
        parser = load_command_class("osii", path.stem).create_parser("manage.py", path.stem)
        if any(action.dest == "learner" for action in parser._actions):
            named.add(path.stem)
    assert named == set(SHOWING) | BRINGING


@pytest.mark.django_db
@pytest.mark.parametrize("command", SHOWING)
def test_no_command_shows_anything_of_another_learner(command: str, tmp_path: Path) -> None:
    ada, bo = (Learner.objects.create(name=name) for name in ("Ada", "Bo"))
    add_propositions(ada, [f"The {SECRET} boat is Ada's secret."])
    add_propositions(bo, ["Boats swim."])
    chunked.document("ada.md", f"A {SECRET} boat.", learner="Ada")
    shown = {}
    for name in ("Ada", "Bo"):
        out = io.StringIO()
        call_command(command, *SHOWING[command](name, tmp_path), stdout=out)
        shown[name] = out.getvalue()
        for made in tmp_path.glob(f"{name}.zip"):
            with zipfile.ZipFile(made) as archive:
                shown[name] += "".join(archive.read(member).decode() for member in archive.namelist())
    assert f"{SECRET} boat" in shown["Ada"]  # the words are there to be found
    assert f"{SECRET} boat" not in shown["Bo"]
    assert "Ada" not in shown["Bo"]


# --- Tables ---

# Tables with texts that do not go with their learner or document by themselves: how erase_learner treats each.
TREATED = {
    "admin.LogEntry": "what it says of erased rows is covered",
    "extraction.Removal": "an erasure's own removals name nothing",
    "osii.ChatImport": "erased, or what it says of files is",
    "osii.ProcessingRun": "erased where it names the learner",
    "osii.Erasure": "names nobody",
    "osii.StaffAction": "ids of rows alone",
}
OF_NOBODY = {
    *("auth.Permission", "auth.Group", "auth.User", "contenttypes.ContentType", "sessions.Session"),
    *("coverage.MessageCoverage", "graphctx.EmbeddingSpace", "extraction.LanguageModel", "extraction.ExtractorRule"),
    *("osii.Making", "osii.OutputSetting", "osii.Collection"),
}
"""Tables of staff and of the installation."""


def goes_along(model: type[models.Model], seen: tuple = ()) -> bool:
    """Whether rows go when their learner or document does."""
    if model in (Learner, Document):
        return True
    owners = [
        field.related_model
        for field in model._meta.get_fields()
        if isinstance(field, models.ForeignKey) and field.remote_field.on_delete is models.CASCADE
    ]
    return any(goes_along(owner, (*seen, model)) for owner in owners if owner not in (*seen, model))


def test_erasure_knows_every_table_that_holds_a_text() -> None:
    texts = (models.CharField, models.TextField, models.JSONField)
    found = {
        model._meta.label
        for model in apps.get_models()
        if not goes_along(model)
        and any(isinstance(field, texts) and not field.choices for field in model._meta.concrete_fields)
    }
    assert found == set(TREATED) | OF_NOBODY
