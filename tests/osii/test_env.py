"""A wrong setting stops with its name, its value and what is allowed; a secret never shows."""

import os
import stat
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from osii import env
from osii.settings import BASE_DIR, database


@pytest.mark.parametrize(("value", "expected"), [("", 7), ("  ", 7), ("1", 1), ("10", 10), (" 5 ", 5)])
def test_integer_in_range(monkeypatch, value, expected):
    monkeypatch.setenv("OSII_X", value)
    assert env.integer("OSII_X", 7, least=1, most=10) == expected


@pytest.mark.parametrize("value", ["0", "11", "-1", "1.5", "1e3", "ten", "²", "٣", "1 0"])
def test_integer_names_what_is_allowed(monkeypatch, value):
    monkeypatch.setenv("OSII_X", value)
    with pytest.raises(ImproperlyConfigured, match=r"OSII_X is '.+', but must be a whole number from 1 to 10"):
        env.integer("OSII_X", 7, least=1, most=10)


@pytest.mark.parametrize(("value", "expected"), [("", True), ("0", False), ("False", False), ("ON", True)])
def test_boolean(monkeypatch, value, expected):
    monkeypatch.setenv("OSII_X", value)
    assert env.boolean("OSII_X", default=True) is expected


def test_boolean_refuses_a_guess(monkeypatch):
    monkeypatch.setenv("OSII_X", "maybe")
    with pytest.raises(ImproperlyConfigured, match="OSII_X is 'maybe'"):
        env.boolean("OSII_X", default=False)


def test_choice_lists_the_choices(monkeypatch):
    monkeypatch.setenv("OSII_X", "gpt")
    with pytest.raises(ImproperlyConfigured, match="one of: rules, llm"):
        env.choice("OSII_X", ("rules", "llm"), "rules")


def test_strings_are_split_at_commas(monkeypatch):
    monkeypatch.setenv("OSII_X", " a.example , b.example,")
    assert env.strings("OSII_X", []) == ["a.example", "b.example"]


def test_url_shows_no_password(monkeypatch):
    monkeypatch.setenv("OSII_X", "mysql://me:hunter2@host/db")
    with pytest.raises(ImproperlyConfigured) as caught:
        env.url("OSII_X", ("postgresql",))
    assert "hunter2" not in str(caught.value)
    assert "postgresql://" in str(caught.value)


@pytest.mark.parametrize("value", ["host:5432", "postgresql:/db", "postgresql://host:port/db", "postgresql://[::1/db"])
def test_url_must_be_one(monkeypatch, value):
    monkeypatch.setenv("OSII_X", value)
    with pytest.raises(ImproperlyConfigured, match="OSII_X"):
        env.url("OSII_X", ("postgresql",))


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("redis://:secret@h/0", "redis://:***@h/0"),
        ("postgresql://u:p%40:x@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@ss@h/d", "postgresql://u:***@h/d"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("unix:///a.sock?password=x&db=1", "unix:///a.sock?password=***&db=1"),
        ("unix:///tmp/a.sock?db=1", "unix:///tmp/a.sock?db=1"),
    ],
)
def test_mask(url, masked):
    assert env.mask(url) == masked


def test_relative_path_starts_at_the_project(monkeypatch):
    monkeypatch.setenv("OSII_X", "data/here")
    assert env.path("OSII_X", BASE_DIR) == BASE_DIR / "data" / "here"


def test_path_that_is_a_file_is_refused(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("OSII_X", str(tmp_path / "file"))
    with pytest.raises(ImproperlyConfigured, match="a directory"):
        env.path("OSII_X", BASE_DIR)


def test_database_url_with_tcp_and_options():
    found = database("postgresql://me:p%40ss@db.example:6543/lib%20rary?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["NAME"]) == ("me", "p@ss", "lib rary")
    assert (found["HOST"], found["PORT"]) == ("db.example", "6543")
    assert found["OPTIONS"]["sslmode"] == "require"


def test_database_url_with_a_socket():
    found = database("postgresql://me@/osii?host=/run/postgresql")
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("/run/postgresql", "", "osii")


def run_check(home, **variables):
    variables = os.environ | {"OSII_HOME": str(home)} | variables
    command = [sys.executable, str(BASE_DIR / "manage.py"), "check"]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=variables)


def test_wrong_setting_is_one_line_without_traceback(tmp_path):
    done = run_check(tmp_path, EXTRACTION_CHUNK_TOKENS="499")
    assert done.returncode == 1
    assert done.stderr == "error: EXTRACTION_CHUNK_TOKENS is '499', but must be a whole number from 500 to 32000\n"


def test_secret_key_is_generated_once_and_private(tmp_path):
    home = tmp_path / "a home"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", "from osii import settings; print(settings.SECRET_KEY)"],
            env=os.environ | {"OSII_HOME": str(home), "SECRET_KEY": ""},
            cwd=BASE_DIR,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    keys = {child.communicate()[0].strip() for child in children}
    assert len(keys) == 1
    assert len(keys.pop()) > 60
    kept = home / "secret_key"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir() if path.is_file()] == ["secret_key"]


def test_a_format_has_one_place_for_the_text(monkeypatch):
    assert env.text_format("OSII_X") == "{text}"
    monkeypatch.setenv("OSII_X", "query: {text}")
    assert env.text_format("OSII_X") == "query: {text}"
    for value in ("query:", "{text} {text}", "{text}" + "x" * 200):
        monkeypatch.setenv("OSII_X", value)
        with pytest.raises(ImproperlyConfigured, match="OSII_X"):
            env.text_format("OSII_X")
