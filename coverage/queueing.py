"""The one way to put work on a queue.

PostgreSQL is the truth and Redis is a hint: a job is enqueued only after the transaction that made its row has
committed, under an id derived from that row, so a second call for the same row is a no-op. When Redis cannot be
reached the row stays ``queued`` and the reconciler enqueues it later; the caller's work is never lost.
"""

import logging
import threading
from collections.abc import Callable, Mapping

import django_rq
import redis
from django.db import transaction
from rq.exceptions import DuplicateJobError
from rq.job import Job

logger = logging.getLogger(__name__)

CHATS = "chats"
LIBRARY = "library"
STEERS = "steers"
QUEUES = (CHATS, LIBRARY, STEERS)

ENDED = {"finished", "failed", "stopped", "canceled"}
"""Statuses of jobs that are over; their ids may be used again."""

JOB_TIMEOUT_SECONDS = 24 * 3600
"""RQ's own timeout is a last resort; a run has its own lease and limits."""

TAKEN_SECONDS = 60
"""A job that a worker took and has not begun after so long lost its worker."""
MET_SECONDS = 10 * TAKEN_SECONDS
"""How long it is remembered when such a job was met first."""

Function = Callable[..., object] | str
"""What a job calls: a function, or its dotted name where the function's module imports the one that enqueues it."""

stop_requested = threading.Event()
"""Set when this worker process was told to stop: a long job hands its work back at its next step."""


def enqueue_on_commit(queue: str, function: Function, *args: object, job_id: str) -> None:
    """Enqueue ``function(*args)`` on ``queue`` once the current transaction commits.

    ``args`` are ids only: a job loads fresh rows. ``job_id`` is deterministic (no ``:`` in it).
    """
    transaction.on_commit(lambda: enqueue_now(queue, function, *args, job_id=job_id), robust=True)


def enqueue_now(queue: str, function: Function, *args: object, job_id: str) -> bool:
    """Enqueue at once; False when the job is already there or Redis is away (both harmless)."""
    try:
        rq_queue = django_rq.get_queue(queue, commit_mode="auto")
        _forget_finished(job_id, rq_queue.connection)
        rq_queue.enqueue_call(
            function, args=args, job_id=job_id, unique=True, timeout=JOB_TIMEOUT_SECONDS, result_ttl=3600
        )
    except DuplicateJobError:
        return False
    except redis.exceptions.RedisError as error:
        logger.warning("Redis did not take job %s (%s); the reconciler will enqueue it.", job_id, error)
        return False
    return True


def enqueue_missing(queue: str, function: Function, jobs: Mapping[str, tuple[object, ...]]) -> int:
    """Enqueue, in order, those of ``jobs`` (id → arguments) that do not wait or run already; returns how many.

    Which ones do is asked in one round trip, so looking at a backlog of thousands is cheap.
    """
    try:
        pipeline = django_rq.get_queue(queue).connection.pipeline(transaction=False)
        for job_id in jobs:
            pipeline.hget(Job.key_for(job_id), "status")
        statuses = pipeline.execute()
    except redis.exceptions.RedisError as error:
        logger.warning("Redis did not answer (%s); the reconciler will enqueue %d jobs.", error, len(jobs))
        return 0
    there = {job_id for job_id, status in zip(jobs, statuses, strict=True) if status and status.decode() not in ENDED}
    missing = {job_id: arguments for job_id, arguments in jobs.items() if job_id not in there}
    return sum(enqueue_now(queue, function, *arguments, job_id=job_id) for job_id, arguments in missing.items())


def release_stuck(queue: str) -> int:
    """Drop jobs that a worker took from the queue and was killed before it began, so that they are enqueued again; returns
    how many.

    They lie in RQ's intermediate queue and look as if they still waited. RQ itself looks there every ten minutes only, and
    while a worker runs, and by the clock of whoever looks: where that was ahead for a moment, a job stayed for as long. A
    job is dropped a minute of Redis's time after it was first met there. Raises redis.RedisError.
    """
    rq_queue = django_rq.get_queue(queue)
    between, client = rq_queue.intermediate_queue, rq_queue.connection
    dropped = 0
    for job_id in between.get_job_ids():
        met = f"{between.key}:met:{job_id}"
        if job_id in rq_queue.started_job_registry or client.set(met, "", nx=True, ex=MET_SECONDS):
            continue
        if MET_SECONDS - client.ttl(met) > TAKEN_SECONDS:
            job = rq_queue.fetch_job(job_id)
            if job is not None:
                job.delete()
            between.remove(job_id)
            client.delete(met)
            dropped += 1
    return dropped


def _forget_finished(job_id: str, connection: redis.Redis) -> None:
    """Remove a job of this id that has ended, so that a deterministic id can be used again."""
    job = Job.fetch_many([job_id], connection=connection)[0]
    if job is not None and job.get_status(refresh=False) in ENDED:
        # RQ keeps an index of a job's executions longer than the executions themselves, and stumbles over the gap.
        connection.delete(f"rq:executions:{job_id}")
        job.delete()
