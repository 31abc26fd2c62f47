"""The file that `backup` writes and `restore` reads: a plain tar, readable by any tool.

osii-backup.json    what made it, and when: always the first
database.dump       the database, in pg_dump's custom format
store/…             root.toml, and of each document its source and its succeeded versions
uploads/…           files that wait to be imported
manifest.json       every member with its size and SHA-256: always the last, so that a file without it is not whole
"""

import contextlib
import hashlib
import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from coverage.words import counted

FORMAT, VERSION = "osii-backup", 1
HEAD, DATABASE, MANIFEST = "osii-backup.json", "database.dump", "manifest.json"
STORE, UPLOADS = "store", "uploads"
BLOCK = 1 << 20
MOST_TOLD = 1 << 30
"""Bytes that the head or the manifest may have at most."""


class ArchiveError(Exception):
    """The file is no backup that can be restored; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the archive: its size in bytes and the hex SHA-256 of them."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a whole archive holds: ``head`` as the backup wrote it, and its files by name, the head and manifest aside."""

    head: dict[str, Any]
    members: dict[str, Member]

    @property
    def files_bytes(self) -> int:
        """Bytes of what is restored to the disk beside the database."""
        return sum(member.size for name, member in self.members.items() if name != DATABASE)


class Writer:
    """Writes members one after the other to a file that can seek: a size is filled in once it is known."""

    def __init__(self, file: BinaryIO, head: dict[str, Any]) -> None:
        self._file = file
        self._members: dict[str, Member] = {}
        self.add(HEAD, io.BytesIO(_to_json({"format": FORMAT, "version": VERSION} | head)))

    def add(self, name: str, reader: BinaryIO) -> Member:
        """Copy ``reader`` to its end as a member of this name."""
        start = self._file.tell()
        self._file.write(_header(name, 0))
        size, digest = 0, hashlib.sha256()
        while block := reader.read(BLOCK):
            self._file.write(block)
            digest.update(block)
            size += len(block)
        self._file.write(bytes(-size % tarfile.BLOCKSIZE))
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(_header(name, size))
        self._file.seek(end)
        self._members[name] = Member(size, digest.hexdigest())
        return self._members[name]

    def finish(self, told: dict[str, Any]) -> None:
        """Write the manifest, with ``told`` beside the list of members, and the end of the archive."""
        listed = {name: {"size": member.size, "sha256": member.sha256} for name, member in self._members.items()}
        self.add(MANIFEST, io.BytesIO(_to_json(told | {"members": listed})))
        self._file.write(bytes(2 * tarfile.BLOCKSIZE))
        self._file.write(bytes(-self._file.tell() % tarfile.RECORDSIZE))


def _header(name: str, size: int) -> bytes:
    """A header of the same length for every size."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _to_json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=1) + "\n").encode("ascii")


def verify(path: Path, on_bytes: Callable[[int], object] = lambda _count: None) -> Contents:
    """Read the whole archive and compare it with its manifest. Raises ArchiveError; ``on_bytes`` hears of progress."""
    with _readable(path):
        return _verify(path, on_bytes)


def _verify(path: Path, on_bytes: Callable[[int], object]) -> Contents:
    found: dict[str, Member] = {}
    head: dict[str, Any] = {}
    manifest: dict[str, Any] = {}
    for name, reader in members(path):
        if not found:
            data = reader.read(MOST_TOLD)
            head = _head(path, name, data)
            found[name] = _measure(io.BytesIO(data), on_bytes)
        elif manifest:
            raise ArchiveError(f"{path} holds {name!r} after its manifest: it was changed")
        elif name in found:
            raise ArchiveError(f"{path} holds {name!r} twice: it was changed")
        elif name == MANIFEST:
            manifest = _read_json(path, name, reader.read(MOST_TOLD))
        else:
            _check_name(path, name)
            found[name] = _measure(reader, on_bytes)
    if not manifest:
        raise ArchiveError(f"{path} has no manifest at its end: the backup was interrupted, or not copied whole")
    _compare(path, manifest, found)
    del found[HEAD]
    return Contents(head, found)


def members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Each member's name and content, in their order. Raises ArchiveError, and tarfile's and the system's own errors."""
    with tarfile.open(path, "r:") as tar:
        for info in tar:
            reader = tar.extractfile(info) if info.isreg() else None
            if reader is None:
                raise ArchiveError(f"{path} holds {info.name!r}, which is not a plain file: it is no backup of OSII")
            yield info.name, reader


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveError(f"{path} is not a backup of OSII, or is cut off or damaged ({error})") from None
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {error.strerror}") from None


def read_head(path: Path) -> dict[str, Any]:
    """The head alone, without reading the rest. Raises ArchiveError."""
    with _readable(path):
        for name, reader in members(path):
            return _head(path, name, reader.read(MOST_TOLD))
    raise ArchiveError(f"{path} is empty")


def _head(path: Path, name: str, data: bytes) -> dict[str, Any]:
    head = _read_json(path, name, data) if name == HEAD else {}
    if head.get("format") != FORMAT:
        raise ArchiveError(f"{path} is not a backup of OSII")
    if head.get("version") != VERSION:
        raise ArchiveError(
            f"{path} has version {head.get('version')} of the format, this OSII reads {VERSION}: use the newer OSII"
        )
    return head


def _read_json(path: Path, name: str, data: bytes) -> dict[str, Any]:
    try:
        told = json.loads(data)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ArchiveError(f"{path}: {name!r} cannot be read: the file is damaged")
    return told


def _measure(reader: IO[bytes], on_bytes: Callable[[int], object]) -> Member:
    size, digest = 0, hashlib.sha256()
    while block := reader.read(BLOCK):
        digest.update(block)
        size += len(block)
        on_bytes(len(block))
    return Member(size, digest.hexdigest())


def _check_name(path: Path, name: str) -> None:
    """Members go to places below the home only, whoever made the file."""
    if name == DATABASE:
        return
    first, *rest = name.split("/")
    if first not in {STORE, UPLOADS} or not rest or any(part in {"", ".", ".."} for part in rest) or "\0" in name:
        raise ArchiveError(f"{path} holds {name!r}, which no backup has: it was changed")


def _compare(path: Path, manifest: dict[str, Any], found: dict[str, Member]) -> None:
    listed = manifest.get("members")
    wanted = {name: Member(**member) for name, member in listed.items()} if isinstance(listed, dict) else {}
    apart = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if apart or DATABASE not in found:
        what = ", ".join(repr(name) for name in apart[:3]) or "the database"
        raise ArchiveError(
            f"{path} is damaged: {counted(len(apart) or 1, 'file differs', 'files differ')} from its manifest ({what})"
        )
