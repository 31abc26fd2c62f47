"""A package under a licence that nobody looked at fails; an advisory is told with what mends it; who cannot ask is told so."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.packages import __main__, advisories, licences
from tests.packages.locked import packages

TOLD = {
    "id": "PYSEC-2026-1",
    "aliases": ["CVE-2026-0001"],
    "summary": "Reads what it must not",
    "affected": [
        {
            "package": {"name": "django", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "5.2"}, {"fixed": "5.2.99"}]}],
        },
        {"package": {"name": "other"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "1"}]}]},
    ],
}


@pytest.fixture
def database() -> Iterator[Callable[[Any], str]]:
    """A database of advisories on this machine that answers every batch with what it is given."""
    answers: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = [query["package"]["name"] for query in body["queries"]]
            vulns = {"Django": {"vulns": [{"id": TOLD["id"]}]}} if answers["told"] else {}
            self._answer({"results": [vulns.get(name, {}) for name in names]} if answers["told"] != "odd" else {})

        def do_GET(self) -> None:
            self._answer(answers["told"] if self.path == f"/v1/vulns/{TOLD['id']}" else {})

        def _answer(self, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def start(told: Any) -> str:
        answers["told"] = told
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    server.shutdown()
    server.server_close()


def test_every_locked_package_may_be_used() -> None:
    assert licences.problems(packages()) == []


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("MIT", True),
        ("Apache-2.0 WITH LLVM-exception AND MIT", True),
        ("GPL-2.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("", False),
    ],
)
def test_each_part_of_one_alternative_must_be_permissive(expression: str, may: bool) -> None:
    assert licences.permissive(expression) is may


def test_a_licence_that_changed_and_one_that_is_new_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(licences, "EXCEPTIONS", {"certifi": ("GPL-3.0-only", "once"), "gone": ("MPL-2.0", "once")})
    assert licences.problems(["Django", "certifi", "tqdm", "nowhere-to-be-found"]) == [
        "certifi is under 'MPL-2.0', and its exception is about 'GPL-3.0-only': look at it again",
        "tqdm is under MPL-2.0 AND MIT: replace it, or give the reason",
        "nowhere-to-be-found is locked and not installed: run make again",
        "gone is no package of ours: its exception can go",
    ]


def test_an_advisory_is_told_with_the_version_that_mends_it(
    database: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = database(TOLD)
    (found,) = advisories.known({"numpy": "1", "Django": "5.2.1"}, base)
    assert str(found) == "Django 5.2.1: PYSEC-2026-1 (Reads what it must not); fixed in 5.2.99"
    assert __main__.main([], base) == 1
    assert "error: Django" in capsys.readouterr().err
    monkeypatch.setitem(advisories.ACCEPTED, "CVE-2026-0001", "we never call it")
    assert advisories.known({"Django": "5.2.1"}, base) == []
    assert __main__.main(["--must-ask"], base) == 0


def test_one_that_was_withdrawn_is_none_and_one_without_a_remedy_says_so(database: Any) -> None:
    assert advisories.known({"Django": "5.2.1"}, database(TOLD | {"withdrawn": "2026-01-01T00:00:00Z"})) == []
    (found,) = advisories.known({"Django": "5.2.1"}, database({"id": TOLD["id"]}))
    assert str(found).endswith("(no summary); no version mends it yet")


def test_who_cannot_ask_is_told_and_goes_on(database: Any, capsys: pytest.CaptureFixture[str]) -> None:
    nobody = "http://127.0.0.1:9"
    assert __main__.main([], nobody) == 0
    assert "cannot be asked ([Errno 111] Connection refused)" in capsys.readouterr().err
    assert __main__.main(["--must-ask"], nobody) == 1
    with pytest.raises(advisories.CannotAsk, match="something else"):
        advisories.known({"Django": "5.2.1"}, database("odd"))
