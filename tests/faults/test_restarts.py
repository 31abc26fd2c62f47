"""PostgreSQL itself is stopped or killed in the middle of a run, under `manage.py up` with all its real processes."""

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from coverage import invariants as coverage_invariants
from coverage.models import Chat, CoverageEntry
from extraction import invariants
from extraction.models import Batch, Run
from extraction.services import request_run
from graphctx.models import Instance, Proposition
from tests import factories
from tests.factories import message
from tests.osii.test_embedded import clean_up

from .conftest import FACTS, PADDING, states, wait_until
from .held import EXPLORING, MERGING, STAGED
from .installation import Installation

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


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """Its workers can be held."""
    with tempfile.TemporaryDirectory(prefix="osii restart ", dir="/tmp") as path:
        Path(path).chmod(0o755)
        made = Installation(
            Path(path), DJANGO_SETTINGS_MODULE="tests.faults.settings", OSII_WORKERS="1", EXTRACTION_CHUNK_TOKENS="1000",
            EXTRACTION_LEASE_SECONDS="5",
        )  # fmt: skip
        try:
            made.start(240)
            yield made
        finally:
            made.stop()
            clean_up(made.home)


def call(installation: Installation, function: str, learner: str) -> str:
    code = f"import django; django.setup(); from tests.faults.test_restarts import {function}; {function}('{learner}')"
    return installation.run("-c", code)


def server(installation: Installation) -> int:
    """The process id of the PostgreSQL server; 0 while there is none."""
    return next((process.pid for process in installation.parts("postgres")), 0)


def ended(installation: Installation) -> bool:
    try:
        return not installation.rows(ACTIVE)
    except psycopg.OperationalError:
        return False


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
    call(installation, "begin", learner)
    wait_until((installation.directory / "held").exists, "reaching the stage")
    before = server(installation)
    os.kill(before, signal_sent)
    wait_until(lambda: server(installation) not in (0, before) and installation.ready(), "another server")
    (installation.directory / "hold").unlink()
    wait_until(lambda: ended(installation), "the run ending", 240)

    assert json.loads(call(installation, "report", learner)) == {
        "status": Run.Status.SUCCEEDED,
        "states": ["covered"] * 4,
        "lines": 4,
        "facts": sorted(FACTS),
        "instances": 4,
        "batches": 4,
        "violations": [],
    }
