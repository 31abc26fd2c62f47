"""A worker that freezes inside a transaction keeps its locks: for a bounded time, and without holding up other runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from extraction import reconcile
from extraction.merging import merge
from extraction.models import Batch, Run
from extraction.running import endings, leases, runs
from extraction.services import request_run
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(name: str) -> Run:
    chat = factories.chat(message("a", "I live in Oslo with two cats."), title=name)
    run = leases.claim(request_run(chat.pk, "rest", enqueue=False).pk)
    assert run is not None
    return run


def expire(*runs: Run) -> None:
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def idle_limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        return cursor.fetchone()[0]


def set_idle_limit(length: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [length])


@contextmanager
def frozen_in_its_transaction(run: Run) -> Iterator[None]:
    """Another connection has proved its lease and then says nothing more."""
    locked, over = threading.Event(), threading.Event()

    def freeze() -> None:
        try:
            with transaction.atomic():
                leases.Lease(run).guard()
                locked.set()
                over.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=freeze, daemon=True)
    thread.start()
    assert locked.wait(10)
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_database_ends_a_guarded_transaction_that_falls_silent(settings: object) -> None:
    settings.EXTRACTION_LEASE_SECONDS = 90
    run = claimed("one")
    outside = idle_limit()
    with transaction.atomic():
        leases.Lease(run).guard()
        assert idle_limit() == "90s"
    assert idle_limit() == outside
    with endings.held(run):
        assert idle_limit() == "90s"


def test_a_short_lease_does_not_cut_off_a_worker_that_only_computes(settings: object) -> None:
    settings.EXTRACTION_LEASE_SECONDS = 5
    run = claimed("one")
    with transaction.atomic():
        leases.Lease(run).guard()
        assert idle_limit() == "30s"


@pytest.mark.parametrize("phase", ["planning", "merging"])
def test_a_worker_whose_session_was_ended_for_its_silence_hands_the_run_back(monkeypatch, phase) -> None:
    """Whether it froze or only computed for long: the messages are not to blame, and the work is done again."""
    run = request_run(factories.chat(message("a", "I live in Oslo.")).pk, "rest", "sentences", enqueue=False)
    where, name = (runs.planning, "open_batch") if phase == "planning" else (merge, "write_batch")
    does = getattr(where, name)

    def silent(*arguments):
        assert connection.in_atomic_block
        time.sleep(0.2)
        return does(*arguments)

    with monkeypatch.context() as patch, pytest.raises(leases.DATABASE_AWAY, match="idle-in-transaction"):
        patch.setattr(leases, "limit_silence", lambda: set_idle_limit("50ms"))
        patch.setattr(runs, "AWAY_PAUSE_SECONDS", 0.01)
        patch.setattr(where, name, silent)
        runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.status, run.recoveries) == (Run.Status.QUEUED, 1)
    assert not Batch.objects.exclude(failures=0).exists()
    assert runs.execute(run.pk).status == Run.Status.SUCCEEDED


@pytest.fixture
def _impatient() -> Iterator[None]:
    """Waiting for a lock fails this test instead of holding it up."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        yield
        cursor.execute("RESET lock_timeout")


@pytest.mark.usefixtures("_impatient")
def test_a_frozen_worker_does_not_hold_up_the_recovery_of_other_runs(rq_connection: object) -> None:
    frozen, lost = claimed("frozen"), claimed("lost")
    expire(frozen, lost)
    with frozen_in_its_transaction(frozen):
        done = reconcile.reconcile_runs()
        assert (done["recovered"], done["kept"]) == (1, 1)
    assert reconcile.reconcile_runs()["recovered"] == 1
