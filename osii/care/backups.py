"""Making a backup: the database at one moment, and every file that it names at that moment.

The database is dumped from an exported snapshot. Documents and versions are listed in that same snapshot, and nothing is
removed from the store until they are copied (`Store.removals`): sources and versions never change, so what the database
names is in the archive. Mirrors and copies of outputs are not: reconcile writes them anew from the database.
"""

import contextlib
import errno
import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction

from extraction.documents.files import sync_directory
from extraction.documents.store import ROOT, SOURCE, VERSIONS, Store, library_store
from extraction.models import Document, ExtractionVersion
from osii.imports import uploads
from osii.intake.staging import uploads_root
from osii.models import ChatImport, ProcessingRun

from . import archive, programs
from .archive import Writer

LAST = "last_backup.json"
TOLD = 5


class BackupError(Exception):
    """No backup was made; the text says why and what to do."""


@dataclass(slots=True)
class Named:
    """What the database names at the moment of the snapshot."""

    snapshot: str
    head: dict[str, Any]
    documents: list[str] = field(default_factory=list)
    # Per document its succeeded versions: (extraction id, hash of the text)
    versions: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)


def destination(given: Path) -> Path:
    """The file to write: the given one, or a new name in the given folder. Raises BackupError."""
    target = given
    if given.is_dir():
        target = given / f"osii-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar"
    if not target.parent.is_dir():
        raise BackupError(f"{target.parent} is no folder: make it first, or name another place")
    if os.path.lexists(target):
        raise BackupError(f"{target} exists: backups are never overwritten")
    return target


def make(target: Path, *, with_gaps: bool = False, progress: Callable[..., Any]) -> dict[str, Any]:
    """Write a backup to ``target``, which appears there whole or not at all; returns what it holds.

    ``progress(label, total)`` is a context that yields ``advance(n)``. Raises BackupError, also for files that the
    database names and the store lacks, unless ``with_gaps``.
    """
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "r+b") as file:
            told = _write(file, with_gaps=with_gaps, progress=progress)
            file.flush()
            os.fsync(file.fileno())
        with progress("Reading it back (MB)", partial.stat().st_size // 10**6) as advance:
            contents = archive.verify(partial, megabytes(advance))
        publish(partial, target)
    except archive.ArchiveError as error:
        raise BackupError(f"what was written does not read back: {error}") from None
    except programs.ProgramError as error:
        raise BackupError(str(error)) from None
    except OSError as error:
        room = ": free some space there, or name another place" if error.errno == errno.ENOSPC else ""
        raise BackupError(f"{target} cannot be written ({error.strerror}){room}; nothing of it is kept") from None
    finally:
        partial.unlink(missing_ok=True)
    told |= {"file": str(target), "bytes": target.stat().st_size, "files": len(contents.members), **contents.head}
    _remember(told)
    return told


def publish(partial: Path, target: Path) -> None:
    """Give the whole file its name, and never take another file's."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links, as on many portable disks
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        partial.rename(target)
    sync_directory(target.parent)


def _write(file: Any, *, with_gaps: bool, progress: Callable[..., Any]) -> dict[str, Any]:
    store = library_store()
    gaps: list[str] = []
    with store.removals(stopped=True):
        with _snapshot() as named:
            writer = Writer(file, named.head)
            for folder in named.imports:
                _add_folder(writer, settings.OSII_HOME / archive.UPLOADS, folder)
            with progress("Dumping the database") as advance:
                _dump(writer, named.snapshot)
                advance(1)
        with progress("Copying documents", len(named.documents)) as advance:
            for file_id in named.documents:
                gaps += _add_document(writer, store, file_id, named.versions.get(file_id, []))
                advance(1)
    if gaps and not with_gaps:
        more = f" and {len(gaps) - TOLD:,} more" if len(gaps) > TOLD else ""
        raise BackupError(
            f"the store lacks what the database names: {'; '.join(gaps[:TOLD])}{more}. Add these files again, "
            "or make the backup without them: --with-gaps"
        )
    root = store.root / ROOT
    with root.open("rb") as reader:
        writer.add(f"{archive.STORE}/{ROOT}", reader)
    told = {"gaps": gaps, "documents": len(named.documents)}
    writer.finish(told)
    return told


@contextlib.contextmanager
def _snapshot() -> Iterator[Named]:
    """What the database names; its snapshot can be dumped until the context ends."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        named = Named(cursor.fetchone()[0], _head(cursor))
        named.documents = list(Document.objects.order_by("pk").values_list("pk", flat=True))
        succeeded = ExtractionVersion.objects.filter(status=ExtractionVersion.Status.SUCCEEDED)
        rows = succeeded.order_by("document", "created_at", "id").values_list("document", "pk", "text_sha256")
        for file_id, extraction_id, text in rows.iterator():
            named.versions.setdefault(file_id, []).append((extraction_id, text))
        waiting = ChatImport.objects.filter(files_deleted_at__isnull=True).values_list("pk", flat=True)
        named.imports = [str(identity) for identity in waiting]
        if ProcessingRun.objects.filter(status__in=ProcessingRun.ACTIVE, workflow="intake").exists():
            named.imports.append(str(uploads_root().relative_to(uploads.root())))
        yield named


def _head(cursor: Any) -> dict[str, Any]:
    cursor.execute("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY extname")
    extensions = [name for (name,) in cursor.fetchall()]
    cursor.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
    return {
        "backup": str(uuid4()),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "postgresql": programs.server_major(),
        "extensions": extensions,
        "migrations": [list(row) for row in cursor.fetchall()],
    }


def _dump(writer: Writer, snapshot: str) -> None:
    address, environment = programs.address()
    command: list[str | Path] = [
        *(programs.find("pg_dump", programs.server_major()), "--format=custom", "--no-owner", "--no-privileges"),
        *("--exclude-extension=*", f"--snapshot={snapshot}", f"--dbname={address}"),
    ]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, env=environment
        ) as process:
            try:
                writer.add(archive.DATABASE, process.stdout)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            said.seek(0)
            line = programs.last_line(said.read().decode(errors="replace"))
            raise BackupError(f"pg_dump failed ({line}); nothing is kept")


def _add_document(writer: Writer, store: Store, file_id: str, versions: list[tuple[str, str]]) -> list[str]:
    """Add a document's source and versions; returns what is missing or damaged."""
    gaps = []
    place = f"{archive.STORE}/objects/{file_id}"
    source = store.source_path(file_id)
    if source is None:
        gaps.append(f"{file_id}: its source")
    else:
        with source.open("rb") as reader:
            added = writer.add(f"{place}/{SOURCE}/{source.name}", reader)
        if f"sha256-{added.sha256}" != file_id:
            gaps.append(f"{file_id}: its source is damaged")
    for extraction_id, text in versions:
        directory = store.version_dir(file_id, extraction_id)
        found = {}
        for path in sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()):
            name = str(path.relative_to(directory))
            with path.open("rb") as reader:
                found[name] = writer.add(f"{place}/{VERSIONS}/{extraction_id}/{name}", reader).sha256
        if found.get("text.txt") != text:
            gaps.append(f"{file_id}: version {extraction_id} is {'damaged' if 'text.txt' in found else 'missing'}")
    return gaps


def _add_folder(writer: Writer, root: Path, folder: str) -> None:
    """Add files that wait to be imported; those that an import has just finished with may be gone."""
    for path in sorted((root / folder).rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as reader:
                    writer.add(f"{archive.UPLOADS}/{path.relative_to(root)}", reader)


def prune(folder: Path, keep: int) -> list[str]:
    """Delete backups of this naming in the folder but the newest ``keep``; returns their names."""
    found = sorted(folder.glob("osii-????????T??????Z.tar"))
    gone = found[: max(0, len(found) - keep)]
    for path in gone:
        path.unlink()
    return [path.name for path in gone]


def _remember(told: dict[str, Any]) -> None:
    """For `doctor` and the metrics, which tell how old the last backup is."""
    place = settings.OSII_HOME / LAST
    fresh = place.with_suffix(".new")
    with contextlib.suppress(OSError):
        fresh.write_text(json.dumps({key: told[key] for key in ("file", "made_at", "bytes")}), encoding="utf-8")
        fresh.replace(place)


def last() -> dict[str, Any] | None:
    """{file, made_at, bytes} of the last backup that was made from this home; None if there was none."""
    try:
        told = json.loads((settings.OSII_HOME / LAST).read_text(encoding="utf-8"))
        datetime.fromisoformat(told["made_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told


def megabytes(advance: Callable[[int], object]) -> Callable[[int], None]:
    left = 0

    def on_bytes(count: int) -> None:
        nonlocal left
        left += count
        if left >= 10**6:
            advance(left // 10**6)
            left %= 10**6

    return on_bytes
