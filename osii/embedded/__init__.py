"""Embedded PostgreSQL and Valkey, for a machine that has neither.

Each is used only when its URL (DATABASE_URL, REDIS_URL) is not given. `ensure()` starts what is needed and keeps it up
for as long as this process lives; the last process that used a server stops it.
"""

import atexit
import functools
import threading

from osii import env

from .paths import EmbeddedError, Layout
from .postgres import Postgres
from .services import Services
from .valkey import Valkey

__all__ = [
    "EmbeddedError",
    "database_url",
    "ensure",
    "make_home",
    "needed",
    "redis_url",
    "renew_database",
    "status",
    "stop_if_last",
    "watch",
]


@functools.cache
def services() -> Services:
    """The services of this process's OSII_HOME, as the environment asks for them."""
    layout = Layout.of(env.home())
    kinds: list[tuple[type[Postgres] | type[Valkey], str]] = [
        (Postgres, env.url("DATABASE_URL", env.DATABASE_SCHEMES)),
        (Valkey, env.url("REDIS_URL", env.REDIS_SCHEMES)),
    ]
    return Services(layout, [kind(layout) for kind, url in kinds if not url])


def needed() -> list[str]:
    """Names of the servers that are embedded here; empty when both URLs are given."""
    return [server.name for server in services().servers]


def ensure() -> None:
    """Start what is not up and hold a share in it until this process ends. Raises EmbeddedError in one line."""
    if services().servers and services().ensure():
        atexit.register(_leave)


def _leave() -> None:
    """At the end of this process there is nobody left to handle an error."""
    from osii import console

    try:
        stop_if_last()
    except EmbeddedError as error:
        console.warn(str(error))


def stop_if_last() -> bool:
    """Give the share back; when nobody else holds one, stop the servers and return True."""
    return services().leave()


def watch(stop: threading.Event, every: float = 1.0) -> None:
    """Keep the servers up until `stop` is set: one that was killed is started again."""
    services().watch(stop, every)


def status() -> dict[str, bool]:
    """Which embedded servers answer now: {"PostgreSQL": True, "Valkey": True}; starts nothing."""
    return {server.name: server.up() for server in services().servers}


def database_url() -> str:
    """The URL of the database: the given one, or the embedded server's (which need not be up)."""
    return env.url("DATABASE_URL", env.DATABASE_SCHEMES) or services().layout.database_url


def redis_url(number: int = 0) -> str:
    """The URL of Redis: the given one, or the embedded server's database `number` (which need not be up)."""
    return env.url("REDIS_URL", env.REDIS_SCHEMES) or services().layout.redis_url(number)


def renew_database(name: str) -> None:
    """Drop a database of the embedded server and make an empty one; whoever is connected to it is cut off."""
    for server in services().servers:
        if isinstance(server, Postgres):
            server.renew_database(name)


def make_home() -> None:
    """Make OSII_HOME when it is missing, with the permissions that the embedded servers need."""
    services().layout.make_home()
