"""A library with chats and documents to care for, and an empty place to restore into."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from extraction.documents import services
from tests import factories
from tests.environment import SLOT

SAID = "I prefer tea to coffee in the morning. I decided to buy a heat pump in March."


@contextmanager
def silent(_label: str, _total: int | None = None) -> Iterator[Callable[[int], None]]:
    yield lambda _steps=1: None


@pytest.fixture
def home(settings: Any, tmp_path: Path, transactional_db: None) -> Path:
    settings.OSII_HOME = tmp_path / "home"
    settings.OSII_HOME.mkdir()
    return settings.OSII_HOME


@pytest.fixture
def library(home: Path, tmp_path: Path, rq_connection: object) -> str:
    """A chat that was read, and a document with one version; its id."""
    factories.chat(factories.message("a", SAID), factories.message("b", "Noted.", "assistant"))
    call_command("extract_chats", "--all", "--rest", "--json", stdout=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    source = tmp_path / "Zürich notes.md"
    source.write_text("# Notes\n\nThe moon causes the tides.\n")
    file_id = services.add_file(source).file_id
    services.extract(file_id)
    return file_id


@pytest.fixture
def elsewhere(home: Path, settings: Any, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Calling it moves this process to an empty home and an empty database; the test's end moves it back."""
    name = connection.settings_dict["NAME"]
    empty = f"restore_osii_{SLOT}"

    def move() -> Path:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{empty}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{empty}"')
        connection.close()
        connection.settings_dict["NAME"] = empty
        settings.OSII_HOME = tmp_path / "other home"
        settings.OSII_HOME.mkdir()
        return settings.OSII_HOME

    yield move
    connection.close()
    connection.settings_dict["NAME"] = name
    settings.OSII_HOME = home
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{empty}" WITH (FORCE)')
