"""Databases of the benchmarks' own, on the same server, made before and dropped after."""

import itertools
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from graphctx import everything, scan
from osii import embedded

_numbers = itertools.count()
_RUN = secrets.randbelow(2**31)
"""Names this process's databases: process ids would be those of several machines."""
_NAME = re.compile(r"osii_bench_r(\d+)_")
LOCK = 0x6F736969
"""First half of the advisory locks that say which runs are under way; the second is the run's number."""


@contextmanager
def scratch_databases() -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Yields what makes one fresh, migrated database after the other: within its block this process uses that one.

    Benchmarks share nothing, so that each finds what it would find alone. Nothing in the user's database is read or
    written. Raises psycopg.Error where the role may not create databases. What killed runs left is dropped first.
    """
    with _under_way(), _database(_template()):
        with _using(_template()):
            call_command("migrate", verbosity=0, interactive=False)
        yield another


@contextmanager
def another() -> Iterator[str]:
    """One more fresh database, used within the block; only inside of ``scratch_databases``."""
    name = f"{prefix()}{next(_numbers)}"
    with _database(name, _template()), _using(name):
        yield name


def prefix(run: int | None = None) -> str:
    """How the names of a run's databases begin; without one, those of this process's."""
    return f"osii_bench_r{_RUN if run is None else run}_"


def _template() -> str:
    return f"{prefix()}template"


@contextmanager
def _under_way() -> Iterator[None]:
    """Hold this run's lock, by which others know that its databases are in use, and drop those whose run holds none."""
    with administration() as held:
        held.execute("SELECT pg_advisory_lock(%s, %s)", [LOCK, _RUN])
        for name in _left_over(held):
            with suppress(psycopg.errors.ObjectInUse, psycopg.errors.InsufficientPrivilege):
                held.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        yield


def _left_over(server: psycopg.Connection) -> list[str]:
    """Databases of runs that ended without dropping them: the server gives a lock back when its holder is gone."""
    # The databases first: a run takes its lock before it makes any.
    names = [name for (name,) in server.execute("SELECT datname FROM pg_database WHERE datname ~ '^osii_bench_r'")]
    held = server.execute("SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = %s", [LOCK])
    running = {number for (number,) in held}
    return [name for name in names if (run := _NAME.match(name)) and int(run[1]) not in running]


@contextmanager
def scratch_database() -> Iterator[str]:
    """A single one, for as long as the block lasts; yields its name."""
    with scratch_databases() as fresh, fresh() as name:
        yield name


@contextmanager
def _database(name: str, template: str = "template1") -> Iterator[None]:
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    _administer(create)
    try:
        yield
    finally:
        _administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def _using(name: str) -> Iterator[None]:
    """This process works in that database."""
    own = connection.settings_dict["NAME"]
    _turn_to(name)
    try:
        yield
    finally:
        _turn_to(own)


def url() -> str:
    """Of the database in use here, for a process that is to use it as well."""
    return urlunsplit(urlsplit(embedded.database_url())._replace(path=f"/{connection.settings_dict['NAME']}"))


def _turn_to(name: str) -> None:
    connection.close()  # nobody may be connected to what is copied or dropped
    connection.settings_dict["NAME"] = name
    scan.cache.clear()
    everything.cache.clear()


def _administer(statement: sql.Composed) -> None:
    with administration() as server:
        server.execute(statement)


def administration() -> psycopg.Connection:
    """A connection outside of any transaction, as statements about databases need."""
    parameters = connection.get_connection_params()
    for adapted in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(adapted, None)
    return psycopg.connect(**parameters, autocommit=True)


def analyze() -> None:
    """Give the planner the statistics that autovacuum would have gathered by now."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
