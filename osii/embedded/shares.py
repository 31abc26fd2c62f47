"""Who uses the embedded servers, and who is last.

Every process that uses them holds a shared lock on `run/users.lock`. At its end it tries to make the lock exclusive:
success means that nobody else is left, and it stops the servers. Starting and stopping happen under `run/start.lock`,
so a new user waits while the last one stops, and then starts the servers again. The kernel drops the locks of a killed
process, so nothing has to be cleaned up by hand.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from .paths import EmbeddedError

START_TIMEOUT = 90.0  # seconds; longer than a cold start on a slow disk


class Share:
    """One process's part in keeping the servers up."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._descriptor: int | None = None
        self._owner = 0

    @property
    def held(self) -> bool:
        """True when this very process took the share: a forked child does not own its parent's."""
        return self._descriptor is not None and self._owner == os.getpid()

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Only one process at a time starts or stops servers."""
        descriptor = os.open(self.run / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait_for(self, descriptor: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > deadline:
                    raise EmbeddedError(
                        f"another process has been starting the embedded servers for {START_TIMEOUT:.0f} s: "
                        f"see who holds {self.run / 'start.lock'}"
                    ) from None
                time.sleep(0.02)
            else:
                return

    def take(self) -> None:
        """Join the users; call it while `starting`."""
        if self.held:
            return
        descriptor = os.open(self.run / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._descriptor, self._owner = descriptor, os.getpid()
        fcntl.flock(descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Stop being a user; True when this was the last one. Call it while `starting`."""
        if not self.held:
            return False
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        else:
            return True
        finally:
            os.close(self._descriptor)
            self._descriptor = None
