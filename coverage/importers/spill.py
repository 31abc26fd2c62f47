"""The text of one large value in a file without a name, from which any piece of it can be read."""

import io
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .streams import PackedFileError

FROM = 16 * 1024 * 1024
"""Bytes of a value from which its text is not kept in memory."""


class FileView(io.RawIOBase):
    """A reader of an open file with a position of its own, so that several can read at once."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._descriptor).st_size}
        self._at = max(0, starts[whence] + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = os.pread(self._descriptor, len(buffer), self._at)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


class Spill:
    """A text as it comes in. The file goes when nothing refers to this any more."""

    def __init__(self) -> None:
        with _room():
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lasts as long as what is read of it
        weakref.finalize(self, self._file.close)
        self.size = 0

    def write(self, piece: memoryview) -> None:
        """Add to the end. Raises PackedFileError where there is no room."""
        while len(piece):
            with _room():
                written = self._file.write(piece) or 0
            self.size += written
            piece = piece[written:]

    def open(self) -> io.BufferedReader:
        """The text from its start."""
        return io.BufferedReader(FileView(self._file.fileno()))

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from ``start`` to ``end``, by default all of them."""
        end, pieces = self.size if end is None else end, []
        while start < end and (piece := os.pread(self._file.fileno(), end - start, start)):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"it is large, and there is no room for it among the temporary files: {error.strerror or error}"
        raise PackedFileError(reason, "free some, or set TMPDIR to a folder that has it") from None
