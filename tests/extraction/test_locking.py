"""Locks in one order: whoever may change a run waits for its worker, and never the two for each other."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection, transaction

from coverage.models import Chat
from coverage.services import lock_chat
from extraction.locking import with_runs_locked
from extraction.models import Batch, Run
from extraction.services import abort_run, request_run, retry_parked
from tests import factories
from tests.extraction.running.test_runs import execute, long_message
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


class Outcome(threading.Thread):
    """Calls something in a thread with a connection of its own and keeps what came of it."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.result: object = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:  # noqa: BLE001 - handed to the test
            self.error = error
        finally:
            connection.close()

    def outcome(self) -> object:
        self.join(20)
        assert not self.is_alive(), "still waiting"
        if self.error is not None:
            raise self.error
        return self.result


@contextmanager
def held_by_its_worker(run: Run) -> Iterator[tuple[threading.Event, Outcome]]:
    """The run's row is locked, as by a worker at its checkpoint; when told, that worker locks the chat and commits."""
    locked, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with transaction.atomic():
            Run.objects.select_for_update(no_key=True).get(pk=run.pk)
            locked.set()
            assert go_on.wait(20)
            lock_chat(run.chat_id)

    worker = Outcome(work)
    assert locked.wait(20)
    try:
        yield go_on, worker
    finally:
        go_on.set()
        worker.join(20)


@pytest.fixture
def active_run() -> Run:
    chat = factories.chat(*[long_message(n) for n in range(2)])
    run = request_run(chat.pk, "due", "sentences", enqueue=False)
    Run.objects.filter(pk=run.pk).update(
        status=Run.Status.RUNNING, attempt_token=run.pk, lease_expires_at="2100-01-01T00:00Z"
    )
    return run


def parked_batch(chat: Chat) -> Batch:
    return Batch.objects.create(
        chat=chat,
        run=Run.objects.create(chat=chat, mode="rest", status="failed", worker="sentences"),
        status="parked",
        attempt_token=chat.pk,
        first_position=1,
        last_position=1,
        tokens=1,
        worker="sentences",
    )


@pytest.mark.parametrize("name", ["abort", "widen", "retry"])
def test_a_change_of_the_run_waits_for_its_worker_and_the_worker_for_no_one(
    active_run: Run, name: str, rq_connection: object
) -> None:
    chat = active_run.chat
    changes: dict[str, Callable[[], object]] = {
        "abort": lambda: abort_run(chat.pk),
        "widen": lambda: request_run(chat.pk, "rest", "sentences").mode,
        "retry": lambda: retry_parked([parked_batch(chat).pk]),
    }
    with held_by_its_worker(active_run) as (go_on, worker):
        change = Outcome(changes[name])
        change.join(0.5)
        assert change.is_alive()
        go_on.set()
        worker.outcome()
        assert change.outcome() == {"abort": True, "widen": "rest", "retry": 1}[name]


def test_without_the_order_the_two_wait_for_each_other(active_run: Run) -> None:
    """Negative control: chat first, then run."""
    taken = threading.Event()

    def the_wrong_way_round() -> None:
        with transaction.atomic():
            lock_chat(active_run.chat_id)
            taken.set()
            Run.objects.filter(pk=active_run.pk).update(mode="rest")

    with held_by_its_worker(active_run) as (go_on, worker):
        change = Outcome(the_wrong_way_round)
        assert taken.wait(20)
        go_on.set()
        worker.join(20)
        change.join(20)
    failed = [error for error in (worker.error, change.error) if error]
    assert [type(error) for error in failed] == [OperationalError]
    assert "deadlock" in str(failed[0])


def test_a_run_that_appears_meanwhile_is_locked_too() -> None:
    """It was made while we waited for the chat, and we hold it before we go on."""
    chat = factories.chat(message("a", "Hello there."))
    held, free = threading.Event(), threading.Event()

    def make_a_run() -> Run:
        with transaction.atomic():
            lock_chat(chat.pk)
            held.set()
            assert free.wait(20)
            return Run.objects.create(chat=chat, mode="due", worker="sentences")

    maker = Outcome(make_a_run)
    assert held.wait(20)

    def look() -> list[Run]:
        with transaction.atomic():
            return list(Run.objects.select_for_update(no_key=True, skip_locked=True).filter(chat=chat))

    ours = Outcome(lambda: with_runs_locked(chat.pk, lambda _chat: Outcome(look).outcome()))
    ours.join(0.5)
    assert ours.is_alive()
    free.set()
    maker.outcome()
    assert ours.outcome() == []


def test_the_work_goes_on_as_before(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    chat = factories.chat(*[long_message(n) for n in range(4)])
    assert execute(chat).status == Run.Status.SUCCEEDED
    assert not abort_run(chat.pk)
