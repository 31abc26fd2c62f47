"""The API describes itself, from no other host and without a script inside the page."""

import json
import logging.config
import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client

from osii.api.problems import MEDIA_TYPE

pytestmark = pytest.mark.django_db


class Page(HTMLParser):
    """What a page loads, and what a strict content security policy would refuse in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loads += [str(given[name]) for name in ("src", "href") if name in given]
        data = tag == "script" and given.get("type") == "application/json"
        if tag == "style" or (tag == "script" and "src" not in given and not data):
            self.inline.append(tag)
        self.inline += [name for name in given if name == "style" or name.startswith("on")]


def schema() -> dict[str, Any]:
    return json.loads(Client().get("/api/openapi.json").content)


def test_the_page_loads_local_files_only() -> None:
    answer = Client().get("/api/docs")
    page = Page(answer.content.decode())
    assert len(page.loads) >= 4
    for address in page.loads:
        parts = urlsplit(address)
        assert (parts.scheme, parts.netloc) == ("", "")
        assert finders.find(parts.path.removeprefix("/static/"))
    assert page.inline == []
    assert "'unsafe" not in answer["Content-Security-Policy"]
    settings = json.loads(re.search(r'id="swagger-settings">(.*?)</script>', answer.content.decode(), re.S)[1])
    assert settings["url"] == "/api/openapi.json"
    assert settings["validatorUrl"] is None  # the default asks another host


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/docs/"])
def test_its_page_is_found_by_its_other_addresses(path: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/api/docs")


def test_clients_mistakes_leave_no_traceback_and_no_warning(capfd: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(settings.LOGGING)
    assert Client().get("/api/chats").status_code in {401, 404, 405}
    assert Client().get("/api/nothing").status_code == 404
    assert capfd.readouterr().err == ""
    assert Client(headers={"Host": "elsewhere.example"}).get("/login/").status_code == 400
    (line,) = capfd.readouterr().err.splitlines()
    assert "elsewhere.example" in line


def test_every_route_says_what_it_needs_and_how_it_fails() -> None:
    for path, operations in schema()["paths"].items():
        for method, operation in operations.items():
            name = f"{method} {path}"
            assert operation["security"] == [{"Bearer": []}], name
            assert operation["summary"], name
            assert operation["description"], name
            errors = {status: answer for status, answer in operation["responses"].items() if int(status) >= 400}
            assert {"401", "422"} <= errors.keys(), name
            for answer in errors.values():
                assert list(answer["content"]) == [MEDIA_TYPE], name
            fine = operation["responses"].keys() - errors.keys()
            for status in fine:
                ((kind, content),) = operation["responses"][status]["content"].items()
                assert kind in {"application/json", "*/*"}, name  # a file comes with its own type
                assert "schema" in content, name


def test_references_inside_the_description_resolve() -> None:
    described = schema()
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(described)):
        found = described
        for step in reference.split("/"):
            found = found[step]


def test_the_body_of_messages_is_described() -> None:
    operation = schema()["paths"]["/api/chats/{chat_id}/messages"]["put"]
    several, on_finish = operation["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert several["items"]["required"] == ["id", "role", "parts"]
    assert set(on_finish["properties"]) == {"messages", "responseMessage", "message"}
