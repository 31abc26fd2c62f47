"""Turns: a long chat goes back to the end of the queue, so that short ones are not kept waiting."""

from datetime import timedelta
from typing import Any

import django_rq
import pytest

from coverage.models import CoverageEntry
from coverage.queueing import CHATS
from extraction import invariants, jobs, runs
from extraction.models import Batch, Run
from extraction.reconcile import reconcile_runs
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
        (run_id,) = queue.fetch_job(job[0]).args
        queue.remove(job[0])
        queue.connection.delete(f"rq:job:{job[0]}")
        turns.append(Run.objects.get(pk=run_id).chat.title)
        jobs.run_chat(run_id)
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
