"""The warm worker: one process for all jobs, alive while it works, gentle when it is told to stop."""

import os
import signal
import subprocess
import time
from types import SimpleNamespace

import django_rq
import pytest
from rq import Worker
from rq.registry import StartedJobRegistry

from osii import warming, workers
from osii.management.commands import work
from osii.ops import logs
from tests.osii import jobs


@pytest.fixture
def queue(rq_connection):
    return django_rq.get_queue("chats", commit_mode="auto")


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_jobs_run_in_the_worker_process(queue, child_environment, manage):
    enqueued = [queue.enqueue(jobs.pid) for _ in range(2)]
    nice = queue.enqueue(jobs.niceness)
    child = subprocess.Popen(manage("work", "chats", "--burst"), env=child_environment)
    assert child.wait(60) == 0
    assert [job.return_value(refresh=True) for job in enqueued] == [child.pid, child.pid]
    assert nice.return_value(refresh=True) == min(os.nice(0) + workers.BEHIND, 19)


@pytest.mark.parametrize(("name", "behind"), [("chats", True), ("library", True), ("steers", False)])
def test_only_what_nobody_waits_for_gives_way(name, behind, monkeypatch):
    told = []
    monkeypatch.setattr(workers, "give_way", lambda: told.append(name))
    monkeypatch.setattr(workers, "worker", lambda _name: SimpleNamespace(work=lambda **_options: None))
    monkeypatch.setattr(warming, "in_background", lambda: None)
    work.Command().run(queue=name, burst=True, verbosity=0)
    assert told == [name] * behind


def test_a_failed_job_does_not_end_the_worker(queue, db, monkeypatch):
    failed, good = queue.enqueue(jobs.fail), queue.enqueue(jobs.sleep, 0, job_id="run-7-1")
    told = []
    monkeypatch.setattr(workers.log, "info", lambda text, *values: told.append((text % values, logs.fields())))
    workers.worker("chats").work(burst=True, logging_level="CRITICAL")
    assert failed.get_status(refresh=True) == "failed"
    assert good.get_status(refresh=True) == "finished"
    assert [text.partition(" in ")[0] for text, _fields in told] == ["chats: failed", "chats: done"]
    assert [ids for _text, ids in told] == [{"job": failed.id}, {"job": "run-7-1", "run": "0"}]


def test_the_heart_beats_while_a_job_runs(queue, rq_url, db, monkeypatch):
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.05)
    worker = workers.worker("chats")
    job = queue.enqueue(jobs.beats, rq_url, worker.key, 0.6)
    worker.work(burst=True, logging_level="CRITICAL")
    assert job.return_value(refresh=True) > 3


def test_a_killed_workers_job_is_given_up_soon(queue, child_environment, manage, monkeypatch):
    """Not only after the job's whole time limit, which is a day."""
    job = queue.enqueue(jobs.sleep, 60, job_timeout=86400)
    child = subprocess.Popen(manage("work", "chats"), env=child_environment)
    wait_until(lambda: job.get_status(refresh=True) == "started")
    child.kill()
    child.wait()
    registry = StartedJobRegistry(queue=queue)
    ends = [score for _, score in queue.connection.zrange(registry.key, 0, -1, withscores=True)]
    assert ends
    assert max(ends) <= time.time() + workers.LIFE_SECONDS


def test_sigterm_lets_the_job_end(queue, child_environment, manage):
    job, later = queue.enqueue(jobs.sleep, 1.5), queue.enqueue(jobs.pid)
    child = subprocess.Popen(manage("work", "chats"), env=child_environment)
    wait_until(lambda: job.get_status(refresh=True) == "started")
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 0
    assert job.return_value(refresh=True) == "slept"
    assert later.get_status(refresh=True) == "queued"
    assert Worker.all(queue=queue) == []


def test_a_job_whose_executions_are_gone_is_forgotten_and_enqueued_again(rq_connection):
    from coverage.queueing import CHATS, enqueue_now

    assert enqueue_now(CHATS, len, "x", job_id="gone")
    rq_connection.hset("rq:job:gone", "status", "failed")
    rq_connection.zadd("rq:executions:gone", {"execution-that-expired": 2**40})
    assert enqueue_now(CHATS, len, "x", job_id="gone")
