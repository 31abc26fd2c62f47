"""Real servers of a benchmark's own: Valkey, a worker, the web server; each ends with its block."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from osii.embedded.paths import Layout
from osii.embedded.valkey import Valkey

from . import scratch

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


@contextmanager
def valkey() -> Iterator[str]:
    """The URL of an empty Valkey: nobody's queue is touched."""
    with tempfile.TemporaryDirectory(prefix="osii-bench-") as home:
        layout = Layout.of(Path(home))
        layout.prepare()
        layout.open_sockets()
        server = Valkey(layout)
        server.start()
        try:
            yield layout.redis_url()
        finally:
            server.stop()
            layout.close_sockets()


@contextmanager
def worker(queue: str, redis_url: str, **settings: str) -> Iterator[None]:
    """A worker process on this queue, over the scratch database."""
    with _process([sys.executable, "manage.py", "work", queue], redis_url, settings):
        yield


@contextmanager
def web(redis_url: str, **settings: str) -> Iterator[int]:
    """The web server as `up` starts it, over the scratch database: its port on 127.0.0.1, where it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--config", "python:osii.gunicorn_conf", "osii.wsgi"]
    with _process(command, redis_url, {"OSII_BIND": f"127.0.0.1:{port}"} | settings) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"http://127.0.0.1:{port}/healthz"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the web server does not start: this benchmark is void")
            time.sleep(0.05)
        yield port


@contextmanager
def _process(command: list[str], redis_url: str, settings: dict[str, str]) -> Iterator[subprocess.Popen]:
    environment = os.environ | {"DATABASE_URL": scratch.url(), "REDIS_URL": redis_url} | settings
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False
