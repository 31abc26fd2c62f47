"""The worker that runs jobs in its own process, so that a loaded model stays warm from job to job."""

import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import django_rq
import redis
from django.db import close_old_connections, reset_queries
from rq import SimpleWorker
from rq.job import Job
from rq.queue import Queue
from rq.utils import now

from coverage import queueing

from .ops import logs

log = logging.getLogger(__name__)

BEAT_SECONDS = 10
# How long a killed worker and its job still look alive. RQ's own choice for a non-forking worker is the job's whole
# time limit, during which nobody could enqueue that job again.
LIFE_SECONDS = 60

BEHIND = 5
"""How much nicer a worker of chats or documents is than what people wait for: pages, the API, steers."""


class WarmWorker(SimpleWorker):
    """Runs one job at a time without forking; hard isolation comes from the child processes that jobs start."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, worker_ttl=LIFE_SECONDS, **kwargs)
        self._ended = threading.Event()

    def handle_warm_shutdown_request(self) -> None:
        super().handle_warm_shutdown_request()
        queueing.stop_requested.set()

    def heartbeat(self, timeout: int | None = None, pipeline: redis.client.Pipeline | None = None) -> None:
        super().heartbeat(timeout, pipeline)
        if pipeline is None:  # between jobs; beats within one come from another thread
            from osii.care.memory import watch

            watch.look()

    def get_heartbeat_ttl(self, job: Job) -> int:
        return LIFE_SECONDS

    def perform_job(self, job: Job, queue: Queue) -> bool:
        reset_queries()
        close_old_connections()
        try:
            with self._beating(job), logs.bound(job=job.id, **_subject(job)):
                began = time.monotonic()
                done = super().perform_job(job, queue)
                log.info("%s: %s in %.1f s", queue.name, "done" if done else "failed", time.monotonic() - began)
                return done
        finally:
            close_old_connections()

    def handle_job_failure(
        self, job: Job, queue: Queue, started_job_registry: Any = None, exc_string: str = ""
    ) -> None:
        """The traceback is kept in Redis and shown on the queues' pages: without secrets."""
        super().handle_job_failure(job, queue, started_job_registry, logs.secrets.cover(exc_string))

    def handle_execution_ended(self, *args: Any, **kwargs: Any) -> None:
        self._ended.set()  # a later beat would write keys of a job that has been put away
        super().handle_execution_ended(*args, **kwargs)

    @contextlib.contextmanager
    def _beating(self, job: Job) -> Iterator[None]:
        self._ended.clear()
        thread = threading.Thread(target=self._beat, args=(job,), name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _beat(self, job: Job) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            execution = self.execution
            if execution is None:
                continue
            try:
                with self.connection.pipeline() as pipeline:
                    self.heartbeat(LIFE_SECONDS, pipeline=pipeline)
                    execution.heartbeat(job.started_job_registry, LIFE_SECONDS, pipeline=pipeline)
                    job.heartbeat(now(), LIFE_SECONDS, pipeline=pipeline, xx=True)
                    pipeline.execute()
            except redis.RedisError as error:
                log.warning("The heartbeat of job %s did not reach Redis (%s)", job.id, error)


def _subject(job: Job) -> dict[str, str]:
    """What the job is about, as its log lines name it: the id that it was given, as run, import, item or steer."""
    if not job.args:
        return {}
    kind = job.id.partition("-")[0]
    return {kind if kind in {"run", "import", "item", "steer"} else "subject": str(job.args[0])}


def give_way() -> None:
    """From now on this process, and what it starts, takes the processor when those whom somebody waits for leave it.

    Where they leave nothing it still gets a third of what each of them gets: its lease, its locks and its backlog must not wait.
    """
    os.nice(BEHIND)


def worker(queue_name: str) -> WarmWorker:
    """A worker for exactly one queue: on several, a job can be lost when its worker is killed."""
    queue = django_rq.get_queue(queue_name)
    name = f"{queue_name}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return WarmWorker([queue], name=name, connection=queue.connection)
