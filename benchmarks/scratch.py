"""Databases of the benchmarks' own, on the same server, made before and dropped after."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from graphctx import everything, scan
from osii import embedded

_numbers = itertools.count()


@contextmanager
def scratch_databases() -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Yields what makes one fresh, migrated database after the other: within its block this process uses that one.

    Benchmarks share nothing, so that each finds what it would find alone. Nothing in the user's database is read or
    written. Raises psycopg.Error where the role may not create databases.
    """
    with _database(_template()):
        with _using(_template()):
            call_command("migrate", verbosity=0, interactive=False)
        yield another


@contextmanager
def another() -> Iterator[str]:
    """One more fresh database, used within the block; only inside of ``scratch_databases``."""
    name = f"osii_bench_{os.getpid()}_{next(_numbers)}"
    with _database(name, _template()), _using(name):
        yield name


def _template() -> str:
    return f"osii_bench_{os.getpid()}_template"


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
    parameters = connection.get_connection_params()
    for adapted in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(adapted, None)
    with psycopg.connect(**parameters, autocommit=True) as administration:
        administration.execute(statement)


def analyze() -> None:
    """Give the planner the statistics that autovacuum would have gathered by now."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
