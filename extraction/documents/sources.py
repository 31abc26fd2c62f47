"""Source files: finding them under paths, and reading one safely."""

import contextlib
import errno
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from .errors import SourceRefused
from .files import blocks
from .media import HEAD_BYTES, media_type

MAX_SOURCE_BYTES = 1 << 30

OVERRIDES = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
LINE_BREAKING = {"Cc", "Zl", "Zp"}
SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """An open regular file, as it was when it was opened."""

    path: str
    filename: str
    size_bytes: int
    modified_at: datetime
    file: BinaryIO

    def sha256(self) -> str:
        """Hex SHA-256 of the bytes, streamed. Raises SourceRefused when they cannot be read to the end."""
        self.file.seek(0)
        try:
            return hashlib.file_digest(self.file, "sha256").hexdigest()
        except OSError as error:
            raise _refused(error) from None

    def copy_to(self, target: Path) -> str:
        """Write the bytes to ``target`` (must not exist); returns the hex SHA-256 of what was written."""
        self.file.seek(0)
        digest = hashlib.sha256()
        with target.open("xb") as copy:
            for block in blocks(self.file):
                digest.update(block)
                copy.write(block)
        return digest.hexdigest()

    def media_type(self) -> str:
        self.file.seek(0)
        head = self.file.read(HEAD_BYTES)
        self.file.seek(max(0, self.size_bytes - HEAD_BYTES))
        return media_type(self.filename, head, self.file.read(HEAD_BYTES))


@dataclass(frozen=True, slots=True)
class Found:
    """A path to add, or one that cannot be and why. ``given`` itself, or met in a folder."""

    path: str
    problem: SourceRefused | None = None
    given: bool = False


def shown(path: str | os.PathLike[str]) -> str:
    """The path in one line, whatever bytes its name has."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(repr(letter)[1:-1] if unicodedata.category(letter) in LINE_BREAKING else letter for letter in text)


def as_download(name: str) -> str:
    """A file's name for whoever saves it: nothing turns its direction, so that its ending is where it seems to be."""
    return OVERRIDES.sub("_", name)


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], store_root: Path) -> Iterator[Source]:
    """The regular file at ``path``. Raises SourceRefused with a named reason for anything else."""
    absolute = _checked_path(path, store_root)
    try:
        # A file that becomes a pipe or a link between the check and the open does not hang or lead elsewhere.
        descriptor = os.open(absolute, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(error) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_status(status)
        modified = datetime.fromtimestamp(status.st_mtime_ns // 1000 / 1e6, UTC)
        yield Source(absolute, Path(absolute).name, status.st_size, modified, file)


def _checked_path(path: str | os.PathLike[str], store_root: Path) -> str:
    absolute = os.path.abspath(path)  # noqa: PTH100  keeps symbolic links in the folders as they were given
    if "\0" in absolute:
        raise SourceRefused("bad_path", "the path has a NUL character")
    try:
        absolute.encode()
    except UnicodeEncodeError:
        raise SourceRefused("bad_name", "the path is not valid UTF-8: rename the file or its folder") from None
    try:
        status = os.lstat(absolute)
    except OSError as error:
        raise _refused(error) from None
    if stat.S_ISLNK(status.st_mode):
        raise SourceRefused("symlink", "a symbolic link is not followed: add the file it points to")
    _check_status(status)
    if Path(os.path.realpath(absolute)).is_relative_to(os.path.realpath(store_root)):
        raise SourceRefused("inside_store", "the file belongs to the document store itself")
    return absolute


def _check_status(status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise SourceRefused("folder", "this is a folder")
    for is_kind, name in SPECIAL:
        if is_kind(mode):
            raise SourceRefused("special_file", f"this is {name}, not a file")
    if status.st_size == 0:
        raise SourceRefused("empty", "the file is empty")
    if status.st_size > MAX_SOURCE_BYTES:
        raise SourceRefused(
            "too_large", f"the file has {status.st_size:,} bytes; {MAX_SOURCE_BYTES:,} are the most that is taken"
        )


def _refused(error: OSError) -> SourceRefused:
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return SourceRefused("missing", "there is no such file")
    if error.errno == errno.ELOOP:
        return SourceRefused("symlink", "a symbolic link is not followed: add the file it points to")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return SourceRefused("unreadable", "reading it is not permitted")
    return SourceRefused("unreadable", error.strerror or "it cannot be read")


def walk(paths: Iterable[str], store_root: Path) -> Iterator[Found]:
    """The files at and under ``paths``, each once, in a stable order.

    In folders, hidden entries and the store itself are left out, and symbolic links and special files are reported,
    not followed. A path that is given itself is taken as it is; if it is a symbolic link, what it points to is.
    """
    seen: set[str] = set()
    for given in paths:
        for found in _under(given, os.path.realpath(store_root)):
            if found.path not in seen:
                seen.add(found.path)
                yield found


def _under(given: str, store: str) -> Iterator[Found]:
    path = os.path.abspath(given)  # noqa: PTH100
    if Path(path).is_symlink():
        path = os.path.realpath(path)
    if not Path(path).is_dir():
        yield Found(path, given=True)
        return
    if Path(os.path.realpath(path)).is_relative_to(store):
        yield Found(path, SourceRefused("inside_store", "the folder belongs to the document store itself"), given=True)
        return
    problems: list[OSError] = []
    for directory, folders, names in os.walk(path, onerror=problems.append):
        yield from _drain(problems)
        shown_names = sorted(name for name in (*folders, *names) if not name.startswith("."))
        folders[:] = [name for name in shown_names if name in folders and _is_entered(Path(directory, name), store)]
        for name in shown_names:
            entry = Path(directory, name)
            if name in names or entry.is_symlink():
                yield Found(str(entry))
    yield from _drain(problems)


def _drain(problems: list[OSError]) -> Iterator[Found]:
    while problems:
        problem = problems.pop(0)
        yield Found(os.fspath(problem.filename), _refused(problem))


def _is_entered(folder: Path, store: str) -> bool:
    return not folder.is_symlink() and os.path.realpath(folder) != store
