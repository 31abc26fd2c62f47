"""Streams that unpack: gzip, and members of zip archives. Their errors are one kind, and what they expand to is bounded."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
# Chats shrink to a tenth. What expands further than this was made to fill memory or disks; small files may.
MAX_RATIO = 200
RATIO_COUNTS_FROM = 64 * 1024 * 1024
MAX_UNPACKED = 20 * 1024 * 1024 * 1024

_BUFFER = 256 * 1024
_BOMB = "it expands more than {ratio}-fold, as chats never do"
# What the standard library raises for damage, wrong passwords and methods it does not know.
_ERRORS = (zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, NotImplementedError, RuntimeError)


class PackedFileError(OSError):
    """A file that cannot be unpacked, or not further than this. ``strerror`` is the reason, for people."""

    def __init__(self, reason: str, remedy: str = "get it again, or unpack it yourself"):
        super().__init__(0, reason)
        self.strerror: str = reason
        self.remedy = remedy


class _Inflating(io.RawIOBase):
    """Reads from ``inner``, and refuses to go on where it has expanded out of proportion."""

    def __init__(self, inner: gzip.GzipFile | zipfile.ZipExtFile, packed: BinaryIO, packed_bytes: Callable[[], int]):
        self._inner = inner
        self._packed = packed
        self._packed_bytes = packed_bytes
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def readinto(self, buffer: Any) -> int:
        try:
            # ``read`` would give nothing of a piece in whose middle the damage lies.
            piece = self._inner.read1(len(buffer))
        except _ERRORS as error:
            raise PackedFileError(
                f"it is damaged or cannot be unpacked: {str(error) or type(error).__name__}"
            ) from None
        self._given += len(piece)
        check_expansion(self._given, self._packed_bytes())
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._packed.close()
        super().close()


class GzipReader(io.BufferedReader):
    """The content of a gzip file."""

    def __init__(self, packed: BinaryIO):
        self._packed = packed
        super().__init__(_Inflating(gzip.GzipFile(fileobj=packed, mode="rb"), packed, packed.tell), _BUFFER)

    def packed_position(self) -> int:
        """How far the packed file has been read, in its own bytes."""
        return self._packed.tell()


def check_expansion(unpacked: int, packed: int) -> None:
    """Raises PackedFileError where ``packed`` bytes have become far too many."""
    if unpacked > MAX_UNPACKED:
        raise PackedFileError(f"it unpacks to more than {MAX_UNPACKED / 2**30:g} GB", "import it in parts")
    if unpacked > RATIO_COUNTS_FROM and unpacked > MAX_RATIO * max(packed, 1):
        raise PackedFileError(_BOMB.format(ratio=MAX_RATIO), "unpack it yourself if you trust it")


def unpacked(stream: io.BufferedReader) -> io.BufferedReader:
    """The stream, or what it holds if it is gzip. It must be at its start."""
    return GzipReader(stream) if stream.peek(2).startswith(GZIP_MAGIC) else stream


def member_reader(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> io.BufferedReader:
    """The content of a zip archive's member. Raises PackedFileError."""
    try:
        stream = archive.open(member)
    except _ERRORS as error:
        raise PackedFileError(f"it cannot be unpacked: {error}") from None
    return io.BufferedReader(_Inflating(stream, stream, lambda: member.compress_size), _BUFFER)


def position(stream: BinaryIO, offset: int) -> int:
    """How much of ``Source.size`` is read when a stream's content is read up to ``offset``."""
    return stream.packed_position() if isinstance(stream, GzipReader) else offset
