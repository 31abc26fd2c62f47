"""Emptying the database after a test with real transactions, where Django would truncate every table.

TRUNCATE gives each table and each of its indexes a new file, also where there was no row: half a second for all of them,
after each of many hundred tests. Most tests write a few rows to a few tables.
"""

from collections.abc import Callable

from django.db import connection, transaction
from django.db.backends.postgresql.operations import DatabaseOperations
from psycopg import sql

from coverage.guards import allow_erase

FEW = 1000
"""Rows that are deleted one by one; more are truncated, so that no test finds the pages that another one filled."""

_truncating, _executing = DatabaseOperations.sql_flush, DatabaseOperations.execute_sql_flush


def install(replace: Callable[[type, str, object], None]) -> None:
    """``replace(class, name, function)``, as pytest's ``monkeypatch.setattr``."""
    replace(DatabaseOperations, "sql_flush", statements)
    replace(DatabaseOperations, "execute_sql_flush", execute)


def statements(operations: DatabaseOperations, style: object, tables: list[str], **options: bool) -> list[str]:
    """What empties the tables. Where rows are deleted, neither foreign keys nor append-only tables are asked."""
    if options.get("reset_sequences") or options.get("allow_cascade") or not tables or not _is_superuser():
        return _truncating(operations, style, tables, **options)
    rows = _rows(tables)
    if max(rows.values()) > FEW:
        return _truncating(operations, style, tables, **options)
    filled = [operations.quote_name(table) for table, count in rows.items() if count]
    return ["SET LOCAL session_replication_role = replica", *(f"DELETE FROM {table}" for table in filled)]


def execute(operations: DatabaseOperations, all_of: list[str]) -> None:
    """In one transaction that may erase, as append-only tables refuse TRUNCATE in any other."""
    with transaction.atomic(using=operations.connection.alias):
        allow_erase()
        _executing(operations, all_of)


def _is_superuser() -> bool:
    """Nobody else may put the triggers aside."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return cursor.fetchone() == (True,)


def _rows(tables: list[str]) -> dict[str, int]:
    """How many rows each has, counted to one more than FEW."""
    count = "SELECT {}, (SELECT count(*) FROM (SELECT FROM {} LIMIT {}) few)"
    parts = [sql.SQL(count).format(table, sql.Identifier(table), FEW + 1) for table in tables]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(parts))
        return dict(cursor.fetchall())
