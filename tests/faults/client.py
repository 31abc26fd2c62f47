"""A small client of the HTTP API that keeps its connection, gives up in time, and tells an answer from none."""

import contextlib
import http.client
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

NO_ANSWER = 0
IDLE_SECONDS = 2.0
"""A connection that rested longer is opened anew: the server closes it after five, and a request may just miss that."""


@dataclass
class Meter:
    """Seconds of each kind of call, and how often which status came; shared by threads."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    strange: list[str] = field(default_factory=list)
    silences: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def note(self, kind: str, status: int, seconds: float) -> None:
        with self._lock:
            self.statuses[kind][status] += 1
            if 200 <= status < 300:
                self.seconds[kind].append(seconds)

    def complain(self, what: str) -> None:
        with self._lock:
            self.strange.append(what)

    def silence(self, kind: str, error: Exception, seconds: float) -> None:
        """Why a call got no answer, and after how long."""
        with self._lock:
            self.silences.append(f"{kind} after {seconds:.1f} s: {type(error).__name__}: {error}")

    def count(self, *, least: int = 0, most: int = 599) -> int:
        """How many calls were answered with a status in this range."""
        return sum(n for by in self.statuses.values() for status, n in by.items() if least <= status <= most)


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def lost(self) -> bool:
        """Nobody knows whether it was done: no answer, or one that says that something broke."""
        return self.status == NO_ANSWER or self.status >= 500


class Client:
    """One connection, for one thread."""

    def __init__(self, address: str, token: str, meter: Meter, seconds: float = 30) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._meter = meter
        self._used = 0.0

    def call(self, method: str, path: str, body: Any = None, kind: str = "") -> Answer:
        """``path`` is below ``/api``. ``kind`` names the call in the figures."""
        begun = time.monotonic()
        if begun - self._used > IDLE_SECONDS:
            self.close()
        kind = kind or f"{method} {path}"
        try:
            answer = self._ask(method, f"/api{path}", None if body is None else json.dumps(body))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._meter.silence(kind, error, time.monotonic() - begun)
            answer = Answer(NO_ANSWER, None)
        self._used = time.monotonic()
        self._meter.note(kind, answer.status, self._used - begun)
        return answer

    def _ask(self, method: str, path: str, body: str | None) -> Answer:
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        data = response.read()
        with contextlib.suppress(ValueError):
            return Answer(response.status, json.loads(data))
        return Answer(response.status, data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.close()
