"""PostgreSQL itself is stopped or killed in the middle of a run, under `manage.py up` with all its real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from coverage import invariants as coverage_invariants
from coverage.models import Chat, CoverageEntry
from extraction import invariants
from extraction.models import Batch, Run
from extraction.services import request_run
from graphctx.models import Instance, Proposition
from osii.embedded import processes
from osii.embedded.paths import DATABASE, Layout
from osii.embedded.placement import place
from osii.embedded.postgres import Postgres
from tests import factories
from tests.factories import message
from tests.osii.test_embedded import clean_up

from .conftest import FACTS, PADDING, states, wait_until
from .held import EXPLORING, MERGING, STAGED

# Servers and workers start, stop and start again.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def begin(learner: str) -> None:
    """In a child process: a chat of four batches of this learner, and a run for it."""
    texts = [message(f"m{i}", fact + " " + PADDING * 95, "assistant") for i, fact in enumerate(FACTS)]
    request_run(factories.chat(*texts, learner=learner).pk, Run.Mode.REST, "held")


def report(learner: str) -> None:
    """In a child process: what became of it, as JSON."""
    chat = Chat.objects.get(learner__name=learner)
    seen = {
        "status": Run.objects.get(chat=chat).status,
        "states": states(chat),
        "lines": CoverageEntry.objects.filter(chat=chat).count(),
        "facts": sorted(Proposition.objects.filter(learner=chat.learner).values_list("text", flat=True)),
        "instances": Instance.objects.filter(chat=chat).count(),
        "batches": Batch.objects.filter(chat=chat, status=Batch.Status.SUCCEEDED).count(),
        "violations": [*coverage_invariants.check(), *invariants.check()],
    }
    print(json.dumps(seen))  # noqa: T201 - read by the test


ACTIVE = "SELECT FROM extraction_run WHERE status IN ('queued', 'running')"


class Installation:
    """A home of its own with `manage.py up` in it, whose workers can be held."""

    def __init__(self, home: Path, directory: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.home, self.directory = home, directory
        kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
        self.environment = kept | {
            "OSII_HOME": str(home),
            "OSII_PORT": str(self.port),
            "OSII_WORKERS": "1",
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "FAULT_DIR": str(directory),
            "EXTRACTION_CHUNK_TOKENS": "1000",
            "EXTRACTION_LEASE_SECONDS": "5",
        }
        self.postgres = Postgres(Layout.of(home))
        with self.log.open("wb") as out:
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "up"]
            self.process = subprocess.Popen(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT)

    @property
    def log(self) -> Path:
        return self.directory / "up.log"

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/admin/login/", timeout=10) as answer:
                return answer.status == 200
        except (urllib.error.HTTPError, OSError):
            return False

    def call(self, function: str, learner: str) -> str:
        code = (
            f"import django; django.setup(); from tests.faults.test_restarts import {function}; {function}('{learner}')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=self.environment, cwd=settings.BASE_DIR, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def server(self) -> int:
        """The process id of the PostgreSQL server; 0 while there is none."""
        return processes.first_number(place(Layout.of(self.home)).data / "postmaster.pid")

    def ended(self) -> bool:
        try:
            with self.postgres.connect(DATABASE) as connection:
                return connection.execute(ACTIVE).fetchone() is None
        except psycopg.OperationalError:
            return False


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="osii restart ", dir="/tmp") as path:
        Path(path).chmod(0o755)
        made = Installation(Path(path) / "home", tmp_path_factory.mktemp("restarts"))
        try:
            wait_until(made.answers, "coming up", 240)
            yield made
        finally:
            made.process.send_signal(signal.SIGINT)
            try:
                made.process.wait(60)
            finally:
                made.process.kill()
                clean_up(made.home)


@pytest.mark.parametrize(
    ("stage", "signal_sent"),
    [(EXPLORING, signal.SIGINT), (STAGED, signal.SIGKILL), (MERGING, signal.SIGINT), (MERGING, signal.SIGKILL)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_restart_of_postgresql_in_a_run_loses_nothing_and_doubles_nothing(
    stage: str, signal_sent: signal.Signals, installation: Installation
) -> None:
    """SIGINT is PostgreSQL's fast shutdown: every transaction rolls back. After SIGKILL it recovers from its log."""
    learner = f"{stage} {signal_sent.name}"
    (installation.directory / "held").unlink(missing_ok=True)
    (installation.directory / "hold").write_text(f"{stage} 2")
    installation.call("begin", learner)
    wait_until((installation.directory / "held").exists, "reaching the stage")
    before = installation.server()
    os.kill(before, signal_sent)
    wait_until(lambda: installation.server() not in (0, before) and installation.postgres.up(), "another server")
    (installation.directory / "hold").unlink()
    wait_until(installation.ended, "the run ending", 240)

    assert json.loads(installation.call("report", learner)) == {
        "status": Run.Status.SUCCEEDED,
        "states": ["covered"] * 4,
        "lines": 4,
        "facts": sorted(FACTS),
        "instances": 4,
        "batches": 4,
        "violations": [],
    }
