"""Backup and restore against a real database: whole or not at all, and proven by every invariant."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection

from coverage.models import Message
from extraction.documents import removal, store
from extraction.documents.errors import StoreError
from osii import embedded, services
from osii.care import backups, marker, restoring
from tests.extraction.documents.conftest import tree

from .conftest import silent

pytestmark = pytest.mark.slow


def make(target: Path, **more: Any) -> dict[str, Any]:
    return backups.make(target, progress=silent, **more)


def restore(path: Path) -> dict[str, Any]:
    return restoring.restore(path, progress=silent)


def rows() -> dict[str, int]:
    """How many rows each table has."""
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        found = {}
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}"')
            found[name] = cursor.fetchone()[0]
    return found


def test_a_backup_restores_into_an_empty_place_and_every_invariant_holds(
    library: str, home: Path, tmp_path: Path, elsewhere: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = make(tmp_path / "b.tar")
    assert (told["documents"], told["gaps"]) == (1, [])
    assert backups.last()["file"] == str(tmp_path / "b.tar")
    before, files = rows(), tree(home / "store")
    assert before["graphctx_proposition"] > 0
    other = elsewhere()
    stray = other / "store" / "objects" / "sha256-x"
    stray.mkdir(parents=True)
    with pytest.raises(restoring.RestoreRefused, match="not empty"):
        restore(tmp_path / "b.tar")
    stray.rmdir()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE made_by_a_first_command ()")
    with pytest.raises(restoring.RestoreRefused, match="has 1 table"):
        restore(tmp_path / "b.tar")
    if (
        services.POSTGRES in embedded.needed()
    ):  # of our own server, a database that holds nothing of people is begun anew
        with monkeypatch.context() as patched:
            patched.setattr(services, "pending_migrations", list)
            patched.setattr(restoring, "OF_PEOPLE", ())
            restoring._refuse_what_is_there()
        assert restoring._tables() == 0
    else:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE made_by_a_first_command")
    done = restore(tmp_path / "b.tar")
    assert (done["count"], done["not_healed"]) == (0, [])
    assert rows() == before
    assert tree(other / "store") == files
    assert marker.read() is None
    with pytest.raises(restoring.RestoreRefused, match=r"has \d+ tables"):
        restore(tmp_path / "b.tar")
    with pytest.raises(Exception, match="append-only"), connection.cursor() as cursor:  # triggers came along
        cursor.execute("DELETE FROM coverage_coverageentry")


def test_a_restore_that_fails_leaves_nothing_and_one_that_was_killed_is_taken_up(
    library: str, tmp_path: Path, elsewhere: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = tmp_path / "b.tar"
    make(backup)
    other = elsewhere()

    def fails(*_args: object) -> None:
        raise restoring.RestoreRefused("pg_restore failed (no room); nothing is left of it")

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "_restore_database", fails)
        with pytest.raises(restoring.RestoreRefused, match="no room"):
            restore(backup)
    assert [path.name for path in other.iterdir()] == ["run"]
    marker.refuse_to_start()

    # Killed with files laid out: nothing else starts, and the next restore begins anew.
    marker.Marker("one", str(backup), restoring._database()).write()
    (other / "store" / "objects" / "half").mkdir(parents=True)
    with pytest.raises(ImproperlyConfigured, match=r"restore .*b\.tar again"):
        marker.refuse_to_start()
    with monkeypatch.context() as patched:  # and killed again, once the database is there
        patched.setattr(restoring, "_finish", fails)
        with pytest.raises(restoring.RestoreRefused):
            restore(backup)
    assert marker.read() is not None
    assert restore(backup)["count"] == 0
    assert marker.read() is None
    assert Message.objects.count() == 2


def test_a_backup_of_a_newer_osii_is_refused_and_one_that_finds_no_room_leaves_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = backups._head
    monkeypatch.setattr(backups, "_head", lambda cursor: head(cursor) | {"migrations": [["osii", "9999_later"]]})
    make(tmp_path / "b.tar")
    with pytest.raises(CommandError, match=r"newer OSII.*osii\.9999_later"):
        call_command("restore", str(tmp_path / "b.tar"), "--check")

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    (home / backups.LAST).unlink()
    folder = tmp_path / "backups"
    folder.mkdir()
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(backups.BackupError, match="nothing of it is kept"):
            make(folder / "b.tar")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(folder.iterdir()) == []
    assert backups.last() is None


def test_nothing_is_removed_while_a_backup_copies_and_what_the_store_lacks_is_told(
    library: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "REMOVAL_SECONDS", 0.1)
    copy, tried = backups._add_document, []

    def remove_first(*args: Any) -> list[str]:
        with pytest.raises(StoreError, match="a backup is being made"):
            removal.remove_document(library, "test")
        tried.append(library)
        return copy(*args)

    monkeypatch.setattr(backups, "_add_document", remove_first)
    assert make(tmp_path / "b.tar")["gaps"] == []
    assert tried
    (tmp_path / "b.tar").unlink()
    source = next((home / "store" / "objects" / library / "source").iterdir())
    kept = source.read_bytes()
    source.unlink()
    monkeypatch.setattr(backups, "_add_document", copy)
    with pytest.raises(backups.BackupError, match=f"{library}: its source"):
        make(tmp_path / "b.tar")
    assert not (tmp_path / "b.tar").exists()
    assert make(tmp_path / "b.tar", with_gaps=True)["gaps"] == [f"{library}: its source"]
    with pytest.raises(backups.BackupError, match="never overwritten"):
        backups.destination(tmp_path / "b.tar")
    source.write_bytes(kept)
    # Without the lock the document goes, and the backup lacks what its database names.
    with monkeypatch.context() as patched:
        patched.setattr(store.Store, "removals", lambda _self, **_kind: silent(""))
        patched.setattr(
            backups, "_add_document", lambda *args: [removal.remove_document(library, "test")] and copy(*args)
        )
        with pytest.raises(backups.BackupError, match="its source"):
            make(tmp_path / "c.tar")


def test_old_backups_go_when_asked(tmp_path: Path) -> None:
    for day in range(1, 4):
        (tmp_path / f"osii-2026010{day}T000000Z.tar").write_bytes(b"")
    (tmp_path / "osii-mine.tar").write_bytes(b"")
    assert backups.prune(tmp_path, 2) == ["osii-20260101T000000Z.tar"]
    assert (tmp_path / "osii-mine.tar").exists()
