"""The files to import from: named ones, those found in folders, in archives, and standard input."""

import io
import os
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from shutil import copyfileobj
from typing import BinaryIO

from .records import Problem, Skipped
from .spill import FileView
from .streams import unpacked

JSON_NAMES = (".json", ".jsonl", ".ndjson")
STANDARD_INPUT = "standard input"
# Left behind by archivers and operating systems beside the real files.
CLUTTER = {"__MACOSX", "Thumbs.db", "desktop.ini"}
LINK_OUT = "it is a link that leads out of the folder: name what it points to"
# How a zip archive begins; the second is one without any member.
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_COPY_AT_ONCE = 1024 * 1024


class Source(ABC):
    """One file that can be opened any number of times.

    ``named`` is False for files found in a folder or an archive. ``folder`` is equal for files that lie together.
    ``size`` is in bytes as they are stored, 0 when the file cannot be read.
    """

    def __init__(self, label: str, file_name: str, folder: str, *, named: bool):
        self.label = label
        self.file_name = file_name
        self.folder = folder
        self.named = named

    @property
    def name(self) -> str:
        """The file's name without its folder, and as it was before it was packed with gzip."""
        return self.file_name.removesuffix(".gz")

    @property
    def looks_like_json(self) -> bool:
        """By its name; only decides whether a broken file *in a folder* is worth a complaint."""
        return PurePath(self.name).suffix.lower() in JSON_NAMES

    @property
    def looks_like_zip(self) -> bool:
        """By its name; office documents and programs are zip archives too."""
        return PurePath(self.file_name).suffix.lower() == ".zip"

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def open_stored(self) -> io.BufferedReader:
        """The bytes as they are stored. Raises OSError."""

    def open(self) -> io.BufferedReader:
        """The content, unpacked where it is gzip. Raises OSError."""
        return unpacked(self.open_stored())


class File(Source):
    """A file on disk."""

    def __init__(self, path: Path, label: str, *, named: bool = True):
        super().__init__(label, path.name, str(path.parent), named=named)
        self.path = path

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def open_stored(self) -> io.BufferedReader:
        return self.path.open("rb")


class Spool(Source):
    """What came in on a stream that can be read only once, kept in a file without a name."""

    def __init__(self, file: BinaryIO, label: str):
        super().__init__(label, "", "", named=True)
        self._file = file

    @property
    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def open_stored(self) -> io.BufferedReader:
        return io.BufferedReader(FileView(self._file.fileno()), 256 * 1024)


@contextmanager
def spooled(stream: BinaryIO, label: str = STANDARD_INPUT) -> Iterator[Spool]:
    """A stream as a source: its content lies in a temporary file that nobody else can see, and is gone afterwards."""
    with tempfile.TemporaryFile() as file:
        copyfileobj(stream, file, _COPY_AT_ONCE)
        file.flush()
        yield Spool(file, label)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the files in it, in the order of their names; zip archives apart. ``left_out`` are links out of it."""

    label: str
    files: tuple[Source, ...]
    archives: tuple[Source, ...] = ()
    left_out: tuple[Skipped, ...] = ()


Given = str | os.PathLike[str] | Source | Folder


def find(paths: Iterable[Given]) -> Iterator[Source | Folder | Problem]:
    """What the paths name. A file that several of them reach is taken once, where it comes first."""
    seen: set[Path] = set()
    for given in paths:
        if isinstance(given, Source | Folder):
            yield given
            continue
        path = Path(given)
        label = str(given)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            yield Problem(label, "", _why(error), "check the path")
            continue
        if stat.S_ISDIR(mode):
            yield _folder(path, label, seen)
        elif not stat.S_ISREG(mode):
            yield Problem(label, "", "is neither a file nor a folder", "give a file or a folder")
        elif _first_time(path, seen):
            yield File(path, label)


def is_zip(source: Source) -> bool:
    """Whether the content is a zip archive. False when it cannot be read: reading it will tell why."""
    try:
        with source.open_stored() as stream:
            return stream.read(4) in _ZIP_MAGIC
    except OSError:
        return False


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return getattr(error, "strerror", None) or str(error)


def _first_time(path: Path, seen: set[Path]) -> bool:
    real = path.resolve()
    if real in seen:
        return False
    seen.add(real)
    return True


def _folder(path: Path, label: str, seen: set[Path]) -> Folder:
    met = list(_walk(path))
    found = [source for source in met if isinstance(source, File) and _first_time(source.path, seen)]
    archives = tuple(source for source in found if is_zip(source))
    others = tuple(source for source in found if source not in archives)
    return Folder(label, others, archives, tuple(one for one in met if isinstance(one, Skipped)))


def _walk(folder: Path) -> Iterator[File | Skipped]:
    """The files; of links, those that lead to a file in the folder itself. Whoever packed it may have named any other."""
    top = os.path.realpath(folder)
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_passed_over(name))
        for path in [Path(root) / name for name in (*folders, *sorted(names)) if not _is_passed_over(name)]:
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
                if path.exists():
                    yield Skipped(str(path), LINK_OUT, told=True)
            elif path.is_file():
                yield File(path, str(path), named=False)


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or name in CLUTTER
