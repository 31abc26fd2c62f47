"""kill -9 of a worker process in batch 2 of 4, with real servers and processes."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coverage.models import Chat, CoverageEntry
from extraction import invariants, workers
from extraction.models import Batch, Candidate, Run
from extraction.selectors import chat_coverage
from extraction.services import request_run
from graphctx.models import Instance, Proposition
from tests import factories
from tests.factories import message

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

FACTS = (
    "Copper melts at about 1,085 degrees Celsius.",
    "Lead melts at about 327 degrees Celsius.",
    "Tin melts at about 232 degrees Celsius.",
    "Zinc melts at about 420 degrees Celsius.",
)
PADDING = "Could you tell me more about that? "


def wait_until(happened: Callable[[], bool], what: str, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _held_worker_is_known_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child processes know it from tests.faults.apps; this process only names it."""
    monkeypatch.setitem(workers._REGISTRY, "held", "tests.faults.held:HeldWorker")


@pytest.fixture
def start(manage: Callable[..., list[str]], child_environment: dict[str, str], tmp_path: Path) -> Iterator[Callable]:
    """Starts management commands as processes of their own; whatever still runs at the end is killed."""
    started: list[subprocess.Popen] = []
    environment = child_environment | {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "FAULT_DIR": str(tmp_path),
        "EXTRACTION_CHUNK_TOKENS": "1000",
        "EXTRACTION_LEASE_SECONDS": "5",
    }

    def run(*arguments: str) -> subprocess.Popen:
        log = (tmp_path / f"{arguments[0]}-{len(started)}.log").open("w")
        process = subprocess.Popen(manage(*arguments), env=environment, stdout=log, stderr=log, start_new_session=True)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def four_batch_chat() -> Chat:
    """Four messages of most of a chunk each, so four batches."""
    return factories.chat(*[message(f"m{i}", fact + " " + PADDING * 95, "assistant") for i, fact in enumerate(FACTS)])


def test_a_worker_killed_in_batch_2_of_4_doubles_nothing_and_loses_nothing(
    start: Callable, rq_connection: object, tmp_path: Path, settings: object
) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    chat = four_batch_chat()
    (tmp_path / "hold").write_text("2")
    doomed = start("work", "chats")
    run = request_run(chat.pk, Run.Mode.REST, "held")
    wait_until((tmp_path / "held").exists, "the worker reaching batch 2")
    assert Batch.objects.filter(status=Batch.Status.SUCCEEDED).count() == 1

    os.kill(doomed.pid, signal.SIGKILL)
    doomed.wait()
    (tmp_path / "hold").unlink()
    states = [row["state"] for row in chat_coverage(chat.pk)["messages"]]
    assert states == ["covered", "in_flight", "uncovered", "uncovered"]

    start("reconcile", "--every", "1")
    start("work", "chats")
    wait_until(lambda: Run.objects.get(pk=run.pk).status not in Run.ACTIVE, "the run ending")

    run.refresh_from_db()
    assert (run.status, run.attempt, run.recoveries) == (Run.Status.SUCCEEDED, 2, 1)
    assert [row["state"] for row in chat_coverage(chat.pk)["messages"]] == ["covered"] * 4
    assert CoverageEntry.objects.count() == 4
    assert Batch.objects.filter(status=Batch.Status.SUCCEEDED).count() == 4
    assert Candidate.objects.filter(claim__startswith="Staged by an attempt").count() == 1
    assert sorted(Proposition.objects.values_list("text", flat=True)) == sorted(FACTS)
    assert Instance.objects.count() == 4
    assert list(invariants.check()) == []
