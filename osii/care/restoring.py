"""Restoring a backup into an empty place: all of it or nothing.

The archive is read whole and compared with its manifest before anything is touched. Files are laid out beside the store
and moved into place; the database is restored in one transaction. A mark in the home says that this is under way: until
it is gone nothing else starts there, and the next `restore` removes what a killed one left, or brings it to its end.
"""

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tarfile import TarError
from typing import Any

import filelock
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection

from coverage.models import Learner
from coverage.words import counted
from extraction.models import Document, LanguageModel, Removal
from osii import embedded, env, services
from osii.models import ApiToken, ChatImport, Collection, Erasure, ProcessingRun, StaffAction

from . import archive, marker, programs
from .archive import ArchiveError, Contents
from .backups import megabytes

READ_ONLY, PRIVATE = 0o444, 0o600
STAGING = "restoring"
SPARE_BYTES = 2**28

TABLES = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""


OF_PEOPLE = (
    *(get_user_model(), Learner, Document, ApiToken, ChatImport, Collection, ProcessingRun),
    *(LanguageModel, Removal, Erasure, StaffAction),
)
"""Whose rows a person brought in; without any of them a database is as a first command makes it."""


class RestoreRefused(Exception):
    """Nothing was restored, and nothing is left of the attempt; the text says why and what to do."""


def check(path: Path, *, progress: Callable[..., Any]) -> Contents:
    """Read the archive and prove that this OSII can restore it. Raises RestoreRefused; changes nothing."""
    try:
        archive.read_head(path)  # a wrong file is named at once
        with progress("Reading the backup (MB)", path.stat().st_size // 10**6) as advance:
            contents = archive.verify(path, megabytes(advance))
    except ArchiveError as error:
        raise RestoreRefused(str(error)) from None
    unknown = _unknown_migrations(contents.head)
    if unknown:
        raise RestoreRefused(
            f"{path} was made by a newer OSII: it has {counted(len(unknown), 'migration')} that this one lacks "
            f"({', '.join(unknown[:3])}). Upgrade OSII first"
        )
    return contents


def restore(path: Path, *, progress: Callable[..., Any]) -> dict[str, Any]:
    """Restore the archive into this home and database; returns what was restored and proven. Raises RestoreRefused."""
    with _nothing_else_runs():
        contents = check(path, progress=progress)
        begun = marker.read()
        here = marker.Marker(str(contents.head.get("backup")), str(path.resolve()), _database())
        if begun is not None and begun.database != here.database:
            raise RestoreRefused(
                f"a restore that did not end went to another database ({begun.database or 'not known'}): set DATABASE_URL "
                f"as it was then and restore {begun.file or 'that file'} again, or empty {settings.OSII_HOME}"
            )
        if begun is not None and _tables():
            if begun.backup != here.backup:
                raise RestoreRefused(
                    f"the restore of {begun.file} did not end: run it again first, it has only to be finished"
                )
        else:
            _bring_in(path, contents, here, begun, progress)
        done = _finish(progress)
        marker.clear()
    documents = {name.split("/")[2] for name in contents.members if name.startswith(f"{archive.STORE}/objects/")}
    return {
        "file": str(path),
        "made_at": contents.head["made_at"],
        "documents": len(documents),
        "files": len(contents.members),
        "bytes": sum(member.size for member in contents.members.values()),
        **done,
    }


def _bring_in(
    path: Path, contents: Contents, here: marker.Marker, begun: marker.Marker | None, progress: Callable[..., Any]
) -> None:
    """Files and database, both or neither."""
    if begun is None:
        _refuse_what_is_there()
    _refuse_server(contents.head)
    _refuse_little_room(contents)
    here.write()
    try:
        _remove_files()
        _lay_out(path, contents, progress)
        _place()
        with progress("Restoring the database") as advance:
            _restore_database(path, contents.head)
            advance(1)
    except BaseException as error:
        if not _committed():
            _remove_files()
            marker.clear()
        if isinstance(error, TarError | EOFError):
            raise RestoreRefused(f"{path} changed while it was read ({error}); nothing is left of it") from None
        if isinstance(error, OSError):
            room = "; free some space" if error.errno == errno.ENOSPC else ""
            raise RestoreRefused(
                f"the backup could not be laid out ({error.strerror}){room}; nothing is left of it"
            ) from None
        raise


@contextlib.contextmanager
def _nothing_else_runs() -> Iterator[None]:
    run = settings.OSII_HOME / "run"
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = filelock.FileLock(run / "up.lock", timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise RestoreRefused(f"`up`, or another restore, runs for {settings.OSII_HOME}: stop it first") from None
    with lock:
        yield


def _unknown_migrations(head: dict[str, Any]) -> list[str]:
    ours = {config.label: Path(config.path) / "migrations" for config in apps.get_app_configs()}
    found = []
    for app, name in head.get("migrations", []):
        if app not in ours or not (ours[app] / f"{name}.py").exists():
            found.append(f"{app}.{name}")
    return found


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        return f"{env.mask(embedded.database_url())}#{cursor.fetchone()[0]}"


def _tables() -> int:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        return cursor.fetchone()[0]


def _committed() -> bool:
    """Whether the database holds the backup now. One that cannot be asked may: then the mark stays."""
    try:
        connection.close()
        return bool(_tables())
    except DatabaseError:
        return True


def _refuse_what_is_there() -> None:
    if (found := _tables()) and not _renew_unused():
        raise RestoreRefused(
            f"the database at {env.mask(embedded.database_url())} has {found} tables: restore into an empty one "
            "(a new OSII_HOME, or a new database in DATABASE_URL)"
        )
    for folder in (_home(archive.STORE) / "objects", _home(archive.UPLOADS)):
        if folder.is_dir() and any(path.name != "incoming" for path in folder.iterdir()):
            raise RestoreRefused(f"{folder} is not empty: restore into a new OSII_HOME")


def _renew_unused() -> bool:
    """Begin an embedded database anew that some command has made tables in, and nobody a row: True when that was done."""
    if not _database_is_here() or services.pending_migrations() or any(model.objects.exists() for model in OF_PEOPLE):
        return False
    name = connection.settings_dict["NAME"]
    connection.close()
    embedded.renew_database(name)
    return True


def _refuse_server(head: dict[str, Any]) -> None:
    """A server that is too old, or lacks an extension: made here, for only an administrator may."""
    server = programs.server_major()
    if server < head["postgresql"]:
        raise RestoreRefused(
            f"the backup is of PostgreSQL {head['postgresql']}, this server is {server}: restore into {head['postgresql']} or newer"
        )
    programs.find("pg_restore", server)
    for name in head["extensions"]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {connection.ops.quote_name(name)}")
        except DatabaseError as error:
            reason = str(error).strip().splitlines()[0]
            raise RestoreRefused(
                f"the backup needs the extension {name}, which cannot be made here ({reason}): have an administrator "
                f'run CREATE EXTENSION "{name}" in this database'
            ) from None


def _refuse_little_room(contents: Contents) -> None:
    needed = contents.files_bytes
    if _database_is_here():
        needed += 3 * contents.members[archive.DATABASE].size  # it is compressed, and gets its indexes
    free = shutil.disk_usage(settings.OSII_HOME).free
    if free < needed + SPARE_BYTES:
        raise RestoreRefused(
            f"{settings.OSII_HOME} has {free / 1e9:.1f} GB free, and about {(needed + SPARE_BYTES) / 1e9:.1f} GB are needed"
        )


def _database_is_here() -> bool:
    return services.POSTGRES in embedded.needed()


def _home(name: str) -> Path:
    return settings.OSII_HOME / name


def _remove_files() -> None:
    """What a restore laid out; nothing else was there when it began."""
    for path in (_home(STAGING), _home(archive.STORE), _home(archive.UPLOADS)):
        if path.exists():
            shutil.rmtree(path)


def _lay_out(path: Path, contents: Contents, progress: Callable[..., Any]) -> None:
    root = _home(STAGING)
    root.mkdir(mode=0o700)
    names = [name for name in contents.members if name != archive.DATABASE]
    with progress("Laying out files", len(names)) as advance:
        for name, reader in archive.members(path):
            if name in contents.members and name != archive.DATABASE:
                _write(root / name, reader, READ_ONLY if name.startswith(archive.STORE) else PRIVATE)
                advance(1)
    (root / archive.STORE).mkdir(mode=0o700, exist_ok=True)


def _write(path: Path, reader: Any, mode: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as file:
        shutil.copyfileobj(reader, file, archive.BLOCK)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _place() -> None:
    for name in (archive.STORE, archive.UPLOADS):
        if (_home(STAGING) / name).exists():
            (_home(STAGING) / name).rename(_home(name))
    _home(STAGING).rmdir()


def _restore_database(path: Path, head: dict[str, Any]) -> None:
    address, environment = programs.address()
    command: list[str | Path] = [
        *(programs.find("pg_restore", programs.server_major()), "--single-transaction", "--exit-on-error"),
        *("--no-owner", "--no-privileges", f"--dbname={address}"),
    ]
    connection.close()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, env=environment
        ) as process:
            try:
                with contextlib.suppress(BrokenPipeError):  # it has failed, and says why
                    _feed(path, process.stdin)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            said.seek(0)
            line = programs.last_line(said.read().decode(errors="replace"))
            raise RestoreRefused(f"pg_restore failed ({line}); nothing is left of it")


def _feed(path: Path, pipe: Any) -> None:
    try:
        for name, reader in archive.members(path):
            if name == archive.DATABASE:
                shutil.copyfileobj(reader, pipe, archive.BLOCK)
                return
    finally:
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def _finish(progress: Callable[..., Any]) -> dict[str, Any]:
    """Bring tables up to this OSII, take up what was under way, write the mirrors, and prove what was restored."""
    from extraction.documents import services as documents
    from extraction.reconcile import reconcile_runs
    from osii import invariants
    from osii.imports.reconcile import reconcile_imports
    from osii.library.run_reconcile import reconcile_processing

    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for reconcile in (reconcile_runs, reconcile_imports, reconcile_processing):
        reconcile()
    left = [str(row) for row in documents.reconcile_all() if not row.healed]
    with progress("Checking", len(invariants.ROOMS)) as advance:
        found = invariants.violations(advance)
    return {"violations": found, "count": sum(len(lines) for lines in found.values()), "not_healed": left}
