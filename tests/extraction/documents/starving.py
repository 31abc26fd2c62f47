"""A process that can open no more files, for real or for files of one name."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def files_left(count: int) -> Iterator[None]:
    """This process may open so many more files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = {int(name) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208 (names, not paths)
    free = (number for number in range(limits[0]) if number not in opened)
    resource.setrlimit(resource.RLIMIT_NOFILE, ([next(free) for _ in range(count + 1)][-1], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@contextmanager
def unreadable(name: str) -> Iterator[None]:
    """Files of this name are there, and this process may open none of them."""
    read = Path.read_bytes

    def refused(path: Path) -> bytes:
        if path.name == name:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return read(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", refused)
        yield
