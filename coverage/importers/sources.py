"""The files to import from: named ones, and those found in folders."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .records import Problem

JSON_NAMES = (".json", ".jsonl", ".ndjson")
# Left behind by archivers and operating systems beside the real files.
_CLUTTER = {"__MACOSX", "Thumbs.db", "desktop.ini"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file that can be opened any number of times. ``named`` is False for files found in a folder."""

    path: Path
    label: str
    named: bool = True

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size(self) -> int:
        """Bytes, 0 when the file cannot be read."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def looks_like_json(self) -> bool:
        """By its name; only decides whether a broken file *in a folder* is worth a complaint."""
        return self.path.suffix.lower() in JSON_NAMES

    def open(self) -> BinaryIO:
        """Raises OSError."""
        return self.path.open("rb")


@dataclass(frozen=True, slots=True)
class Folder:
    """A named folder and the files in it, in the order of their names."""

    label: str
    files: tuple[Source, ...]


def find(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Source | Folder | Problem]:
    """What the paths name. A file that several of them reach is taken once, where it comes first."""
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        label = str(given)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            yield Problem(label, "", _why(error), "check the path")
            continue
        if stat.S_ISDIR(mode):
            yield Folder(label, tuple(source for source in _walk(path) if _first_time(source.path, seen)))
        elif not stat.S_ISREG(mode):
            yield Problem(label, "", "is neither a file nor a folder", "give a file or a folder")
        elif _first_time(path, seen):
            yield Source(path, label)


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


def _walk(folder: Path) -> Iterator[Source]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _CLUTTER)
        for name in sorted(names):
            path = Path(root) / name
            if not name.startswith(".") and name not in _CLUTTER and path.is_file():
                yield Source(path, str(path), named=False)
