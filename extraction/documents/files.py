"""Files that survive a crash: written beside, flushed, moved into place."""

import hashlib
import json
import os
import secrets
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import tomli_w

BLOCK_BYTES = 1 << 20
UNREADABLE = (OSError, ValueError, RecursionError)
"""What reading a JSON or TOML file raises that is missing, damaged, or nested so deeply that it is not ours."""


def sync_directory(path: Path) -> None:
    """Make renames and new entries in ``path`` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Make every file and directory under ``path`` durable, and the files read-only."""
    for directory, _, names in os.walk(path):
        for name in names:
            file = Path(directory, name)
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fchmod(descriptor, 0o444)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_directory(Path(directory))


def replace(path: Path, data: bytes, scratch: Path) -> None:
    """Atomically make ``path`` hold ``data``: a reader sees the old file or the new one, whole.

    ``scratch`` is a directory of the same file system, where the new file is written first.
    """
    temporary = scratch / f"{secrets.token_hex(8)}.new"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def replace_by_copy(path: Path, source: Path, scratch: Path) -> None:
    """Atomically make ``path`` a copy of ``source``, without holding it in memory."""
    temporary = scratch / f"{secrets.token_hex(8)}.new"
    try:
        with source.open("rb") as reader, temporary.open("xb") as file:
            for block in blocks(reader):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(data: Any) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()


def to_toml(data: dict[str, Any]) -> bytes:
    return tomli_w.dumps(data).encode()


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None when it is missing or is not one."""
    try:
        data = json.loads(path.read_bytes())
    except UNREADABLE:
        return None
    return data if isinstance(data, dict) else None


def read_toml(path: Path) -> dict[str, Any] | None:
    """The table in a TOML file; None when it is missing or is not one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UNREADABLE:
        return None
