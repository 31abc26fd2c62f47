"""Real worker processes that can be held at a stage, and what must be true after whatever happened to them."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from coverage.models import Chat, CoverageEntry
from extraction import invariants, workers
from extraction.models import Run
from extraction.reconcile import reconcile_runs
from extraction.selectors import chat_coverage
from graphctx.models import Instance, Proposition
from tests import factories
from tests.factories import message

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


@dataclass
class Faults:
    """Starts worker processes of this test and holds them at a stage."""

    directory: Path
    manage: Callable[..., list[str]]
    environment: dict[str, str]
    started: list[subprocess.Popen] = field(default_factory=list)

    def worker(self, queue: str = "chats") -> subprocess.Popen:
        log = (self.directory / f"worker-{len(self.started)}.log").open("w")
        process = subprocess.Popen(
            self.manage("work", queue), env=self.environment, stdout=log, stderr=log, start_new_session=True
        )
        self.started.append(process)
        return process

    def hold(self, stage: str, position: int = 0) -> None:
        (self.directory / "hold").write_text(f"{stage} {position}")

    def reached(self) -> None:
        wait_until((self.directory / "held").exists, "reaching the stage")

    def release(self) -> None:
        (self.directory / "hold").unlink()

    def kill(self, process: subprocess.Popen) -> None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def finish(self, run: Run) -> Run:
        """Let the lease expire, reconcile as the reconciler does, and wait for the run to end."""

        def ended() -> bool:
            Run.objects.filter(status=Run.Status.QUEUED).update(queued_at=timezone.now() - timedelta(minutes=1))
            reconcile_runs()
            run.refresh_from_db()
            return not run.active

        wait_until(ended, "the run ending")
        return run


@pytest.fixture
def faults(
    manage: Callable[..., list[str]],
    child_environment: dict[str, str],
    rq_connection: object,
    tmp_path: Path,
    settings: object,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Faults]:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    monkeypatch.setitem(workers._REGISTRY, "held", "tests.faults.held:HeldWorker")
    environment = child_environment | {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "FAULT_DIR": str(tmp_path),
        "EXTRACTION_CHUNK_TOKENS": "1000",
        "EXTRACTION_LEASE_SECONDS": "5",
    }
    made = Faults(tmp_path, manage, environment)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def four_batches(faults: Faults) -> Chat:
    """A chat of four messages, each most of a chunk, so four batches."""
    return factories.chat(*[message(f"m{i}", fact + " " + PADDING * 95, "assistant") for i, fact in enumerate(FACTS)])


def states(chat: Chat) -> list[str]:
    return [row["state"] for row in chat_coverage(chat.pk)["messages"]]


def assert_read_exactly_once(chat: Chat) -> None:
    """Every message covered once, every fact merged once, nothing of a dead attempt in the graph."""
    assert states(chat) == ["covered"] * 4
    assert CoverageEntry.objects.filter(chat=chat).count() == 4
    assert sorted(Proposition.objects.values_list("text", flat=True)) == sorted(FACTS)
    assert Instance.objects.count() == 4
    assert list(invariants.check()) == []
