"""A database of the benchmarks' own, on the same server, made before and dropped after."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from graphctx import everything, scan


@contextmanager
def scratch_database() -> Iterator[str]:
    """Point this process at a fresh, migrated database for as long as the block lasts; yields its name.

    Nothing in the user's database is read or written. Raises psycopg.Error where the role may not create databases.
    """
    own = connection.settings_dict["NAME"]
    name = f"osii_bench_{os.getpid()}"
    connection.close()
    _administer(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        connection.settings_dict["NAME"] = name
        scan.cache.clear()
        everything.cache.clear()
        call_command("migrate", verbosity=0, interactive=False)
        yield name
    finally:
        connection.close()
        scan.cache.clear()
        everything.cache.clear()
        connection.settings_dict["NAME"] = own
        _administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


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
