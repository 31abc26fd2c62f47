"""What the first release wrote comes forward whole; every migration can be undone, and done again with the same result."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from coverage.models import Chat
from extraction.documents.selectors import version_text
from extraction.models import Document
from extraction.selectors import chat_coverage
from graphctx.models import Steer
from osii.invariants import violations
from tests.environment import SLOT

pytestmark = pytest.mark.slow

OURS = ("coverage", "graphctx", "extraction", "osii")
FIRST = [
    ("coverage", "0002_ledger_rules"),
    ("graphctx", "0002_evidence_rules"),
    ("extraction", "0002_append_only"),
    ("osii", "0001_api_tokens"),
]
WRITTEN = Path(__file__).parent / "first_release"
CANNOT_BE_UNDONE: dict[str, str] = {}
"""Migrations that only go forward, each with its reason."""


@pytest.fixture
def database(transactional_db: None) -> Iterator[None]:
    """A database of its own, a copy of the tests' empty one, behind the default connection."""
    tests, name = connection.settings_dict["NAME"], f"test_osii_{SLOT}_migrations"

    def ask(*statements: str) -> None:
        """From another database: one that somebody uses can be neither copied nor dropped."""
        connection.close()
        with connection._nodb_cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    ask(f'DROP DATABASE IF EXISTS "{name}"', f'CREATE DATABASE "{name}" TEMPLATE "{tests}"')
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.settings_dict["NAME"] = tests
        ContentType.objects.clear_cache()
        ask(f'DROP DATABASE "{name}"')


def made() -> dict[str, list[Any]]:
    """Everything in the database that migrations make: columns, indexes, constraints, triggers, functions, views."""
    catalogue = {
        "columns": "SELECT table_name, column_name, data_type, udt_name, is_nullable, column_default FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY 1, 2",
        "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
        "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "triggers": "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
        "functions": "SELECT proname, pg_get_functiondef(p.oid) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace "
        "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY 1, 2",
        "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1",
    }
    with connection.cursor() as cursor:
        return {what: cursor.execute(query).fetchall() for what, query in catalogue.items()}


def ours(found: dict[str, list[Any]]) -> list[str]:
    """The tables and functions of the project among them."""
    names = {row[0] for what in ("columns", "functions", "views") for row in found[what]}
    return sorted(name for name in names if name.startswith(OURS))


def migrate(*targets: tuple[str, str | None]) -> None:
    MigrationExecutor(connection).migrate(list(targets))


def counts() -> dict[str, int]:
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name.startswith(OURS)]
        return {table: cursor.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}


def test_every_migration_can_be_undone_but_those_listed() -> None:
    nodes = MigrationLoader(None).disk_migrations
    forward = {
        f"{app}.{name}"
        for (app, name), migration in nodes.items()
        if app in OURS and not all(operation.reversible for operation in migration.operations)
    }
    assert forward == set(CANNOT_BE_UNDONE)


@pytest.mark.timeout(600)
def test_the_first_release_comes_forward_with_its_data(database: None, settings: Any, tmp_path: Path) -> None:
    settings.OSII_HOME = tmp_path
    shutil.copytree(WRITTEN / "store", tmp_path / "store")
    newest = made()
    migrate(*((app, None) for app in OURS))
    assert ours(made()) == []
    migrate(*FIRST)
    rows = (WRITTEN / "rows.sql").read_text()
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(rows)
        cursor.execute("COMMIT")
    before = counts()
    call_command("migrate", verbosity=0)
    assert made() == newest
    after = counts()
    assert {table: after[table] for table in before} == before
    assert sum(before.values()) == len(re.findall("^INSERT", rows, re.MULTILINE)) == 57
    _it_works_as_before()


def _it_works_as_before() -> None:
    assert {room: found for room, found in violations().items() if found} == {}
    assert chat_coverage(Chat.objects.get(title="Tea before the meeting").pk)["uncovered_tokens"] == 0
    (edited,) = chat_coverage(Chat.objects.get(title="Ice").pk)["messages"]
    assert edited["state"] == "reopened"
    assert "Green tea is best at 70 degrees." in Steer.objects.get(chat__title="Kettles").text
    file = Document.objects.get()
    assert "oxygen of the air" in version_text(file.pk, file.primary_id)
