"""The store directory: where documents, their versions and the compatibility mirrors lie, and how they get there.

    root.toml                               id of the store, made once
    objects/<file_id>/meta.toml             the file: name, type, size, time, hash, every path it was seen under
    objects/<file_id>/source/<filename>     the bytes themselves, read-only
    objects/<file_id>/{text.txt, …}         compatibility mirrors of the primary version
    objects/<file_id>/extractions/index.json
    objects/<file_id>/extractions/<extraction_id>/{text.txt, manifest.jsonl, provenance.toml, artifacts/}
    objects/<file_id>/removing.json         only while something of the document is being removed: what, and by which record
    tmp/                                    unfinished work, on the same file system; each entry locked by its owner
    locks/<xx>.lock                         one lock per first two hex digits of the file id
    unfinished/<file_id>[.<what>]           while something of the document is being changed; stays when that was cut off
    locks/removals.lock                     shared by whoever removes something, alone for a backup

Paths are built from checked ids only. Whoever changes something under ``objects/<file_id>`` does it within `changing(file_id)`.
"""

import contextlib
import fcntl
import os
import platform
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from filelock import FileLock, Timeout

from . import PIPELINE_VERSION, files
from .bundle import TEXT
from .errors import StoreError
from .ids import check_extraction_id, check_file_id, is_file_id

PRIVATE = 0o700
LOCK_SECONDS = 60.0
REMOVAL_SECONDS = 10.0
"""How long a removal waits for a backup to end, and a backup for removals: a page waits for it."""
GRACE_SECONDS = 60.0
"""Younger entries of tmp/ are left alone: their owner may be about to lock them."""
ROOT, META, INDEX, SOURCE, VERSIONS, IN_USE, REMOVING = (
    "root.toml",
    "meta.toml",
    "index.json",
    "source",
    "extractions",
    "in-use.lock",
    "removing.json",
)
DATA_ROOT = "/"
"""What source_relpath in meta.toml is relative to: sources are known by absolute path."""


class Store:
    """One store directory. Cheap to make; holds no state beside its path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = root / "objects"
        self.scratch = root / "tmp"
        self.locks = root / "locks"
        self.unfinished = root / "unfinished"

    def open(self) -> "Store":
        """Make what is missing of the store; returns itself. Raises StoreError when that is not possible."""
        try:
            self._keep_private()
            for directory in (self.objects, self.scratch, self.locks, self.unfinished):
                directory.mkdir(parents=True, exist_ok=True)
            if not (self.root / ROOT).exists():
                self._write_root()
        except OSError as error:
            raise StoreError("store_unusable", f"the store {self.root} cannot be used: {error.strerror}") from error
        return self

    def _keep_private(self) -> None:
        """The folders above may be open to other users (the database server passes through them); this one is not."""
        self.root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if stat.S_IMODE(self.root.stat().st_mode) & ~PRIVATE:
            with contextlib.suppress(PermissionError):  # another user's store: its owner decides
                self.root.chmod(PRIVATE)

    def _write_root(self) -> None:
        root = {
            "root": {"root_id": str(uuid.uuid4()), "created_utc": utc(datetime.now(UTC))},
            "data_root": DATA_ROOT,
            "build": {"name": "osii", "pipeline_version": PIPELINE_VERSION},
            "tool_versions": {"python": platform.python_version()},
        }
        fresh = self.scratch / f"{uuid.uuid4().hex}.new"
        try:
            files.replace(fresh, files.to_toml(root), self.scratch)
            with contextlib.suppress(FileExistsError):
                os.link(fresh, self.root / ROOT)  # two processes that start at once agree on one id
        finally:
            fresh.unlink(missing_ok=True)
        files.sync_directory(self.root)

    # --- Places ---

    def object_dir(self, file_id: str) -> Path:
        return self.objects / check_file_id(file_id)

    def versions_dir(self, file_id: str) -> Path:
        return self.object_dir(file_id) / VERSIONS

    def version_dir(self, file_id: str, extraction_id: str) -> Path:
        return self.versions_dir(file_id) / check_extraction_id(extraction_id)

    def index_path(self, file_id: str) -> Path:
        return self.versions_dir(file_id) / INDEX

    def source_path(self, file_id: str) -> Path | None:
        """The kept bytes, under the name they first came with; None when they are missing."""
        directory = self.object_dir(file_id) / SOURCE
        try:
            found = [path for path in directory.iterdir() if stat.S_ISREG(path.lstat().st_mode)]
        except OSError:
            return None
        return found[0] if len(found) == 1 else None

    def has_object(self, file_id: str) -> bool:
        return self.object_dir(file_id).is_dir()

    def file_ids(self) -> Iterator[str]:
        """Every document on disk, in no order."""
        with os.scandir(self.objects) as entries:
            yield from (entry.name for entry in entries if is_file_id(entry.name))

    def version_names(self, file_id: str) -> list[str]:
        """Names of the folders under extractions/, sorted; not all need be versions."""
        try:
            with os.scandir(self.versions_dir(file_id)) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size_of_version(self, file_id: str, extraction_id: str) -> int:
        """Bytes of a version's files; 0 when it has none."""
        directory = self.version_dir(file_id, extraction_id)
        return sum(path.lstat().st_size for path in directory.rglob("*") if not path.is_dir())

    def is_unversioned(self, file_id: str) -> bool:
        """Whether this is an object from before versions: a text, and no index."""
        return (self.object_dir(file_id) / TEXT).is_file() and not self.index_path(file_id).exists()

    # --- Locks and temporary work ---

    @contextlib.contextmanager
    def changing(self, file_id: str) -> Iterator[None]:
        """`lock`, with a mark that stays when this process is killed or fails within: `unfinished.heal_marked` finds it."""
        with self.lock(file_id):
            self.mark(file_id)
            yield
            self.unmark(file_id)

    def mark(self, file_id: str, what: str = "") -> None:
        """Note that files of the document may be behind from now on.

        Raises StoreError where that cannot be noted: nothing is changed without. A change may need less than its mark:
        a rename takes no open file, so that a process without one left would place what nobody ever finds.
        """
        path = self._mark(file_id, what)
        try:
            path.touch(mode=0o600)
        except OSError as error:
            raise StoreError(
                "store_unusable", f"{path} cannot be made: {error.strerror}; nothing was changed"
            ) from error

    def unmark(self, file_id: str, what: str = "") -> None:
        with contextlib.suppress(OSError):
            self._mark(file_id, what).unlink(missing_ok=True)

    def stay_marked(self, file_id: str) -> None:
        """Within `changing`: files could not follow the database, so the mark is to stay."""
        with contextlib.suppress(OSError):
            self._mark(file_id).replace(self._mark(file_id, "behind"))

    def _mark(self, file_id: str, what: str = "") -> Path:
        return self.unfinished / (check_file_id(file_id) + (f".{what}" if what else ""))

    def marks(self, grace: float) -> list[tuple[str, str]]:
        """(document, what) of each mark older than ``grace`` seconds: whoever made a younger one is at work."""
        old = time.time() - grace
        found = (path.name.partition(".") for path in sorted(self.unfinished.iterdir()) if _modified(path) <= old)
        return [(file_id, what) for file_id, _, what in found if is_file_id(file_id)]

    def is_marked(self, file_id: str, what: str = "") -> bool:
        return self._mark(file_id, what).exists()

    @contextlib.contextmanager
    def lock(self, file_id: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """The only writer of this document's files. Never nested, never taken while a database row is locked."""
        path = self.locks / f"{check_file_id(file_id)[7:9]}.lock"
        lock = FileLock(path, timeout=seconds, fallback_to_soft=False, preserve_lock_file=True)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                "store_busy", f"another process has held {path} for over {seconds:g} s: try again"
            ) from None
        except OSError as error:
            raise StoreError("store_unusable", f"{path} cannot be locked: {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def removals(self, *, stopped: bool = False) -> Iterator[None]:
        """While something is removed, any number at once; or, ``stopped``, while nothing may be: a backup copies what the
        database named at one moment. Taken before a document's lock. Raises StoreError when the other kind lasts."""
        descriptor = os.open(self.locks / "removals.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + REMOVAL_SECONDS
        try:
            while True:
                try:
                    fcntl.flock(descriptor, (fcntl.LOCK_EX if stopped else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        what = "documents are being removed" if stopped else "a backup is being made"
                        raise StoreError("store_busy", f"{what}: try again when that has ended") from None
                    time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """A directory under tmp/ that is removed at the end, and by `sweep` if this process does not get there."""
        directory = self.scratch / uuid.uuid4().hex
        directory.mkdir()
        lock = _own(directory)
        lock.acquire()
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)
            lock.release()

    def leftovers(self, grace: float = GRACE_SECONDS) -> list[Path]:
        """Entries of tmp/ older than ``grace`` seconds whose owner is gone."""
        young = time.time() - grace
        return [path for path in sorted(self.scratch.iterdir()) if _modified(path) <= young and _abandoned(path)]

    def remove_leftover(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    # --- Writes; the caller holds the document's lock ---

    def place_object(self, file_id: str, prepared: Path) -> None:
        """Move a complete object directory into place; an object that lost its source gets it back."""
        target = self.object_dir(file_id)
        files.sync_tree(prepared)
        if target.exists():
            shutil.rmtree(target / SOURCE, ignore_errors=True)
            (prepared / SOURCE).rename(target / SOURCE)
            files.sync_directory(target)
        else:
            prepared.rename(target)
            files.sync_directory(self.objects)

    def place_version(self, file_id: str, extraction_id: str, bundle: Path) -> None:
        """Move a validated bundle to its place for good. Raises StoreError rather than touch an existing version."""
        target = self.version_dir(file_id, extraction_id)
        if os.path.lexists(target):
            raise StoreError("version_exists", f"{target} exists: versions are never overwritten")
        files.sync_tree(bundle)
        target.parent.mkdir(exist_ok=True)
        bundle.rename(target)
        files.sync_directory(target.parent)
        files.sync_directory(target.parent.parent)

    def discard(self, path: Path) -> None:
        """Take a directory or file of an object away: out of sight in one step, then gone. Missing is fine."""
        away = self.scratch / uuid.uuid4().hex
        try:
            path.rename(away)
        except FileNotFoundError:
            return
        files.sync_directory(path.parent)
        self.remove_leftover(away)


def library_store() -> Store:
    """The store of this installation, under OSII_HOME, ready for use."""
    return Store(Path(settings.OSII_HOME) / "store").open()


def utc(moment: datetime) -> str:
    """ISO 8601 in UTC, as all files of the store write times."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_utc(text: object) -> datetime | None:
    """The time that `utc` wrote; None for anything else."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _own(directory: Path) -> FileLock:
    return FileLock(directory / IN_USE, timeout=0, fallback_to_soft=False, preserve_lock_file=True)


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()  # gone meanwhile: its owner is at work


def _abandoned(path: Path) -> bool:
    if not path.is_dir() or path.is_symlink():
        return True
    lock = _own(path)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return False
    lock.release()
    return True
