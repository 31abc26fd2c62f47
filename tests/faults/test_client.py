"""The load's client tells an answer from none, and does not take a connection that has rested for a failure."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from . import client
from .client import Client, Meter


class ClosesWhileItRests(BaseHTTPRequestHandler):
    """Answers one request on each connection, and closes it without having said so."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(500 if "broken" in self.path else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ClosesWhileItRests)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_connection_that_rested_is_opened_anew(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Client(address, "token", Meter())
    assert api.call("GET", "/").good
    assert api.call("GET", "/").lost, "without a rest the closed connection shows"
    monkeypatch.setattr(client, "IDLE_SECONDS", 0.0)
    assert [api.call("GET", "/").good for _ in range(3)] == [True] * 3


def test_what_broke_and_what_did_not_answer_is_lost(address: str) -> None:
    meter = Meter()
    assert Client(address, "token", meter).call("GET", "/broken", kind="x").lost
    assert Client("http://127.0.0.1:1", "token", meter).call("GET", "/", kind="x").lost
    assert (meter.count(), meter.count(least=200, most=299)) == (2, 0)
    (told,) = meter.silences
    assert told.startswith("x after ")
    assert "s: ConnectionRefusedError: " in told
