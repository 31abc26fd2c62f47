"""What happens to a run when its worker is killed, frozen, cut off or aborted, at each stage of batch 2 of 4."""

import os
import signal

import pytest
from django.db import connection

from coverage.models import Chat, CoverageEntry
from extraction import invariants
from extraction.models import Batch, Candidate, Run
from extraction.services import abort_run, request_run
from graphctx.models import Instance, Proposition

from .conftest import FACTS, Faults, assert_read_exactly_once, states, wait_until
from .held import BEFORE_CLAIM, COMMITTED, EXPLORING, MERGING, STAGED, STAGES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

DONE_BEFORE = {BEFORE_CLAIM: 0, EXPLORING: 1, STAGED: 1, MERGING: 1, COMMITTED: 2}
"""Batches that have committed when the stage of batch 2 is reached."""


def request(chat: Chat) -> Run:
    return request_run(chat.pk, Run.Mode.REST, "held")


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_worker_loses_at_most_its_batch_and_doubles_nothing(
    stage: str, faults: Faults, four_batches: Chat
) -> None:
    faults.hold(stage, 2)
    doomed = faults.worker()
    run = request(four_batches)
    faults.reached()
    faults.kill(doomed)
    faults.release()
    wait_until(lambda: CoverageEntry.objects.count() == DONE_BEFORE[stage], "an open transaction rolling back")
    assert states(four_batches).count("covered") == DONE_BEFORE[stage]

    faults.worker()
    faults.finish(run)
    assert run.status == Run.Status.SUCCEEDED
    assert run.recoveries == (0 if stage == BEFORE_CLAIM else 1)
    assert Batch.objects.filter(status=Batch.Status.SUCCEEDED).count() == 4
    assert Candidate.objects.filter(claim__startswith="Staged by an attempt").exists() == (stage == STAGED)
    assert_read_exactly_once(four_batches)


@pytest.mark.parametrize("stage", [EXPLORING, MERGING])
def test_a_frozen_worker_that_wakes_after_its_lease_writes_nothing(
    stage: str, faults: Faults, four_batches: Chat
) -> None:
    faults.hold(stage, 2)
    zombie = faults.worker()
    run = request(four_batches)
    faults.reached()
    os.kill(zombie.pid, signal.SIGSTOP)
    faults.release()
    if stage == MERGING:
        # Frozen inside its transaction it would keep its locks until the server notices that it is gone.
        cut_off(zombie.pid)
    faults.worker()
    faults.finish(run)
    assert_read_exactly_once(four_batches)

    os.kill(zombie.pid, signal.SIGCONT)
    second = request(four_batches)
    faults.finish(second)
    assert second.status == Run.Status.SUCCEEDED
    assert_read_exactly_once(four_batches)


@pytest.mark.parametrize("stage", [EXPLORING, STAGED, MERGING])
def test_a_worker_whose_database_connections_are_cut_leaves_its_run_to_the_lease(
    stage: str, faults: Faults, four_batches: Chat
) -> None:
    faults.hold(stage, 2)
    worker = faults.worker()
    run = request(four_batches)
    faults.reached()
    cut_off(worker.pid)
    faults.release()
    faults.finish(run)
    assert run.status == Run.Status.SUCCEEDED
    assert worker.poll() is None, "the worker process itself lives on"
    assert_read_exactly_once(four_batches)


def cut_off(_pid: int) -> None:
    """Terminate every other connection to this test's database, as a restart of PostgreSQL would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("stage", STAGES)
def test_abort_at_any_stage_keeps_what_was_committed(stage: str, faults: Faults, four_batches: Chat) -> None:
    faults.hold(stage, 2)
    faults.worker()
    run = request(four_batches)
    faults.reached()
    if stage == MERGING:
        # The checkpoint holds the run's lock: abort waits for it, and comes before batch 3.
        faults.release()
    assert abort_run(four_batches.pk)
    if stage == COMMITTED:
        faults.release()  # nobody looks for an abort between a commit and the next batch
    faults.finish(run)
    assert run.status == Run.Status.ABORTED
    done = states(four_batches).count("covered")
    assert done == CoverageEntry.objects.count() == Instance.objects.count()
    assert DONE_BEFORE[stage] <= done < 4
    assert list(invariants.check()) == []

    if stage not in {MERGING, COMMITTED}:
        faults.release()
    again = request(four_batches)
    faults.finish(again)
    assert_read_exactly_once(four_batches)


def test_losing_every_redis_key_during_a_run_loses_nothing(
    faults: Faults, four_batches: Chat, rq_connection: object
) -> None:
    faults.hold(EXPLORING, 2)
    faults.worker()
    run = request(four_batches)
    faults.reached()
    rq_connection.flushdb()
    faults.release()
    faults.finish(run)
    assert (run.status, run.attempt) == (Run.Status.SUCCEEDED, 1)
    assert_read_exactly_once(four_batches)
    assert faults.finish(request(four_batches)).status == Run.Status.SUCCEEDED


def test_two_workers_and_two_jobs_for_one_run_read_it_once(
    faults: Faults, four_batches: Chat, rq_connection: object
) -> None:
    from coverage.queueing import CHATS, enqueue_now
    from extraction.jobs import run_chat

    run = request(four_batches)
    for number in range(6):
        enqueue_now(CHATS, run_chat, str(run.pk), job_id=f"duplicate-{number}")
    faults.worker()
    faults.worker()
    faults.finish(run)
    wait_until(lambda: rq_connection.llen("rq:queue:chats") == 0, "the duplicates being taken")
    assert (run.status, run.attempt) == (Run.Status.SUCCEEDED, 1)
    assert Proposition.objects.count() == len(FACTS)
    assert_read_exactly_once(four_batches)
