"""Log lines carry the ids of what they are about, and no secret, in either form."""

import json
import logging
import re

import pytest
from django.conf import settings

from osii import tokens
from osii.ops import logs

TOKEN = "osii_abcd1234_" + "x" * 43
LEAKS = [
    f"Authorization: Bearer {TOKEN}",
    f"the token {TOKEN} was refused",
    "connect to postgresql://me:hunter22@db.example/osii failed",
    "redis://:hunter22@cache:6379/0",
    "{'password': 'hunter22', 'user': 'me'}",
    "POST /login csrfmiddlewaretoken=hunter22&username=me",
    'api_key="hunter22"',
    "x-api-key: hunter22",
    "sk-proj1234567890abcdefgh-hunter22",
    "the key is hunter22-from-the-environment",
]


def line(form: str, message: str, *, error: Exception | None = None) -> str:
    formatter = {"plain": logs.Plain, "json": logs.Json}[form]()
    trace = (type(error), error, error.__traceback__) if error else None
    return formatter.format(logging.LogRecord("osii.test", logging.ERROR, __file__, 1, message, (), trace))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_MODEL_API_KEY", "hunter22-from-the-environment")
    monkeypatch.setattr(logs, "secrets", logs.Secrets())


@pytest.mark.parametrize("form", logs.FORMATS)
@pytest.mark.parametrize("leak", LEAKS)
def test_no_secret_is_written(form: str, leak: str) -> None:
    try:
        raise RuntimeError(leak)
    except RuntimeError as error:
        written = line(form, leak, error=error)
    assert "hunter22" not in written
    assert TOKEN not in written
    assert logs.MASK in written
    assert "RuntimeError" in written


@pytest.mark.parametrize("form", logs.FORMATS)
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028", "\x1b[2J"])
def test_no_path_makes_a_line_of_its_own_or_steers_a_terminal(form: str, end: str) -> None:
    written = line(form, f"GET /api/objects/x{end}2026-11-30 ERROR osii: all documents were removed failed")
    assert len(written.splitlines()) == 1
    assert "\x1b" not in written
    assert "all documents were removed" in written


@pytest.mark.parametrize("form", logs.FORMATS)
def test_the_values_of_a_row_that_the_database_refused_are_not_written(form: str) -> None:
    said = "duplicate key value violates unique constraint\nDETAIL:  Key (name)=(zanzibar\nboat) already exists.\nCONTEXT:  COPY x"
    written = line(form, said, error=RuntimeError(said))
    assert not re.search("zanzibar|boat", written)
    assert written.count("duplicate key value") == 2
    assert "CONTEXT:  COPY x" in written


def test_a_traceback_keeps_its_lines() -> None:
    assert len(line("plain", "broken", error=RuntimeError("x")).splitlines()) > 1


def test_what_is_no_secret_stays() -> None:
    text = "run 0190a000-0000-7000-8000-000000000001 of chat x: 3 batches, 4,000 tokens; see http://127.0.0.1:8000/activity/"
    assert text in line("plain", text)


def test_the_installation_covers_its_own_secret_key() -> None:
    logs.secrets.learn(settings.SECRET_KEY)
    assert settings.SECRET_KEY not in line("plain", f"signed with {settings.SECRET_KEY}")


@pytest.mark.django_db
def test_a_real_token_has_the_form_that_is_covered() -> None:
    _row, token = tokens.issue()
    assert token not in line("json", f"given {token} here")


def test_ids_of_the_context_are_in_each_line_and_end_with_it() -> None:
    with logs.bound(request="r-1"), logs.bound(run="0190", item=None):
        told = json.loads(line("json", "Read."))
        assert line("plain", "Read.").endswith("Read. [request=r-1] [run=0190]")
    assert {name: told[name] for name in ("level", "logger", "message", "request", "run")} == {
        "level": "ERROR", "logger": "osii.test", "message": "Read.", "request": "r-1", "run": "0190",
    }  # fmt: skip
    assert "item" not in told
    assert line("plain", "Read.").endswith("Read.")


def test_every_handler_of_the_installation_covers_secrets() -> None:
    """Nothing is configured that writes past these formatters."""
    for form, path in logs.FORMATS.items():
        told = logs.configuration(form)
        assert told["formatters"] == {"chosen": {"()": path}}
        assert {handler["formatter"] for handler in told["handlers"].values()} == {"chosen"}
    assert set(settings.LOGGING["handlers"]) == {"stderr"}
