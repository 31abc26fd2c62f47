"""Imports by real worker processes: one does its job, one is killed in the middle, one is told to stop."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from coverage import invariants as coverage_invariants
from coverage.models import Chat, Message
from osii.imports import uploads
from osii.imports.invariants import check
from osii.models import ChatImport
from tests.osii.test_imports import chats, upload

pytestmark = pytest.mark.slow
MANY = 300


@pytest.fixture
def work(
    manage: Callable[..., list[str]],
    child_environment: dict[str, str],
    rq_connection: object,
    settings: object,
    tmp_path: Path,
) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts a worker process of the library queue that shares this test's uploads."""
    settings.OSII_HOME = tmp_path
    environment = child_environment | {"OSII_HOME": str(tmp_path), "EXTRACTION_LEASE_SECONDS": "5"}
    started: list[subprocess.Popen] = []

    def start(*options: str) -> subprocess.Popen:
        process = subprocess.Popen(manage("work", "library", *options), env=environment, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(happened: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)


def many() -> ChatImport:
    return upload(("many.json", json.dumps(chats(MANY)).encode()))


def in_the_middle(row: ChatImport) -> bool:
    """Whether its worker has imported some chats, and has not come to the end."""
    there = Chat.objects.count()
    row.refresh_from_db()
    assert row.active
    return there > 5


def assert_all_there(row: ChatImport) -> None:
    row.refresh_from_db()
    assert (row.status, row.error) == (ChatImport.Status.SUCCEEDED, "")
    assert Chat.objects.count() == Message.objects.count() == MANY
    assert list(row.conversations.values_list("number", flat=True)) == list(range(1, MANY + 1))
    assert row.counts["conversations"] == MANY
    assert row.bytes_done == row.bytes_total > 0
    assert not uploads.folder_of(row.pk).exists()
    assert list(check()) == []
    assert list(coverage_invariants.check()) == []


def test_a_worker_process_imports_what_was_uploaded(work):
    row = upload()
    assert work("--burst").wait(120) == 0
    row.refresh_from_db()
    assert row.status == ChatImport.Status.SUCCEEDED
    assert row.counts["states"] == {"new": 3}
    assert Chat.objects.count() == 3
    assert not uploads.folder_of(row.pk).exists()


def test_a_killed_workers_import_is_recovered_and_complete(work):
    row = many()
    process = work()
    wait_until(lambda: in_the_middle(row), "the import being in the middle")
    process.kill()
    process.wait()
    there = Chat.objects.count()
    assert 0 < there < MANY
    assert work("--burst").wait(120) == 0  # nobody may take it while the lease runs
    row.refresh_from_db()
    assert row.status == ChatImport.Status.RUNNING
    wait_until(lambda: row.lease_expires_at < timezone.now(), "the lease ending")
    call_command("reconcile")
    assert work("--burst").wait(120) == 0
    assert_all_there(row)
    assert (row.attempt, row.recoveries) == (2, 1)
    # What the lost worker had reported stays new; only what it imported in its last second is unchanged.
    assert row.counts["states"]["new"] + row.counts["states"].get("unchanged", 0) == MANY


def test_a_worker_that_is_told_to_stop_hands_over_and_another_goes_on(work, rq_connection):
    row = many()
    process = work()
    wait_until(lambda: in_the_middle(row), "the import being in the middle")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    row.refresh_from_db()
    assert row.status == ChatImport.Status.QUEUED
    rq_connection.flushdb()  # and Redis loses everything meanwhile
    ChatImport.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    call_command("reconcile")
    assert work("--burst").wait(120) == 0
    assert_all_there(row)
    assert (row.attempt, row.recoveries) == (2, 0)
    assert row.counts["states"] == {"new": MANY}
