"""How often somebody may try: failed logins, wrong tokens, calls of the API. Counted in Redis, so for all processes together.

A count lasts for one window from its first try. Without Redis nothing is counted and everybody may: it is a hint here too,
and an installation that lost it must still let its staff in.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import redis
from django.conf import settings

logger = logging.getLogger(__name__)

AWAY_SECONDS = 5.0
"""How long Redis is not asked again after it did not answer: a request must not wait for it."""
PREFIX = "osii:limit"

ADMIT = """
local wait = 0
for at, name in ipairs(KEYS) do
  if tonumber(redis.call('GET', name) or '0') >= tonumber(ARGV[at + 1]) then
    wait = math.max(wait, redis.call('TTL', name), 1)
  end
end
if wait > 0 then return wait end
for _, name in ipairs(KEYS) do
  if redis.call('INCR', name) == 1 then redis.call('EXPIRE', name, ARGV[1]) end
end
return 0
"""
# A window that has ended meanwhile has no key: to count down from nothing would make one without an end.
GIVE_BACK = """
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then return redis.call('DECR', KEYS[1]) end
return 0
"""


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

    def admit(self, counters: Sequence[tuple[str, str, int]], seconds: int) -> int:
        """Count one try under each of ``counters`` (kind, key, most) and return 0; or, where one of them has had its most,
        count nothing and return the seconds until the longest window ends. One step: of tries at once no more are let in than
        of tries in turn.
        """
        names = [_name(kind, key) for kind, key, _most in counters]
        most = [most for _kind, _key, most in counters]
        return self._ask(lambda client: client.eval(ADMIT, len(names), *names, seconds, *most)) or 0

    def give_back(self, kind: str, key: str) -> None:
        """Take one try back that was counted and is none that should be."""
        self._ask(lambda client: client.eval(GIVE_BACK, 1, _name(kind, key)))

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
