"""How runs end: what is asked for while one stops is not lost, and an end waits for who holds the chat."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from coverage.models import Chat, CoverageEntry
from coverage.services import lock_chat
from extraction import backfill, invariants, reconcile, workers
from extraction.models import Batch, Run
from extraction.running import endings, leases, runs
from extraction.services import abort_run, finish_chat, request_run, retry_parked
from tests import factories
from tests.extraction.running.test_runs import long_message
from tests.extraction.test_locking import Outcome, parked_batch
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat() -> Chat:
    return factories.chat(message("a", "Tea has caffeine."))


@pytest.fixture
def doomed(chat: Chat) -> Run:
    """A run that a worker executes and that was told to stop."""
    run = leases.claim(request_run(chat.pk, "due", "sentences", enqueue=False).pk)
    assert abort_run(chat.pk)
    return run


def following(run: Run) -> tuple[str, str] | None:
    """The run that waits after this one has ended: mode and worker."""
    run.refresh_from_db()
    assert run.status == Run.Status.ABORTED
    return Run.objects.filter(chat=run.chat_id, status=Run.Status.QUEUED).values_list("mode", "worker").first()


def test_what_is_asked_for_while_a_run_stops_starts_when_it_has(doomed: Run, rq_connection: object) -> None:
    joined = request_run(doomed.chat_id, "rest", "rules")
    assert (joined.pk, joined.mode, joined.following["mode"]) == (doomed.pk, "due", "rest")
    assert request_run(doomed.chat_id, "due", "sentences").following["mode"] == "rest"
    endings.end_aborted(doomed)
    assert following(doomed) == ("rest", "rules")
    waiting = Run.objects.get(status=Run.Status.QUEUED)
    assert rq_connection.lrange("rq:queue:chats", 0, -1) == [f"run-{waiting.pk}-1".encode()]
    assert runs.execute(waiting.pk).status == Run.Status.SUCCEEDED
    assert CoverageEntry.objects.count() == 1


def test_without_a_further_request_nothing_follows(doomed: Run) -> None:
    endings.end_aborted(doomed)
    assert following(doomed) is None


def test_a_second_abort_stops_what_was_asked_for_since_the_first(doomed: Run) -> None:
    request_run(doomed.chat_id, "rest")
    assert abort_run(doomed.chat_id)
    endings.end_aborted(doomed)
    assert following(doomed) is None


def test_many_chats_at_once_remember_too(doomed: Run) -> None:
    ((run, made),) = backfill.request_runs([doomed.chat_id], "rest", "rules")
    assert (run.pk, made, run.following["mode"]) == (doomed.pk, False, "rest")
    endings.end_aborted(doomed)
    assert following(doomed) == ("rest", "rules")


def test_a_retry_of_a_parked_batch_is_remembered(doomed: Run) -> None:
    assert retry_parked([parked_batch(doomed.chat).pk]) == 1
    endings.end_aborted(doomed)
    assert following(doomed)[0] == "rest"


def test_a_turn_that_ends_while_a_run_stops_counts_what_that_run_holds(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    chat = factories.chat(*[long_message(n) for n in range(4)])
    run = leases.claim(request_run(chat.pk, "due", "sentences", enqueue=False).pk)
    runs._next_batch(run, leases.Lease(run))
    assert finish_chat(chat.pk) is None  # three of the four messages are being read
    abort_run(chat.pk)
    assert finish_chat(chat.pk).following["mode"] == "due"
    endings.end_aborted(run)
    assert following(run)[0] == "due"


@pytest.mark.parametrize(
    "end", [endings.hand_back, lambda run: endings.end_unavailable(run, "no model", timezone.now())]
)
def test_whatever_ends_a_run_that_was_told_to_stop_ends_it_as_aborted(end: Callable[[Run], None], doomed: Run) -> None:
    request_run(doomed.chat_id, "rest", "rules")
    end(doomed)
    assert following(doomed) == ("rest", "rules")
    assert Run.objects.get(pk=doomed.pk).retry_at is None


def test_a_lost_worker_of_a_run_that_was_told_to_stop(doomed: Run, rq_connection: object) -> None:
    request_run(doomed.chat_id, "rest", "rules")
    Run.objects.filter(pk=doomed.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    reconcile.reconcile_runs()
    assert following(doomed) == ("rest", "rules")


def test_an_attempt_that_lost_its_run_ends_nothing(doomed: Run) -> None:
    Run.objects.filter(pk=doomed.pk).update(attempt_token=doomed.chat_id)
    for end in (endings.end_aborted, endings.hand_back):
        end(doomed)
    assert Run.objects.get(pk=doomed.pk).status == Run.Status.RUNNING


def test_the_database_holds_what_follows_and_what_waits(chat: Chat) -> None:
    run = request_run(chat.pk, "rest", enqueue=False)
    for values in ({"abort_requested_at": timezone.now()}, {"following": {"mode": "rest"}}):
        with pytest.raises(IntegrityError, match=r"waiting_run_is_not_aborted|run_follows_an_aborted_one"):
            Run.objects.filter(pk=run.pk).update(**values)


# --- races with who holds the chat


def plain_update(run: Run) -> None:
    """The negative control: a conditional UPDATE of the run alone."""
    Run.objects.filter(pk=run.pk, attempt_token=run.attempt_token).update(
        status=Run.Status.ABORTED, finished_at=timezone.now()
    )


def recover(run: Run) -> str:
    Run.objects.filter(pk=run.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    return reconcile._recover(run)


def ends_while_the_chat_is_held(run: Run, end: Callable[[Run], object]) -> bool:
    """Whether a run's end goes through while somebody decides under the chat's lock, who has seen the run active."""
    held, free = threading.Event(), threading.Event()

    def decide() -> None:
        with transaction.atomic():
            lock_chat(run.chat_id)
            assert Run.objects.filter(chat=run.chat_id, status__in=Run.ACTIVE).exists()
            held.set()
            assert free.wait(20)

    decider = Outcome(decide)
    assert held.wait(20)
    ending = Outcome(lambda: end(run))
    ending.join(0.5)
    through = not ending.is_alive()
    free.set()
    decider.outcome()
    ending.outcome()
    assert Run.objects.get(pk=run.pk).status != Run.Status.RUNNING
    return through


@pytest.mark.parametrize("end", [endings.end_aborted, endings.hand_back, recover])
def test_an_end_waits_for_who_decides_under_the_chats_lock(
    end: Callable[[Run], object], chat: Chat, rq_connection: object
) -> None:
    run = leases.claim(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    assert not ends_while_the_chat_is_held(run, end)


def test_without_the_chats_lock_the_run_ends_under_his_eyes(chat: Chat) -> None:
    run = leases.claim(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    assert ends_while_the_chat_is_held(run, plain_update)


# --- a database that goes away


class LosesTheDatabase:
    """While it explores, the database ends the connection."""

    name = "loses-the-database"
    version = "1"

    def run(self, overview: dict, tools: object, checkpoint: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")


class WritesNonsense:
    """It writes what the database refuses: trying again would not help."""

    name = "writes-nonsense"
    version = "1"

    def run(self, overview: dict, tools: object, checkpoint: object) -> None:
        Batch.objects.update(first_position=10, last_position=1)


@pytest.fixture
def _more_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {worker.name: f"{__name__}:{worker.__name__}" for worker in (LosesTheDatabase, WritesNonsense)}
    monkeypatch.setattr(workers, "_REGISTRY", workers._REGISTRY | more)
    monkeypatch.setattr(runs, "AWAY_PAUSE_SECONDS", 0.01)


@pytest.mark.usefixtures("_more_workers")
def test_a_database_that_went_away_is_no_failure_of_the_batch_and_not_for_ever(chat: Chat) -> None:
    run = request_run(chat.pk, "rest", "loses-the-database", enqueue=False)
    for lost in range(1, endings.MAX_RECOVERIES + 2):
        with pytest.raises(OperationalError):
            runs.execute(run.pk)
        run.refresh_from_db()
        assert run.recoveries == lost
    assert run.status == Run.Status.FAILED
    assert "lost 11 times, at last because the database went away: server closed" in run.error
    assert set(Batch.objects.values_list("failures", flat=True)) == {0}
    assert list(invariants.check()) == []
    assert runs.execute(request_run(chat.pk, "rest", "sentences", enqueue=False).pk).status == Run.Status.SUCCEEDED


def test_a_batch_that_was_read_makes_good_what_was_lost_before(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    chat = factories.chat(*(message(f"m{number}", f"Tea {number}.\n" + "x" * 1960) for number in range(2)))
    run = request_run(chat.pk, "rest", "sentences", enqueue=False)

    def lost(times: int) -> tuple[str, int, int]:
        for _ in range(times):
            with endings.held(leases.claim(run.pk)) as current:
                endings.recover(current, "its worker was lost")
        run.refresh_from_db()
        return run.status, run.recoveries, run.fruitless

    assert lost(endings.MAX_RECOVERIES) == ("queued", 10, 10)
    assert runs.execute(run.pk, turn=1).status == Run.Status.QUEUED
    assert Batch.objects.filter(status="succeeded").count() == 1
    assert lost(0) == ("queued", 10, 0)
    assert lost(endings.MAX_RECOVERIES) == ("queued", 20, 10)
    assert lost(1) == ("failed", 21, 11)


@pytest.mark.usefixtures("_more_workers")
def test_what_the_database_refuses_counts_on_the_batch_and_parks_it(chat: Chat) -> None:
    run = runs.execute(request_run(chat.pk, "rest", "writes-nonsense", enqueue=False).pk)
    assert run.status == Run.Status.FAILED
    batch = Batch.objects.get()
    assert (batch.status, batch.failures) == (Batch.Status.PARKED, 3)
    assert "batch_positions_in_order" in batch.error
