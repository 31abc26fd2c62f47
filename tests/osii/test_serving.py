"""A client that falls silent keeps no thread of the web server."""

import logging
import os
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from osii import gunicorn_conf, serving
from osii.settings import BASE_DIR

CONFIGURATION = """
from osii import serving

serving.Worker.silent_seconds = 0.3
worker_class, threads, bind = serving.Worker, 2, "127.0.0.1:{port}"
logconfig_dict = {{
    "version": 1, "filters": {{"brief": {{"()": "osii.serving.Brief"}}}}, "root": {{"handlers": ["out"]}},
    "handlers": {{"out": {{"class": "logging.StreamHandler"}}}},
    "loggers": {{"gunicorn.error": {{"filters": ["brief"], "propagate": True}}}},
}}
"""
APPLICATION = """
def application(environ, start_response):
    environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "conf.py").write_text(CONFIGURATION.format(port=port))
    (tmp_path / "waiting.py").write_text(APPLICATION)
    log = tmp_path / "log"
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--config",
        str(tmp_path / "conf.py"),
        "--pythonpath",
        str(tmp_path),
        "waiting",
    ]
    environment = os.environ | {"PYTHONPATH": str(BASE_DIR)}
    with (
        log.open("wb") as out,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            yield port, log
        finally:
            process.terminate()
            process.wait(20)


def connect(port: int, seconds: float = 20) -> socket.socket:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_silent_clients_keep_no_thread(server: tuple[int, Path]) -> None:
    """As many as there are threads, half of them in the head of a request and half in its body."""
    port, log = server
    silent = [connect(port) for _ in range(4)]
    for number, client in enumerate(silent):
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf" if number % 2 else b"GET / HT")
    time.sleep(0.1)
    with connect(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 OK")
    for client in silent:
        client.close()
    assert "fell silent in the middle" in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_connection_gets_its_limits() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        client, _ = listener.accept()
        with client:
            serving.limit(client, 0.05)
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            with pytest.raises(BlockingIOError):
                client.recv(1)


def test_the_web_server_has_this_worker() -> None:
    assert gunicorn_conf.worker_class == f"{serving.Worker.__module__}.{serving.Worker.__qualname__}"
    assert 30 <= serving.Worker.silent_seconds <= 300
    logger = gunicorn_conf.logconfig_dict["loggers"]["gunicorn.error"]
    assert [gunicorn_conf.logconfig_dict["filters"][name]["()"] for name in logger["filters"]] == ["osii.serving.Brief"]


@pytest.mark.parametrize(("given", "most"), [({}, 5), ({"OSII_HTTPS": "1"}, 130), ({"OSII_PROXIES": "2"}, 130)])
def test_a_proxy_is_the_first_to_close_a_connection_that_rests(
    given: dict[str, str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OSII_HTTPS", "OSII_PROXIES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path(gunicorn_conf.__file__)["keepalive"] == most


def test_other_errors_keep_their_traceback() -> None:
    for error, kept in ((BlockingIOError(), False), (OSError("else"), True)):
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "m", (), (type(error), error, None))
        assert serving.Brief().filter(record)
        assert bool(record.exc_info) is kept
