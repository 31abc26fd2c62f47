"""Who may have the server ask an address, and which: nobody but superusers and the environment, and none of the link."""

import ast
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ValidationError

from extraction.admin.language import CONNECTION
from extraction.llm.addresses import check_address, refusal_of
from osii.api.routes import api

# What connects to elsewhere, and why it may.
CONNECTING = {
    "extraction/llm/endpoint.py": "language models: the environment, or a superuser in the admin",
    "extraction/llm/addresses.py": "looks up what the one above is about to ask",
    "graphctx/embedders/endpoint.py": "the embeddings server: the environment alone",
    "osii/management/commands/up.py": "whether its own port is free",
    "osii/serving.py": "how long a client that asked may be silent",
    "osii/workers.py": "its own name",
}
NETWORK = {"socket", "ssl", "http.client", "urllib.request", "urllib3", "httpx", "httpx2", "requests", "aiohttp", "openai",
           "anthropic", "ftplib", "smtplib", "xmlrpc.client", "websockets", "boto3", "paramiko"}  # fmt: skip
WORDS = ("url", "address", "endpoint", "host", "webhook", "callback")


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_only_these_modules_ask_other_servers() -> None:
    """What reads documents, chats and forms asks nobody: an address in them is a text."""
    found = {}
    for folder in ("coverage", "graphctx", "extraction", "osii"):
        for path in (settings.BASE_DIR / folder).rglob("*.py"):
            if names := imported(path) & NETWORK:
                found[path.relative_to(settings.BASE_DIR).as_posix()] = names
    assert set(found) == set(CONNECTING), found


def names_an_address(name: str) -> bool:
    return any(word in name.lower() for word in WORDS)


def test_only_one_column_holds_an_address_and_superusers_set_it() -> None:
    columns = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if names_an_address(field.name)
    }
    # The address that staff came from is written, not asked.
    assert columns == {"extraction.LanguageModel.base_url", "osii.StaffAction.address"}
    assert "base_url" in CONNECTION


def test_no_form_and_no_call_names_an_address() -> None:
    waiting, named = [forms.Form], set()
    while waiting:
        form = waiting.pop()
        waiting += form.__subclasses__()
        if form.__module__.startswith("osii."):
            named |= {name for name in form.base_fields if names_an_address(name)}
    schemas = api.get_openapi_schema()["components"]["schemas"]
    taken = {name: told.get("properties", {}) for name, told in schemas.items() if name.endswith("In")}
    assert len(taken) > 8
    named |= {field for fields in taken.values() for field in fields if names_an_address(field)}
    assert named == set()


LINK = ("169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b::a9fe:a9fe", "::169.254.169.254",
        "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "255.255.255.255", "224.0.0.1", "ff02::1", "::")  # fmt: skip


@pytest.mark.parametrize("address", LINK)
def test_however_it_is_written_the_link_is_refused(address: str) -> None:
    assert refusal_of(address)
    with pytest.raises(ValidationError):
        check_address(f"http://[{address}]/v1" if ":" in address else f"http://{address}/v1")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fd12:3456::1", "93.184.216.34"])
def test_own_and_public_servers_may_be_asked(address: str) -> None:
    assert refusal_of(address) == ""


@pytest.mark.parametrize("spelling", ["0xA9FEA9FE", "2852039166", "0251.0376.0251.0376", "169.254.43518"])
def test_a_number_in_another_spelling_is_the_same_address(spelling: str) -> None:
    with pytest.raises(ValidationError, match="refused"):
        check_address(f"http://{spelling}/v1")


def test_no_client_follows_a_redirection() -> None:
    """Each place that makes a client says so; what happens then, the tests of the two endpoints show."""
    made: dict[str, list[Any]] = {}
    for name in CONNECTING:
        path = settings.BASE_DIR / name
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("AsyncClient", "HttpxClient", ".Client")
            ):
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                made.setdefault(name, []).append(given.get("follow_redirects"))
    assert made == {"extraction/llm/endpoint.py": ["False"], "graphctx/embedders/endpoint.py": ["False"]}
