"""Turns: a long chat goes back to the end of the queue, so that short ones are not kept waiting."""

from datetime import timedelta
from typing import Any

import django_rq
import pytest
from django.utils import timezone

from coverage.models import CoverageEntry
from coverage.queueing import CHATS
from extraction import invariants, jobs, spending
from extraction.models import Batch, Run
from extraction.reconcile import reconcile_runs
from extraction.running import runs
from extraction.selectors import chat_coverage
from extraction.services import abort_run, request_run
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small(settings: Any, rq_connection: Any) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    settings.EXTRACTION_TURN_BATCHES = 2


def talk(count: int, name: str) -> Any:
    """A chat of ``count`` messages, each of which fills a batch."""
    return factories.chat(
        *[message(f"{name}{n}", f"{name} says {n}.\n" + "x" * 1960) for n in range(count)], title=name
    )


def drain(limit: int = 100) -> list[str]:
    """Take the queue's jobs in order, as one worker does; the titles of the chats whose turns they were."""
    queue = django_rq.get_queue(CHATS)
    turns = []
    while job := queue.job_ids[:1]:
        called = queue.fetch_job(job[0])
        (run_id,) = called.args
        queue.remove(job[0])
        queue.connection.delete(f"rq:job:{job[0]}")
        turns.append(Run.objects.get(pk=run_id).chat.title)
        assert called.func is jobs.run_chat
        called.func(run_id)
        assert len(turns) < limit
    return turns


def test_short_chats_end_before_a_long_one_that_came_first() -> None:
    long = talk(7, "long")
    short = [talk(1, f"short {n}") for n in range(3)]
    for chat in (long, *short):
        request_run(chat.pk, "rest", "sentences")
    assert drain() == ["long", "short 0", "short 1", "short 2", "long", "long", "long"]

    ends = {run.chat_id: run.finished_at for run in Run.objects.all()}
    assert max(ends[chat.pk] for chat in short) < ends[long.pk]
    run = Run.objects.get(chat=long)
    assert (run.status, run.attempt, run.recoveries, run.batches.count()) == ("succeeded", 4, 0, 7)
    assert not Batch.objects.exclude(status="succeeded", failures=0, attempt=1).exists()
    assert CoverageEntry.objects.count() == 10
    assert chat_coverage(long.pk)["uncovered_tokens"] == 0
    assert not list(invariants.check())


def test_a_run_that_ends_with_its_turn_does_not_wait_for_another() -> None:
    request_run(talk(2, "even").pk, "rest", "sentences")
    assert drain() == ["even"]
    assert Run.objects.get().status == "succeeded"


def test_in_process_a_run_goes_to_its_end() -> None:
    chat = talk(5, "whole")
    run = runs.execute(request_run(chat.pk, "rest", "sentences", enqueue=False).pk)
    assert (run.status, run.attempt, run.batches.count()) == ("succeeded", 1, 5)


def test_between_turns_a_run_can_be_aborted_or_lost_by_redis(rq_connection: Any) -> None:
    chat = talk(5, "cut")
    run = request_run(chat.pk, "rest", "sentences")
    assert jobs.run_chat(str(run.pk)) == "queued"
    run.refresh_from_db()
    assert run.attempt_token is None
    assert run.lease_expires_at is None
    started = run.started_at
    rq_connection.flushdb()
    Run.objects.update(queued_at=started - timedelta(seconds=10))
    assert reconcile_runs()["enqueued"] == 1
    assert jobs.run_chat(str(run.pk)) == "queued"
    run.refresh_from_db()
    assert run.started_at == started
    assert abort_run(chat.pk)
    assert jobs.run_chat(str(run.pk)) == "aborted"
    assert Batch.objects.filter(status="succeeded").count() == 4


# --- caps


def test_a_run_ends_at_its_cap_and_the_next_one_goes_on(settings: Any) -> None:
    settings.EXTRACTION_TOKENS_PER_RUN = 900
    chat = talk(3, "capped")
    request_run(chat.pk, "rest", "sentences")
    drain()
    run = Run.objects.get()
    assert run.status == "succeeded"
    assert "EXTRACTION_TOKENS_PER_RUN is 900" in run.note
    assert run.batches.count() == 2
    assert chat_coverage(chat.pk)["uncovered_tokens"] > 0
    request_run(chat.pk, "rest", "sentences")
    drain()
    last = Run.objects.first()
    assert (last.status, last.note) == ("succeeded", "")
    assert chat_coverage(chat.pk)["uncovered_tokens"] == 0


def test_a_run_that_reads_exactly_up_to_its_cap_has_nothing_to_note(settings: Any) -> None:
    chat = talk(1, "exact")
    settings.EXTRACTION_TOKENS_PER_RUN = chat_coverage(chat.pk)["total_tokens"]
    assert runs.execute(request_run(chat.pk, "rest", "sentences", enqueue=False).pk).note == ""


def test_runs_wait_while_the_daily_cap_is_reached_and_then_go_on(settings: Any) -> None:
    settings.EXTRACTION_TOKENS_PER_DAY = 900
    first, second = talk(3, "first"), talk(1, "second")
    for chat in (first, second):
        request_run(chat.pk, "rest", "sentences")
    assert drain() == ["first", "second"]
    assert [run.status for run in Run.objects.order_by("pk")] == ["queued", "queued"]
    assert Batch.objects.count() == 2
    assert "EXTRACTION_TOKENS_PER_DAY is 900" in spending.day_is_spent()
    Run.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert "enqueued" not in reconcile_runs()

    Batch.objects.update(finished_at=timezone.now() - timedelta(hours=25))
    assert reconcile_runs()["enqueued"] == 2
    drain()
    assert not Run.objects.exclude(status="succeeded", recoveries=0, error="").exists()
    assert CoverageEntry.objects.count() == 4


def test_every_attempt_costs(settings: Any) -> None:
    settings.EXTRACTION_MAX_FAILURES = 2
    chat = factories.chat(message("p", "poison " * 40))
    run = runs.execute(request_run(chat.pk, "rest", "fails-on-poison", enqueue=False).pk)
    tokens = chat_coverage(chat.pk)["total_tokens"]
    assert spending.spent_by_run(run.pk) == spending.spent_in_a_day() == 2 * tokens


def test_the_caps_are_one_query_each(settings: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert not spending.day_is_spent()
    settings.EXTRACTION_TOKENS_PER_DAY = 1
    with django_assert_num_queries(1):
        assert not spending.day_is_spent()


def test_a_backlog_is_looked_at_in_one_round_trip_and_nothing_is_doubled(rq_connection: Any) -> None:
    for number in range(5):
        request_run(talk(1, f"chat {number}").pk, "rest", "sentences")
    Run.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert "enqueued" not in reconcile_runs()
    assert rq_connection.llen("rq:queue:chats") == 5
    rq_connection.flushdb()
    assert reconcile_runs()["enqueued"] == 5
    assert rq_connection.llen("rq:queue:chats") == 5
