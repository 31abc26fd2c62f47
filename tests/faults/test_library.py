"""What happens to a processing run whose worker is killed, frozen or told to stop while it has item 2 of 3 in hand."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from extraction.documents import services
from extraction.models import Document, ExtractionVersion
from osii.library import invariants, items, run_invariants, run_reconcile, runs
from osii.library.requests import Request
from osii.models import Output, ProcessingItem, ProcessingRun, ProcessingStep

from .conftest import wait_until
from .held_library import BEGUN, CLAIMED, ENDED, MADE, STAGES, STEP_DONE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

TEXT = "Light reactions split water, and the oxygen of the air comes from that water. Copper melts at 1,085 degrees."
STEPS = {"run_extraction": True, "enricher_name": "statistics", "synthesizer_name": "extractive"}
DONE_BEFORE = {CLAIMED: 3, BEGUN: 3, MADE: 3, STEP_DONE: 4, ENDED: 6}
"""Steps that are recorded as done when the stage is first reached for item 2."""


class Bench:
    """Worker processes of the library's queue over a store of this test."""

    def __init__(self, directory: Path, manage: Callable[..., list[str]], environment: dict[str, str]) -> None:
        self.directory, self.manage, self.environment = directory, manage, environment
        self.started: list[subprocess.Popen] = []

    def worker(self) -> subprocess.Popen:
        log = (self.directory / f"worker-{len(self.started)}.log").open("w")
        process = subprocess.Popen(
            self.manage("work", "library"), env=self.environment, stdout=log, stderr=log, start_new_session=True
        )
        self.started.append(process)
        return process

    def hold(self, stage: str) -> None:
        (self.directory / "hold").write_text(f"{stage} 2")

    def reached(self) -> None:
        wait_until((self.directory / "held").exists, "reaching the stage")

    def release(self) -> None:
        (self.directory / "hold").unlink()

    def finish(self, run: ProcessingRun) -> ProcessingRun:
        """Reconcile as the reconciler does, until the run has ended."""

        def ended() -> bool:
            run_reconcile.reconcile_processing()
            run.refresh_from_db()
            return not run.active

        wait_until(ended, "the run ending")
        return run


@pytest.fixture
def bench(manage, child_environment, rq_connection, settings, tmp_path: Path) -> Iterator[Bench]:
    settings.OSII_HOME = tmp_path / "home"
    environment = child_environment | {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
        "FAULT_DIR": str(tmp_path),
        "OSII_HOME": str(settings.OSII_HOME),
        "EXTRACTION_LEASE_SECONDS": "5",
    }
    made = Bench(tmp_path, manage, environment)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def run(bench: Bench) -> Callable[[], ProcessingRun]:
    """Starts a run over three documents that have nothing yet."""
    for number in range(3):
        path = bench.directory / f"{number}.md"
        path.write_text(f"{TEXT} Number {number}.")
        services.add_file(path)
    return lambda: runs.create(Request.of({"scope": {"all": True}, **STEPS}), actor="tests")[0]


def done_steps() -> set[tuple[int, object]]:
    return set(ProcessingStep.objects.filter(status="succeeded").values_list("pk", "finished_at"))


def assert_done_exactly_once(run: ProcessingRun) -> None:
    """Every step of every document done, nothing made twice."""
    assert (run.status, run.error) == ("succeeded", "")
    assert set(run.items.values_list("status", flat=True)) == {"succeeded"}
    assert ProcessingStep.objects.count() == 9
    assert set(ProcessingStep.objects.values_list("status", flat=True)) <= {"succeeded", "current"}
    assert ExtractionVersion.objects.count() == Document.objects.filter(primary__isnull=False).count() == 3
    assert Output.objects.count() == 6
    assert list(run_invariants.check()) == list(invariants.check()) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_worker_loses_at_most_its_step_and_doubles_nothing(stage: str, bench: Bench, run) -> None:
    bench.hold(stage)
    doomed = bench.worker()
    started = run()
    bench.reached()
    before = done_steps()
    assert len(before) == DONE_BEFORE[stage]
    os.kill(doomed.pid, signal.SIGKILL)
    doomed.wait()
    bench.release()
    bench.worker()
    bench.finish(started)
    assert_done_exactly_once(started)
    assert before <= done_steps(), "what was done is not done again"
    item = started.items.get(position=2)
    assert (item.attempt, item.recoveries) == ((1, 0) if stage == ENDED else (2, 1))


def test_a_frozen_worker_that_wakes_after_its_lease_writes_nothing(bench: Bench, run) -> None:
    bench.hold(MADE)
    zombie = bench.worker()
    started = run()
    bench.reached()
    os.kill(zombie.pid, signal.SIGSTOP)
    bench.release()
    bench.worker()
    bench.finish(started)
    assert_done_exactly_once(started)
    before = (
        list(ProcessingItem.objects.order_by("pk").values_list()),
        list(ProcessingStep.objects.order_by("pk").values_list()),
    )
    os.kill(zombie.pid, signal.SIGCONT)
    zombie.send_signal(signal.SIGTERM)
    wait_until(lambda: zombie.poll() is not None, "the woken worker ending")
    after = (
        list(ProcessingItem.objects.order_by("pk").values_list()),
        list(ProcessingStep.objects.order_by("pk").values_list()),
    )
    assert before == after
    assert_done_exactly_once(started)


def test_a_worker_that_is_told_to_stop_hands_its_item_back(bench: Bench, run, rq_connection) -> None:
    bench.hold(STEP_DONE)
    worker = bench.worker()
    started = run()
    bench.reached()
    worker.send_signal(signal.SIGTERM)
    bench.release()
    wait_until(lambda: worker.poll() is not None, "the worker ending")
    item = started.items.get(position=2)
    assert (item.status, item.recoveries) == ("queued", 0)
    rq_connection.flushdb()  # and Redis loses everything meanwhile
    bench.worker()
    bench.finish(started)
    assert_done_exactly_once(started)


def test_of_two_that_claim_one_gets_the_item_and_without_the_condition_both_do(bench: Bench, run, monkeypatch) -> None:
    """The control shows that the test would notice: without the condition on the status both do the item."""
    started = run()
    item = started.items.first()
    assert [claimed is not None for claimed in _claim_at_once(item.pk)].count(True) == 1
    ProcessingItem.objects.filter(pk=item.pk).update(
        status="queued", attempt_token=None, lease_expires_at=None, started_at=timezone.now() - timedelta(minutes=1)
    )
    monkeypatch.setattr(items, "claim", _unconditional)
    assert [claimed is not None for claimed in _claim_at_once(item.pk)].count(True) == 2


_both_have_looked = Barrier(2)


def _unconditional(item_id: int) -> ProcessingItem | None:
    """A claim as one would write it first: look, then write."""
    if not ProcessingItem.objects.filter(pk=item_id, status="queued").exists():
        return None
    _both_have_looked.wait(10)
    ProcessingItem.objects.filter(pk=item_id).update(
        status="running", attempt_token="00000000-0000-0000-0000-000000000001", lease_expires_at=timezone.now()
    )
    return ProcessingItem.objects.get(pk=item_id)


def _claim_at_once(item_id: int) -> list[ProcessingItem | None]:
    barrier = Barrier(2)

    def one(_: int) -> ProcessingItem | None:
        try:
            barrier.wait(10)
            return items.claim(item_id)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, range(2)))
