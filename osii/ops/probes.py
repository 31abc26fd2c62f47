"""`/healthz`: this process answers. `/readyz`: it can do its work. Both say which part, and nothing of anybody's data."""

import os
import threading
import time
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from osii import services
from osii.care import marker

KEPT_SECONDS = 1.0
"""However often it is asked, the parts are looked at once a second."""


def healthz(request: HttpRequest) -> HttpResponse:
    return _answer(request, {"status": "ok"}, 200)


def readyz(request: HttpRequest) -> HttpResponse:
    """200 when every part works, else 503: {"status", "parts": {"database": "ok", …}}."""
    parts = ready.look()
    good = all(state == "ok" for state in parts.values())
    return _answer(request, {"status": "ok" if good else "unavailable", "parts": parts}, 200 if good else 503)


def _answer(request: HttpRequest, data: dict, status: int) -> HttpResponse:
    if request.method not in {"GET", "HEAD"}:
        return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
    headers = {"Cache-Control": "no-store"}
    if status == 503:
        headers["Retry-After"] = "5"
    return JsonResponse(data, status=status, headers=headers)


class Ready:
    """The state of each part, looked at by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, str] = {}
        self._due = 0.0

    def look(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() >= self._due:
                self._parts = {name: part() for name, part in PARTS.items()}
                self._due = time.monotonic() + KEPT_SECONDS
            return self._parts


def _database() -> str:
    try:
        pending = services.pending_migrations()
    except (DatabaseError, InterfaceError):
        connection.close()
        return "does not answer"
    return f"{len(pending)} migrations pending" if pending else "ok"


def _redis() -> str:
    url = str(settings.RQ_QUEUES["chats"]["URL"])
    try:
        with redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except redis.RedisError:
        return "does not answer"
    return "ok"


def _store() -> str:
    root = settings.OSII_HOME / "store"
    return "ok" if os.access(root if root.exists() else settings.OSII_HOME, os.W_OK | os.X_OK) else "cannot be written"


def _restore() -> str:
    return "ok" if marker.read() is None else "a restore did not end"


PARTS: dict[str, Callable[[], str]] = {"database": _database, "redis": _redis, "store": _store, "restore": _restore}
ready = Ready()
