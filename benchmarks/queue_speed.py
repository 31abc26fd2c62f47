"""What the queue adds to a batch: a real worker on a real server, beside the same job called directly."""

import time
from collections.abc import Callable
from functools import partial

import redis
from django.db import connection
from django.test import override_settings
from rq import Queue
from rq.job import Job

from coverage.models import Chat
from coverage.queueing import CHATS
from coverage.services import IncomingMessage, get_or_create_learner, put_messages
from extraction.jobs import run_chat
from extraction.models import Run
from extraction.running.queueing import job_id
from extraction.services import request_run

from . import servers
from .measure import Cost, cost_of, growth, once, spread
from .result import Result

CALLS = 15
SIZES = (5, 50)
"""Jobs that wait at once: what the queue adds to each must not grow with their number."""
WAIT_SECONDS = 120
EMBEDDER = "hashing"
"""What both ways do is the same and of no interest here; this one loads nothing."""


def run() -> list[Result]:
    with override_settings(OSII_EMBEDDER=EMBEDDER), servers.valkey() as url:
        server = redis.Redis.from_url(url)
        direct = [_milliseconds(_called(_waiting())) for _ in range(CALLS + 1)][1:]
        floor = [_milliseconds(server.ping) + _milliseconds(_commit) for _ in range(CALLS)]
        with servers.worker(CHATS, url, OSII_EMBEDDER=EMBEDDER):
            queue = Queue(CHATS, connection=server)
            _through(queue, [_waiting()])  # the worker has started and imported what it needs
            single = [_through(queue, [_waiting()]) for _ in range(CALLS)]
            empty = [_finished(queue, [queue.enqueue("os.getpid")]) for _ in range(CALLS)]
            many = {size: _through(queue, [_waiting() for _ in range(size)]) / size for size in SIZES}
        cost = cost_of(_called(_waiting()))
    return _rows(direct, floor, single, empty, many, cost)


def _rows(
    direct: list[float], floor: list[float], single: list[float], empty: list[float], many: dict[int, float], cost: Cost
) -> list[Result]:
    limit = "one round trip to Redis and one commit"
    name = "a batch of one message, called directly"
    small, large = (many[size] for size in SIZES)
    added = [max(0.01, value - sorted(direct)[len(direct) // 2]) for value in single]
    return [
        Result("queue", limit, "ms", **spread(floor)),
        Result("queue", "an empty job through RQ: enqueued, worked, seen to be done", "ms", **spread(empty)),
        Result("queue", name, "ms", **spread(direct), peak_mb=cost.peak_mb, queries=cost.queries),
        Result(
            "queue", "the same through the queue, one waiting", "ms", **spread(single), beside=name,
            ratio=spread(single)["median"] / spread(direct)["median"],
        ),
        Result(
            "queue", "what the queue adds to one", "ms", **spread(added), beside=limit,
            ratio=spread(added)["median"] / spread(floor)["median"],
            to_rival=spread(added)["median"] / spread(empty)["median"],
        ),
        Result("queue", f"each of {SIZES[0]} that wait at once", "ms", **once(small)),
        Result("queue", f"each of {SIZES[1]} that wait at once", "ms", **once(large), growth=growth([small], [large], SIZES[1] / SIZES[0])),
    ]  # fmt: skip


def _waiting() -> Run:
    """A chat of one message to read, with its run waiting."""
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark queue"), title="One message")
    text = "Spring tides happen when the sun and the moon pull in one line. The deadline moved to 16 October."
    put_messages(chat.pk, [IncomingMessage("m1", "user", [{"type": "text", "text": text}])])
    return request_run(chat.pk, Run.Mode.REST, "rules", enqueue=False)


def _called(run: Run) -> Callable[[], object]:
    return partial(run_chat, str(run.pk))


def _through(queue: Queue, runs: list[Run]) -> float:
    """Milliseconds until all of these runs were worked."""
    began = time.perf_counter()
    jobs = [queue.enqueue_call(run_chat, args=(str(run.pk),), job_id=job_id(run), result_ttl=60) for run in runs]
    taken = _finished(queue, jobs, began)
    ended = Run.objects.filter(pk__in=[run.pk for run in runs], status=Run.Status.SUCCEEDED).count()
    if ended != len(runs):
        raise RuntimeError(f"{len(runs) - ended} runs did not succeed: the queue benchmark is void")
    return taken


def _finished(queue: Queue, jobs: list[Job], began: float | None = None) -> float:
    began = time.perf_counter() if began is None else began
    deadline = began + WAIT_SECONDS
    # One worker takes them in order: when the last one is done, all are.
    while jobs[-1].get_status() not in {"finished", "failed"}:
        if time.perf_counter() > deadline:
            raise RuntimeError("the worker does not take its jobs: the queue benchmark is void")
        time.sleep(0.0005)
    return (time.perf_counter() - began) * 1000


def _commit() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE coverage_learner SET graph_revision = graph_revision WHERE name = 'Benchmark queue'")


def _milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
