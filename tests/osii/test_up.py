"""The whole installation with real processes: it comes up, heals, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from osii.settings import BASE_DIR
from tests.osii.test_embedded import clean_up, is_up_again, main_processes, server_processes

pytestmark = pytest.mark.slow

UP = [sys.executable, str(BASE_DIR / "manage.py"), "up"]


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory(prefix="osii up ", dir="/tmp") as path:
        Path(path).chmod(0o755)
        home = Path(path) / "a home"
        yield home
        clean_up(home)


@pytest.fixture
def environment(home):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return kept | {"OSII_HOME": str(home), "OSII_PORT": str(port)}


def status(environment) -> int:
    """The HTTP status of the login page of the admin; 0 while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{environment['OSII_PORT']}/admin/login/", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for_page(environment, seconds=180):
    deadline = time.monotonic() + seconds
    while status(environment) != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_up_heals_and_stops_cleanly(home, environment, tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as out:
        up = subprocess.Popen(UP, env=environment, stdout=out, stderr=subprocess.STDOUT)
    family = []
    try:
        wait_for_page(environment)
        second = subprocess.run(UP, check=False, env=environment, capture_output=True, text=True)
        assert (second.returncode, "already running" in second.stderr) == (1, True)

        for process in main_processes(home):
            process.kill()
        is_up_again(home)
        wait_for_page(environment)

        family = psutil.Process(up.pid).children(recursive=True)
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0, log.read_text()
    finally:
        up.kill()
        _, left = psutil.wait_procs(family, timeout=5)
        for process in left:
            process.kill()
    assert left == []
    assert server_processes(home) == []
    assert 'First staff user: "admin", password ' in log.read_text()
    assert "Traceback" not in log.read_text()


def test_killing_up_ends_the_rest(home, environment, tmp_path):
    with (tmp_path / "log").open("wb") as out:
        up = subprocess.Popen(
            UP, env=environment | {"OSII_ADMIN_PASSWORD": "chosen-by-me"}, stdout=out, stderr=subprocess.STDOUT
        )
    wait_for_page(environment)
    family = psutil.Process(up.pid).children(recursive=True)
    up.kill()
    up.wait()
    _, left = psutil.wait_procs(family, timeout=60)
    for process in left:
        process.kill()
    assert left == []
    assert "chosen-by-me" not in (tmp_path / "log").read_text()


def test_a_taken_port_is_named_before_anything_starts(home, environment):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(environment["OSII_PORT"])))
        taken.listen()
        done = subprocess.run(UP, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"port {environment['OSII_PORT']}" in done.stderr
    assert not (home / "postgres").exists()
