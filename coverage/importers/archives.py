"""Zip archives as folders of sources. Nothing is unpacked to disk, so paths inside an archive can do no harm."""

import io
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import BinaryIO

from .records import Problem, shorten
from .sources import CLUTTER, Folder, Source
from .streams import PackedFileError, check_expansion, member_reader

# A list of members longer than this (in bytes) would fill the memory before one of them is read.
_LONGEST_LIST = 32 * 1024 * 1024
_TOO_MANY = "it holds more files than an export does"
# The record at the end of every zip archive: its length without the comment, and where the list's length stands.
_END_MAGIC, _END_LENGTH, _LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535
_END64_MAGIC, _END64_LENGTH = b"PK\x06\x06", 56
_IN_END64 = 0xFFFFFFFF
_ENCRYPTED = 0x1


class Member(Source):
    """A file in an archive; readable while the archive is open."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, archive_label: str):
        path = _path(info)
        super().__init__(
            f"{archive_label}/{shorten(str(path), 200)}", path.name, f"{archive_label}/{path.parent}", named=False
        )
        self._archive = archive
        self._info = info

    @property
    def size(self) -> int:
        return self._info.file_size

    def open_stored(self) -> io.BufferedReader:
        return member_reader(self._archive, self._info)


@contextmanager
def opened(source: Source) -> Iterator[tuple[Folder, list[Problem]]]:
    """The files of a zip archive, and what is wrong with some of them; they can be read inside this context.

    Raises PackedFileError when the archive as a whole is damaged or refused, or another OSError.
    """
    with source.open_stored() as stream:
        _check_length_of_list(stream)
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise PackedFileError(f"it is a damaged zip archive: {error}") from None
        with archive:
            members = [info for info in archive.infolist() if not info.is_dir() and not _is_clutter(info)]
            check_expansion(sum(info.file_size for info in members), source.size)
            yield _listed(archive, members, source.label)


def _listed(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], label: str) -> tuple[Folder, list[Problem]]:
    problems = []
    locked = [info for info in members if info.flag_bits & _ENCRYPTED]
    if locked:
        reason = f"{len(locked):,} of its {len(members):,} files are encrypted"
        problems.append(Problem(label, "", reason, "unpack it with its password, and import the folder"))
    files = [Member(archive, info, label) for info in members if not info.flag_bits & _ENCRYPTED]
    return Folder(label, tuple(sorted(files, key=lambda file: file.label))), problems


def _path(info: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(info.filename.replace("\\", "/"))


def _is_clutter(info: zipfile.ZipInfo) -> bool:
    return any(part in CLUTTER or (part.startswith(".") and part != "..") for part in _path(info).parts)


def _check_length_of_list(stream: BinaryIO) -> None:
    """Look at the end record before the standard library reads the list of members as a whole."""
    size = stream.seek(0, os.SEEK_END)
    start = max(0, size - _END_LENGTH - _LONGEST_COMMENT - _END64_LENGTH - 20)
    stream.seek(start)
    tail = stream.read()
    at = tail.rfind(_END_MAGIC)
    length = 0
    if 0 <= at <= len(tail) - _END_LENGTH:
        (length,) = struct.unpack_from("<L", tail, at + 12)
    at = tail.rfind(_END64_MAGIC)
    if length == _IN_END64 and 0 <= at <= len(tail) - _END64_LENGTH:
        (length,) = struct.unpack_from("<Q", tail, at + 40)
    stream.seek(0)
    if length > _LONGEST_LIST:
        raise PackedFileError(_TOO_MANY, "unpack it yourself")
