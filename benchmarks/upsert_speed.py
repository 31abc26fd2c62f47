"""Storing messages over the HTTP API: requests in a second and their slowest twentieth, by the real web server."""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable

from coverage.models import Chat, Learner, Message
from coverage.services import IncomingMessage, get_or_create_learner, put_messages
from osii import tokens
from osii.api import writes

from . import servers
from .measure import Cost, cost_of, growth, once, percentile, spread
from .result import Result, Target

SIZES = (100, 1_000)
"""Messages that a chat has already when one more is stored."""
REQUESTS = 150
CLIENTS = 4
TEXT = "A spring tide is higher than a neap tide, because the sun and the moon pull in one line. "
P95_MS = 200
NOTHING = "a request that does nothing (/healthz)"

Served = tuple[list[float], float]
"""Milliseconds of each request, and the seconds of all."""


def run() -> list[Result]:
    learner = get_or_create_learner("Benchmark upsert")
    _, token = tokens.issue(learner=learner, days=1)
    with servers.valkey() as url, servers.web(url, OSII_API_PER_MINUTE="0", OSII_EMBEDDER="hashing") as port:
        limit = _serve(port, lambda _client: ("GET", "/healthz", None), token)
        before, results = None, _row(NOTHING, limit)
        for size in SIZES:
            chats = [_chat(learner, size) for _ in range(CLIENTS)]
            direct = _directly(chats[0])
            _serve(port, _again(chats), token)  # what the first requests of a thread import and connect is not counted
            times = _serve(port, _putting(chats), token)
            results += _rows(size, direct, times, limit, before)
            before = times
        stored = Message.objects.filter(chat__learner=learner, message_id__startswith="put").count()
    if stored != len(SIZES) * REQUESTS:
        raise RuntimeError(f"{stored} messages are stored, not {len(SIZES) * REQUESTS}: the upsert benchmark is void")
    return results


def _rows(
    size: int, direct: tuple[list[float], Cost], times: Served, limit: Served, before: Served | None
) -> list[Result]:
    name = f"one message into a chat of {size:,}"
    inside, cost = direct
    more = {"peak_mb": cost.peak_mb, "queries": cost.queries}
    more["to_rival"] = spread(times[0])["median"] / spread(inside)["median"]
    more["growth"] = growth(before[0], times[0], SIZES[1] / SIZES[0]) if before else None
    return [
        Result("upsert", f"{name}: the service alone, in this process", "ms", **spread(inside)),
        *_row(f"{name}, {CLIENTS} clients", times, limit, more),
    ]


def _row(name: str, served: Served, limit: Served | None = None, more: dict | None = None) -> list[Result]:
    """Requests in a second, and how long one takes; ``more`` is further fields of that."""
    times, seconds = served
    rate = len(times) / seconds
    ratio = None if limit is None else rate / (len(limit[0]) / limit[1])
    return [
        Result("upsert", name, "requests/s", **once(rate), beside=NOTHING if limit else "", ratio=ratio),
        Result("upsert", f"{name}: one request", "ms", **spread(times), **more or {}),
        Result(
            "upsert", f"{name}: 95th percentile", "ms", **once(percentile(times, 95)),
            target=Target(P95_MS) if limit else None,
        ),
    ]  # fmt: skip


def _serve(port: int, request: Callable[[int], tuple[str, str, dict | None]], token: str) -> Served:
    """Milliseconds of each of REQUESTS requests by CLIENTS that keep their connections, and the seconds of all."""
    times: list[float] = []
    failed: list[str] = []
    numbers = itertools.count()

    def client(which: int) -> None:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while next(numbers) < REQUESTS:
            method, path, body = request(which)
            began = time.perf_counter()
            link.request(method, path, json.dumps(body) if body else None,
                         {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})  # fmt: skip
            answer = link.getresponse()
            answer.read()
            times.append((time.perf_counter() - began) * 1000)
            if answer.status != 200:
                failed.append(f"{method} {path} answered {answer.status}")
                return
        link.close()

    began = time.perf_counter()
    clients = [threading.Thread(target=client, args=(which,)) for which in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    if failed:
        raise RuntimeError(f"{failed[0]}: the upsert benchmark is void")
    return times, time.perf_counter() - began


def _putting(chats: list[Chat]) -> Callable[[int], tuple[str, str, dict | None]]:
    number = itertools.count()

    def request(which: int) -> tuple[str, str, dict | None]:
        return "PUT", f"/api/chats/{chats[which].pk}/messages", [_ui_message(f"put{next(number)}")]

    return request


def _again(chats: list[Chat]) -> Callable[[int], tuple[str, str, dict | None]]:
    """Messages that are there already."""
    return lambda which: ("PUT", f"/api/chats/{chats[which].pk}/messages", [_ui_message("m0")])


def _directly(chat: Chat) -> tuple[list[float], Cost]:
    number = itertools.count()

    def store() -> None:
        text = [{"type": "text", "text": TEXT}]
        writes.store_messages(chat.pk, [IncomingMessage(f"direct{next(number)}", "user", text)])

    times = []
    for _ in range(30):
        began = time.perf_counter()
        store()
        times.append((time.perf_counter() - began) * 1000)
    return times, cost_of(store)


def _ui_message(key: str) -> dict:
    return {"id": key, "role": "user", "parts": [{"type": "text", "text": TEXT}]}


def _chat(learner: Learner, size: int) -> Chat:
    chat = Chat.objects.create(learner=learner, title="A chat that grows")
    parts = [{"type": "text", "text": TEXT}]
    put_messages(chat.pk, [IncomingMessage(f"m{n}", ("user", "assistant")[n % 2], parts) for n in range(size)])
    return chat
