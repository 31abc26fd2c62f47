"""Bodies and queries that were made to break what reads them: on every route of the API, and on every page."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from osii.api.routes import api
from tests.osii import rows
from tests.osii.api import Caller, staff_caller
from tests.osii.security.routes import every_route

pytestmark = pytest.mark.django_db

SECONDS = 5.0  # of the processor
WHOLE = {
    "deep arrays": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep and open": b'[{"messages":' * 50_000,
    "a huge number": b'{"limit": ' + b"9" * 100_000 + b"}",
    "not finite": b'{"limit": NaN, "id": Infinity}',
    "no UTF-8": b'{"title": "\xff\xfe"}',
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "very many keys": ("{" + ",".join(f'"k{n}":1' for n in range(50_000)) + "}").encode(),
    "very many items": b"[" + b"1," * 200_000 + b"1]",
    "nothing": b"",
}


def nested(depth: int, *, text: str = "x") -> Any:
    value: Any = text
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


VALUES = {
    "a large number": 10**4000,
    "a negative number": -(2**63) - 1,
    "a large fraction": 1e308,
    "a NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "a long text": "x" * 200_000,
    "many texts": ["x"] * 5_000,
    "nested as deep as it is read": nested(300),
    "an odd object": {"__class__": "x", "$ref": "#", "constructor": {"prototype": {}}},
    "an id out of range": "0" * 40,
}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, path, operation) of the API's schema."""
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path.removeprefix("/api"), operation


OPERATIONS = list(operations())
WITH_BODY = [(method, path, told) for method, path, told in OPERATIONS if "requestBody" in told]


def fields_of(operation: dict[str, Any]) -> list[str]:
    """The fields of a body, as the schema names them."""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    if "oneOf" in schema:
        return ["messages", "responseMessage"]
    (named,) = re.findall(r"schemas/(\w+)", json.dumps(schema))
    names = list(api.get_openapi_schema()["components"]["schemas"][named]["properties"])
    assert names
    return names


@pytest.fixture
def caller(rq_connection: Any) -> Caller:
    return staff_caller()


@pytest.fixture
def path_of() -> Any:
    chat, document = rows.chat(), rows.document()
    known = {"chat_id": chat.pk, "file_id": document.pk, "extraction_id": document.primary_id}
    absent = "0190a000-0000-7000-8000-000000000001"

    def fill(path: str) -> str:
        for name in ("chat_id", "file_id", "extraction_id", "message_id", "proposition_id", "run_id", "name"):
            path = path.replace(f"{{{name}}}", str(known.get(name, absent)))
        return path

    return fill


def broken(caller: Caller, method: str, path: str, bodies: dict[str, bytes]) -> dict[str, Any]:
    """The bodies that a route fails at, or takes too long for."""
    wrong = {}
    for name, body in bodies.items():
        begun = time.process_time()
        status = caller.send(method, path, raw=body).status
        if status >= 500 or time.process_time() - begun > SECONDS:
            wrong[f"{method} {path} {name}"] = (status, round(time.process_time() - begun, 1))
    return wrong


def test_no_body_breaks_reading_it(caller: Caller, path_of: Any) -> None:
    assert broken(caller, "POST", "/context", WHOLE) == {}
    assert broken(caller, "PUT", path_of("/chats/{chat_id}/messages"), WHOLE) == {}


def test_a_body_that_becomes_many_times_as_large_in_memory_is_refused_before_it_is_read(
    caller: Caller, path_of: Any
) -> None:
    path = path_of("/chats/{chat_id}/messages")
    for unit in (b"[],", b"{},", b'{"a":[]},'):
        opened = unit.count(b"[") + unit.count(b"{")
        answer = caller.send("PUT", path, raw=b"[" + unit * (1_000_000 // opened))  # no JSON: reading it would say so
        assert (answer.status, "1,000,000 lists and objects" in answer.body["detail"]) == (413, True)


def test_no_value_breaks_a_route(caller: Caller, path_of: Any) -> None:
    """Every field of every body at once, and the first field alone, which is the one that is needed where one is."""
    wrong = {}
    for method, path, told in WITH_BODY:
        fields = fields_of(told)
        for name, value in VALUES.items():
            bodies = {name: dict.fromkeys(fields, value), f"{name} as {fields[0]}": {fields[0]: value}}
            wrong |= broken(
                caller, method, path_of(path), {told: json.dumps(one).encode() for told, one in bodies.items()}
            )
    assert wrong == {}


@pytest.mark.parametrize("place", ["text", "input", "output", "type", "toolCallId", "metadata", "id", "role"])
def test_no_part_of_a_message_breaks_storing_it(caller: Caller, path_of: Any, place: str) -> None:
    path = path_of("/chats/{chat_id}/messages")
    wrong = {}
    for name, value in {**VALUES, "deeper than is stored": nested(900), "not a number": float("nan")}.items():
        part = {"type": "tool-look", "toolCallId": "c", "state": "output-available", "input": {}, "output": {}}
        message = {"id": "m9", "role": "user", "parts": [{"type": "text", "text": "x"}, part]}
        target = message if place in {"metadata", "id", "role"} else message["parts"][0 if place == "text" else 1]
        target[place] = value
        status = caller.put(path, [message]).status
        again = caller.get(path_of("/chats/{chat_id}")).status
        if status >= 500 or again != 200:
            wrong[name] = (status, again)
    assert wrong == {}


def test_a_body_that_is_too_large_is_refused_on_every_route(caller: Caller, path_of: Any, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = json.dumps({"title": "x" * 2000}).encode()
    answers = {path: caller.send(method, path_of(path), raw=body).status for method, path, _ in WITH_BODY}
    assert {path: status for path, status in answers.items() if status != 413} == {}


def test_whoever_has_no_token_sends_no_body(path_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.http.HttpRequest.body", property(lambda _: pytest.fail("the body was read")))
    assert {Caller().send(method, path_of(path), raw=b"{}").status for method, path, _ in WITH_BODY} == {401}


QUERY = (
    "9" * 400,
    "-1",
    "1e9",
    "\0",
    "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"),
    "٣",
    "'\"><x>",
    "x" * 5000,
)


def test_no_query_breaks_a_route(caller: Caller, path_of: Any) -> None:
    wrong = {}
    for method, path, told in OPERATIONS:
        if method != "GET":
            continue
        for name in [one["name"] for one in told.get("parameters", ()) if one["in"] == "query"]:
            for value in QUERY:
                status = caller.client.get(
                    f"/api{path_of(path)}?{name}={quote(value)}", headers=caller.headers
                ).status_code
                if status >= 500:
                    wrong[path, name, value[:10]] = status
    assert wrong == {}


# What pages read of their address, beside what their forms name.
NAMES = (
    *(
        "page",
        "q",
        "tab",
        "version",
        "at",
        "output",
        "sort",
        "order",
        "learner",
        "chat",
        "status",
        "seen",
        "ids",
        "next",
    ),
    *(
        "collection",
        "type",
        "folder",
        "names",
        "mode",
        "near",
        "hops",
        "kind",
        "level",
        "state",
        "from",
        "to",
        "options",
    ),
)


def test_no_query_breaks_a_page(rq_connection: Any) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    chat, document = rows.chat(), rows.document()
    claim = rows.proposition()
    rows.instance(claim, chat)
    known = {"chat_id": str(chat.pk), "file_id": document.pk, "proposition_id": str(claim.pk)}
    pages = [route.path for route in every_route(known) if not route.path.startswith(("/api", "/admin"))]
    wrong = {}
    for path in [one for one in pages if client.get(one).status_code in {200, 422}]:
        for shift in range(3):
            values = [QUERY[(number + shift) % len(QUERY)] for number in range(len(NAMES))]
            query = "&".join(f"{name}={quote(value)}" for name, value in zip(NAMES, values, strict=True))
            status = client.get(f"{path}?{query}", headers={"HX-Request": "true"} if shift else {}).status_code
            if status >= 500:
                wrong[path] = (status, query[:200])
    assert wrong == {}
