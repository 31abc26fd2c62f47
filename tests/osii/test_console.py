"""The command base: results on stdout, progress on stderr, JSON that other programs can read."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from osii import console


class Greet(console.Command):
    def arguments(self, parser):
        parser.add_argument("name")

    def run(self, *, name, **options):
        if name == "nobody":
            self.fail("there is nobody")
        with self.progress("Greeting", 2) as advance:
            advance(1)
            advance(1)
        data = {"name": name, "id": UUID(int=1), "at": datetime(2026, 1, 2, 3, tzinfo=UTC), "on": date(2026, 1, 2)}
        self.result(data | {"share": Decimal("0.5"), "path": Path("/a b")}, lambda d: [f"Hello {d['name']}", "Bye"])


def test_text_by_default(capsys):
    call_command(Greet(), "Ğülşah")
    printed = capsys.readouterr()
    assert printed.out == "Hello Ğülşah\nBye\n"
    assert printed.err == "Greeting: 2\nGreeting: 2 done\n"


def test_json_keeps_letters_ids_and_times():
    out = io.StringIO()
    call_command(Greet(stdout=out), "Ğülşah", "--json")
    assert "Ğülşah" in out.getvalue()
    assert json.loads(out.getvalue()) == {
        "name": "Ğülşah",
        "id": "00000000-0000-0000-0000-000000000001",
        "at": "2026-01-02T03:00:00+00:00",
        "on": "2026-01-02",
        "share": 0.5,
        "path": "/a b",
    }


def test_what_others_wrote_does_not_steer_the_terminal(capsys):
    call_command(Greet(), "\x1b]0;title\x07\x9b31m\u202eabc\tyes\nno\r")
    assert capsys.readouterr().out == "Hello \\x1b]0;title\\x07\\x9b31m\\u202eabc\tyes\nno\\r\nBye\n"
    console.note("\x1b[2J")
    assert capsys.readouterr().err == "\\x1b[2J\n"


def test_fail_is_a_command_error():
    with pytest.raises(CommandError, match="there is nobody"):
        call_command(Greet(), "nobody")


def test_what_has_no_json_form_is_an_error():
    with pytest.raises(TypeError, match="object has no JSON form"):
        console.encode(object())
