"""Runs: every message version read at most once, batch by batch, one run at a time."""

import threading
import time
import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from coverage import queueing
from coverage.models import Chat, CoverageEntry, Message
from coverage.services import delete_message, put_messages
from extraction import invariants, reconcile
from extraction.merging import merge
from extraction.models import Batch, BatchMessage, Candidate, Run
from extraction.running import leases, runs
from extraction.selectors import chat_coverage
from extraction.services import abort_run, finish_chat, request_run, retry_parked
from graphctx.models import Proposition
from tests import factories
from tests.factories import message, quiz, text

pytestmark = pytest.mark.django_db(transaction=True)


def long_message(number: int, tokens: int = 300) -> object:
    return message(f"m{number}", f"Sentence number {number}.\n" + "x" * (tokens * 4 - 30))


def states(chat: Chat) -> dict[str, str]:
    return {row["id"]: row["state"] for row in chat_coverage(chat.pk)["messages"]}


def execute(chat: Chat, mode: str = "rest", worker: str = "sentences") -> Run:
    return runs.execute(request_run(chat.pk, mode, worker, enqueue=False).pk)


@pytest.fixture(autouse=True)
def _small_chunks(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000


# --- trigger


def test_only_finish_triggers_and_only_when_enough_is_uncovered(rq_connection: object) -> None:
    chat = factories.chat(*[long_message(i) for i in range(3)])
    assert not Run.objects.exists()
    assert finish_chat(chat.pk) is None
    put_messages(chat.pk, [long_message(3)])
    assert not Run.objects.exists()
    run = finish_chat(chat.pk)
    assert run.status == Run.Status.QUEUED
    assert finish_chat(chat.pk) == run


def test_a_due_run_stops_below_the_budget_and_the_rest_drains() -> None:
    chat = factories.chat(*[long_message(i) for i in range(8)])
    run = execute(chat, "due")
    assert run.status == Run.Status.SUCCEEDED
    assert [b.messages.count() for b in run.batches.all()] == [3, 3]
    assert chat_coverage(chat.pk)["uncovered_tokens"] > 0
    assert execute(chat).batches.count() == 1
    assert chat_coverage(chat.pk)["uncovered_tokens"] == 0
    assert execute(chat).batches.count() == 0


def test_a_streaming_message_is_unsettled_until_finish_rest_or_age(settings: object, rq_connection: object) -> None:
    streaming = message("s", [text("Half a sent", state="streaming")], "assistant")
    chat = factories.chat(message("a", "Hello there."), streaming)
    assert states(chat) == {"a": "uncovered", "s": "unsettled"}
    finish_chat(chat.pk)
    assert states(chat)["s"] == "uncovered"
    put_messages(chat.pk, [message("s", [text("Half a sentence, then", state="streaming")], "assistant")])
    assert states(chat)["s"] == "unsettled"
    settings.EXTRACTION_UNSETTLED_SECONDS = 0
    assert states(chat)["s"] == "uncovered"


def test_answering_a_quiz_reopens_that_message_and_no_other() -> None:
    asked = message("q", [text("Try."), quiz("2+2?")], "assistant")
    chat = factories.chat(message("a", "Teach me."), asked, message("b", "Next."))
    execute(chat)
    put_messages(chat.pk, [message("q", [text("Try."), quiz("2+2?", "4", correct=True)], "assistant")])
    assert states(chat) == {"a": "covered", "q": "reopened", "b": "covered"}
    run = execute(chat)
    assert list(run.batches.get().messages.values_list("message_id", flat=True)) == ["q"]


def test_finding_nothing_is_a_recorded_success() -> None:
    chat = factories.chat(message("a", "ok"), message("b", "   "))
    run = execute(chat, worker="finds-nothing")
    batch = run.batches.get()
    assert (run.status, batch.found_nothing, batch.reason) == ("succeeded", True, "only small talk")
    assert states(chat) == {"a": "covered", "b": "empty"}


def test_preceding_messages_are_shown_as_read_only_context() -> None:
    chat = factories.chat(message("a", "What computer do you have?", "assistant"))
    execute(chat)
    put_messages(chat.pk, [message("b", "A small grey one.")])
    execute(chat)
    batch = Batch.objects.order_by("created_at").last()
    shown = {entry["message_id"]: entry["context"] for entry in batch.environment.content["evidence"]}
    assert shown == {"a": True, "b": False}
    assert CoverageEntry.objects.count() == 2


def test_extraction_changes_no_row_of_the_chat() -> None:
    chat = factories.chat(*[long_message(i) for i in range(5)])

    def snapshot() -> list[dict]:
        return [*Message.objects.order_by("pk").values(), *Chat.objects.order_by("pk").values()]

    before = snapshot()
    execute(chat)
    assert snapshot() == before


def test_the_input_of_a_growing_chat_is_linear() -> None:
    chat = factories.chat(long_message(0))
    for number in range(1, 30):
        put_messages(chat.pk, [long_message(number)])
        execute(chat, "due")
    execute(chat)
    read = sum(BatchMessage.objects.values_list("tokens", flat=True))
    assert read == chat_coverage(chat.pk)["total_tokens"]


# --- failure


def test_a_worker_that_never_finishes_fails_and_parks_and_later_messages_go_on() -> None:
    chat = factories.chat(
        long_message(0), message("p", "poison " + "x" * 3990), *[long_message(i) for i in range(1, 4)]
    )
    run = execute(chat, worker="fails-on-poison")
    assert run.status == Run.Status.FAILED
    assert "parked" in run.error
    assert states(chat) == {"m0": "covered", "p": "parked", "m1": "covered", "m2": "covered", "m3": "covered"}
    parked = Batch.objects.get(status=Batch.Status.PARKED)
    assert (parked.failures, parked.attempt) == (3, 3)
    assert "the model choked" in parked.error
    assert execute(chat, "due", "fails-on-poison").batches.count() == 0


def test_staging_of_a_failed_attempt_is_never_merged() -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    execute(chat, worker="never-finishes")
    assert Candidate.objects.count() == 3
    assert not Proposition.objects.exists()
    assert retry_parked([Batch.objects.get().pk]) == 1
    run = Run.objects.get(status=Run.Status.QUEUED)
    Run.objects.filter(pk=run.pk).update(worker="sentences")
    runs.execute(run.pk)
    batch = Batch.objects.get()
    assert (batch.status, batch.attempt, batch.staged_count) == ("succeeded", 4, 1)
    assert Proposition.objects.count() == 1


def test_the_rest_gives_a_parked_batch_one_more_attempt() -> None:
    chat = factories.chat(message("p", "poison"))
    execute(chat, worker="fails-on-poison")
    execute(chat, worker="fails-on-poison")
    assert Batch.objects.get().attempt == 4
    execute(chat, worker="sentences")
    assert states(chat) == {"p": "covered"}


def test_a_parked_message_that_is_edited_is_uncovered_again() -> None:
    chat = factories.chat(message("p", "poison"))
    execute(chat, worker="fails-on-poison")
    put_messages(chat.pk, [message("p", "cured")])
    assert states(chat) == {"p": "uncovered"}


@pytest.mark.parametrize("change", ["edited", "deleted", "shelved"])
def test_the_rest_reads_what_is_left_of_a_parked_batch_whose_messages_changed(change: str) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."), message("p", "poison"), message("b", "Tin melts."))
    execute(chat, worker="fails-on-poison")
    assert set(states(chat).values()) == {"parked"}
    match change:
        case "edited":
            put_messages(chat.pk, [message("p", "Cured, it says.")])
        case "deleted":
            delete_message(chat.pk, "p")
        case "shelved":
            put_messages(
                chat.pk, [message("a", "Tea has caffeine."), message("b", "Tin melts.")], whole_transcript=True
            )

    run = execute(chat)

    assert run.status == Run.Status.SUCCEEDED
    assert set(states(chat).values()) == {"covered"}
    assert not Batch.objects.filter(status=Batch.Status.PARKED).exists()
    assert list(invariants.check()) == []


def test_a_message_that_is_deleted_while_it_is_read_is_read_again_when_it_returns(monkeypatch) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."), message("b", "Tin melts."))
    original = merge.prepare_vectors

    def deleted_meanwhile(*arguments: object) -> object:
        delete_message(chat.pk, "a")
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(merge, "prepare_vectors", deleted_meanwhile)
        execute(chat)
    put_messages(chat.pk, [message("a", "Tea has caffeine.")])
    assert states(chat) == {"a": "reopened", "b": "covered"}
    execute(chat)
    assert states(chat) == {"a": "covered", "b": "covered"}
    assert list(invariants.check()) == []


def test_what_is_left_of_a_changed_batch_is_parked_anew_when_it_fails_again() -> None:
    chat = factories.chat(message("a", "Tea has caffeine."), message("p", "poison"))
    execute(chat, worker="fails-on-poison")
    put_messages(chat.pk, [message("a", "Tea has little caffeine.")])
    run = execute(chat, worker="fails-on-poison")
    assert run.status == Run.Status.FAILED
    assert set(states(chat).values()) == {"parked"}
    assert Batch.objects.filter(status=Batch.Status.PARKED).count() == 1


# --- single flight, lease, abort


def test_a_second_request_joins_the_active_run_and_rest_widens_it() -> None:
    chat = factories.chat(long_message(0))
    one = request_run(chat.pk, "due", enqueue=False)
    two = request_run(chat.pk, "rest", enqueue=False)
    assert one.pk == two.pk
    assert Run.objects.get().mode == "rest"


def test_the_database_holds_single_flight() -> None:
    chat = factories.chat(long_message(0))
    Run.objects.create(chat=chat, mode="due", worker="rules")
    with pytest.raises(IntegrityError, match="one_active_run_per_chat"), transaction.atomic():
        Run.objects.create(chat=chat, mode="rest", worker="rules")


def test_only_one_of_many_claims_of_a_run_succeeds() -> None:
    chat = factories.chat(long_message(0))
    run = request_run(chat.pk, "rest", "sentences", enqueue=False)
    barrier, won = threading.Barrier(4), []

    def compete() -> None:
        barrier.wait()
        claimed = leases.claim(run.pk)
        won.append(claimed is not None)
        connection.close()

    threads = [threading.Thread(target=compete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, False, False, True]


def test_without_the_conditional_claim_several_win() -> None:
    """The negative control: reading the status first and writing it afterwards lets every competitor through."""
    chat = factories.chat(long_message(0))
    run = request_run(chat.pk, "rest", "sentences", enqueue=False)
    barrier, won = threading.Barrier(3), []

    def compete() -> None:
        seen = Run.objects.get(pk=run.pk).status
        barrier.wait()
        if seen == Run.Status.QUEUED:
            Run.objects.filter(pk=run.pk).update(
                status=Run.Status.RUNNING,
                attempt_token=uuid.uuid4(),
                lease_expires_at=timezone.now() + timedelta(minutes=1),
            )
            won.append(True)
        connection.close()

    threads = [threading.Thread(target=compete) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 3


class LosesItsRun:
    """While it explores, another attempt takes the run over."""

    name = "loses-its-run"
    version = "1"

    def run(self, overview: dict, tools: object, checkpoint: object) -> None:
        Run.objects.update(attempt_token=uuid.uuid4())
        line = overview["overview"][0]
        tools.stage_candidate("fact", "A late claim.", "late", [line["evidence_id"]])
        tools.finish_extraction(1)


class AsksToAbort:
    """Someone presses abort while it explores."""

    name = "asks-to-abort"
    version = "1"

    def run(self, overview: dict, tools: object, checkpoint: object) -> None:
        abort_run(overview["chat"]["id"])
        checkpoint()


class IsToldToStop:
    """Its process gets SIGTERM while it explores."""

    name = "is-told-to-stop"
    version = "1"

    def run(self, overview: dict, tools: object, checkpoint: object) -> None:
        leases.stop_requested.set()
        checkpoint()


@pytest.fixture
def _more_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from extraction import workers

    more = {worker.name: f"{__name__}:{worker.__name__}" for worker in (LosesItsRun, AsksToAbort, IsToldToStop)}
    monkeypatch.setattr(workers, "_REGISTRY", workers._REGISTRY | more)


@pytest.mark.usefixtures("_more_workers")
def test_a_worker_that_lost_its_run_writes_nothing() -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    run = execute(chat, worker="loses-its-run")
    assert run.status == Run.Status.RUNNING
    assert not Proposition.objects.exists()
    assert not CoverageEntry.objects.exists()


@pytest.mark.usefixtures("_more_workers")
def test_abort_loses_the_batch_in_flight_and_nothing_else() -> None:
    chat = factories.chat(*[long_message(i) for i in range(3)])
    execute(chat)
    put_messages(chat.pk, [long_message(3)])
    run = execute(chat, worker="asks-to-abort")
    assert run.status == Run.Status.ABORTED
    assert Batch.objects.filter(run=run).get().status == Batch.Status.ABORTED
    assert list(states(chat).values()) == ["covered", "covered", "covered", "uncovered"]
    assert execute(chat).status == Run.Status.SUCCEEDED


@pytest.mark.usefixtures("_more_workers")
def test_a_worker_that_is_told_to_stop_hands_its_run_back_and_nobody_is_to_blame() -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    try:
        run = execute(chat, worker="is-told-to-stop")
    finally:
        leases.stop_requested.clear()
    assert (run.status, run.recoveries, run.attempt_token) == (Run.Status.QUEUED, 0, None)
    assert Batch.objects.get().failures == 0
    assert states(chat) == {"a": "uncovered"}
    Run.objects.update(worker="sentences")
    assert runs.execute(run.pk).status == Run.Status.SUCCEEDED


def test_a_waiting_run_is_aborted_at_once() -> None:
    chat = factories.chat(long_message(0))
    run = request_run(chat.pk, "rest", enqueue=False)
    assert abort_run(chat.pk)
    assert not abort_run(chat.pk)
    assert runs.execute(run.pk).status == Run.Status.ABORTED


def test_the_lease_is_renewed_while_a_step_takes_long(settings: object) -> None:
    settings.EXTRACTION_LEASE_SECONDS = 0.4
    chat = factories.chat(long_message(0))
    run = leases.claim(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    first = run.lease_expires_at
    with leases.Lease(run) as lease:
        deadline = time.monotonic() + 5
        while Run.objects.get().lease_expires_at == first and time.monotonic() < deadline:
            time.sleep(0.02)
        lease.checkpoint()
    assert Run.objects.get().lease_expires_at > first


# --- recovery


def test_an_expired_run_is_recovered_and_its_open_batch_counts_a_failure(rq_connection: object) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    run = leases.claim(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    runs._next_batch(run, leases.Lease(run))
    Run.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert reconcile.reconcile_runs()["recovered"] == 1
    assert list(invariants.check()) == []
    done = runs.execute(run.pk)
    batch = Batch.objects.get()
    assert (done.status, done.recoveries, batch.failures, batch.attempt) == ("succeeded", 1, 1, 2)
    assert states(chat) == {"a": "covered"}


def test_a_live_run_is_not_recovered_and_an_aborted_lost_one_ends(rq_connection: object) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    leases.claim(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    assert not reconcile.reconcile_runs()["recovered"]
    abort_run(chat.pk)
    Run.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    reconcile.reconcile_runs()
    assert Run.objects.get().status == Run.Status.ABORTED


def test_losing_every_redis_key_loses_no_run(rq_connection: object) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    run = request_run(chat.pk, "rest", "sentences")
    rq_connection.flushdb()
    Run.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert [reconcile.reconcile_runs()["enqueued"] for _ in range(3)] == [1, 0, 0]
    assert rq_connection.lrange("rq:queue:chats", 0, -1) == [f"run-{run.pk}-1".encode()]


def test_a_job_that_a_killed_worker_took_and_never_began_is_enqueued_again(rq_connection: object) -> None:
    chat = factories.chat(message("a", "Tea has caffeine."))
    run = request_run(chat.pk, "rest", "sentences")
    job = f"run-{run.pk}-1"
    assert rq_connection.lmove("rq:queue:chats", "rq:queue:chats:intermediate") == job.encode()
    Run.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert [reconcile.reconcile_runs()["enqueued"] for _ in range(2)] == [0, 0]  # its worker may be about to begin

    rq_connection.expire(f"rq:queue:chats:intermediate:met:{job}", queueing.MET_SECONDS - queueing.TAKEN_SECONDS - 1)
    assert [reconcile.reconcile_runs()["enqueued"] for _ in range(3)] == [0, 1, 0]
    assert rq_connection.lrange("rq:queue:chats", 0, -1) == [job.encode()]
    assert rq_connection.keys("rq:queue:chats:intermediate*") == []


def test_a_run_is_made_even_when_redis_is_away(monkeypatch: pytest.MonkeyPatch, settings: object) -> None:
    import redis

    def refuse(*_args: object, **_more: object) -> None:
        raise redis.exceptions.ConnectionError("refused")

    monkeypatch.setattr("coverage.queueing.django_rq.get_queue", refuse)
    chat = factories.chat(message("a", "Tea has caffeine."))
    assert request_run(chat.pk, "rest", "sentences").status == Run.Status.QUEUED
