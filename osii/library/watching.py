"""Watching folders: files that have settled are taken, each state of a file once, across restarts too.

The kernel says when something changes (`watchfiles`); what changed is found by looking, so that nothing depends on a
complete stream of events: network folders have none, and a full queue loses some.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchfiles import watch

from extraction.documents import selectors
from extraction.documents.sources import Found, walk

LOOK_SECONDS = 60.0
"""So often the folders are looked through although nothing was heard."""
TICK_MS = 1000

Signature = tuple[int, int]
"""Size in bytes, and microseconds of the last change: what the database keeps of a source."""


@dataclass(slots=True)
class Watcher:
    """What is known of the files in the watched folders. ``settle_seconds``: so long a file must stay as it is."""

    paths: Sequence[str]
    store_root: Path
    settle_seconds: float = 2.0
    done: dict[str, Signature | None] = field(default_factory=dict)
    pending: dict[str, tuple[Signature | None, float]] = field(default_factory=dict)

    def remember(self) -> None:
        """Take as done what the library has as it is on disk: a restart reads no file again."""
        for path in self.paths:
            known = selectors.known_files(os.path.abspath(path))  # noqa: PTH100 - as sources are named
            self.done |= {name: signature for name, signature in known.items() if Path(name).exists()}

    def look(self, now: float) -> tuple[list[Found], list[str]]:
        """Look through the folders at the time ``now`` (seconds): files that have settled and are not done, and paths
        of done ones that are gone."""
        settled, seen = [], set()
        for found in walk(self.paths, self.store_root):
            seen.add(found.path)
            signature = _signature(found.path)
            if found.path in self.done and self.done[found.path] == signature:
                self.pending.pop(found.path, None)
                continue
            before, since = self.pending.get(found.path, (None, now))
            if found.path not in self.pending or before != signature:
                self.pending[found.path] = (signature, now)
            elif now - since >= self.settle_seconds:
                settled.append(found)
        for path in [path for path in self.pending if path not in seen]:
            del self.pending[path]
        gone = sorted(path for path in self.done if path not in seen)
        for path in gone:
            del self.done[path]
        return settled, gone

    def is_done(self, path: str) -> None:
        """The file was dealt with as it was when it had settled; a change since then counts as a new state."""
        signature, _ = self.pending.pop(path, (None, 0.0))
        self.done[path] = signature


def _signature(path: str) -> Signature | None:
    """None for what is no readable file; it is told about once."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns // 1000) if stat.S_ISREG(status.st_mode) else None


def follow(watcher: Watcher, stop: threading.Event, take: Callable[[Found], None], gone: Callable[[str], None]) -> None:
    """Look, take what has settled, wait for more; until ``stop`` is set, and then after the file in hand."""
    watcher.remember()
    looked = -LOOK_SECONDS
    for heard in _changes(watcher, stop):
        now = time.monotonic()
        if not (heard or watcher.pending or now - looked >= LOOK_SECONDS):
            continue
        looked = now
        settled, left = watcher.look(now)
        for path in left:
            gone(path)
        for found in settled:
            if stop.is_set():
                return
            take(found)
            watcher.is_done(found.path)


def _changes(watcher: Watcher, stop: threading.Event) -> Iterator[bool]:
    """True for each round of changes, False for each tick without; first True, for what is there already."""
    yield True
    folders = sorted({_folder(path) for path in watcher.paths})
    options: dict[str, Any] = {"stop_event": stop, "watch_filter": None, "rust_timeout": TICK_MS, "debounce": 400}
    options |= {"yield_on_timeout": True, "raise_interrupt": False, "ignore_permission_denied": True}
    try:
        for changes in watch(*folders, **options):
            yield bool(changes)
    except OSError:  # the kernel's watches are used up, or this file system has none
        while not stop.wait(watcher.settle_seconds):
            yield True


def _folder(path: str) -> str:
    return path if Path(path).is_dir() else str(Path(path).parent)
