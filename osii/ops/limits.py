"""How often somebody may try: failed logins, wrong tokens, calls of the API. Counted in Redis, so for all processes together.

A count lasts for one window from its first try. Without Redis nothing is counted and everybody may: it is a hint here too,
and an installation that lost it must still let its staff in.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import redis
from django.conf import settings

logger = logging.getLogger(__name__)

AWAY_SECONDS = 5.0
"""How long Redis is not asked again after it did not answer: a request must not wait for it."""
PREFIX = "osii:limit"


class Limits:
    """Counters in Redis. ``key`` may be anything: only its hash is stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, redis.Redis] = {}
        self._away_until = 0.0

    def count(self, kind: str, key: str, seconds: int) -> tuple[int, int]:
        """Count one try; returns how many there were in the window, and the seconds until it ends."""
        name = _name(kind, key)

        def ask(client: redis.Redis) -> tuple[int, int]:
            pipeline = client.pipeline()
            pipeline.set(name, 0, ex=seconds, nx=True)
            pipeline.incr(name)
            pipeline.ttl(name)
            _made, tries, left = pipeline.execute()
            return tries, max(1, left)

        return self._ask(ask) or (0, 0)

    def look(self, kind: str, key: str) -> tuple[int, int]:
        """The same without counting."""
        name = _name(kind, key)

        def ask(client: redis.Redis) -> tuple[int, int]:
            both = client.pipeline()
            both.get(name)
            both.ttl(name)
            tries, left = both.execute()
            return int(tries or 0), max(1, left)

        return self._ask(ask) or (0, 0)

    def clear(self, kind: str, key: str) -> None:
        self._ask(lambda client: client.delete(_name(kind, key)))

    def _ask(self, question: Callable[[redis.Redis], Any]) -> Any:
        if time.monotonic() < self._away_until:
            return None
        try:
            return question(self._client())
        except redis.RedisError as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            logger.warning("Redis does not answer (%s): tries are not counted meanwhile", error)
            return None

    def _client(self) -> redis.Redis:
        url = str(settings.RQ_QUEUES["chats"]["URL"])
        with self._lock:
            if url not in self._clients:
                self._clients[url] = redis.Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1)
            return self._clients[url]


def _name(kind: str, key: str) -> str:
    return f"{PREFIX}:{kind}:{hashlib.blake2b(key.encode(errors='replace'), digest_size=16).hexdigest()}"


limits = Limits()

MINUTE = 60
WRONG_TOKENS = 60
"""Wrong tokens from one address in a minute, before it is asked to wait."""


def wait_for_api(token_id: str) -> int:
    """Count a call under this token; the seconds to wait, 0 when it may go on."""
    most = settings.OSII_API_PER_MINUTE
    if not most:
        return 0
    tries, left = limits.count("api", token_id, MINUTE)
    return left if tries > most else 0


def wait_after_wrong_token(address: str) -> int:
    """Count a wrong token from this address; the seconds to wait before the next, 0 while there were few."""
    if not settings.OSII_API_PER_MINUTE:
        return 0
    tries, left = limits.count("token", address, MINUTE)
    return left if tries > WRONG_TOKENS else 0
