"""The embedded servers of one home, together: started, shared, watched and stopped as one."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

from .paths import EmbeddedError, Layout
from .postgres import Postgres
from .shares import Share
from .valkey import Valkey

Server = Postgres | Valkey


class Services:
    def __init__(self, layout: Layout, servers: Sequence[Server]) -> None:
        self.layout = layout
        self.servers = list(servers)
        self._share = Share(layout.run)
        self._turn = threading.Lock()  # the file locks are per process; threads of one process take turns here

    def ensure(self) -> bool:
        """Start what is not up and take a share; True when this call took it."""
        with self._turn, self._usable_home():
            self.layout.prepare()
            with self._share.starting():
                first = not self._share.held
                self._share.take()
                self.layout.open_sockets()
                for server in self.servers:
                    if not server.up():
                        server.start()
                return first

    @contextlib.contextmanager
    def _usable_home(self) -> Iterator[None]:
        """A home of another user, on a full disk or on one that became read-only is named in one line."""
        try:
            yield
        except OSError as error:
            place = error.filename or self.layout.home
            raise EmbeddedError(
                f"OSII_HOME {self.layout.home} cannot be used: {error.strerror or error} ({place})"
            ) from None

    def leave(self) -> bool:
        """Give the share back and stop the servers when it was the last one; True when they were stopped."""
        with self._turn, self._usable_home():
            if not self._share.held:
                return False
            with self._share.starting():
                if not self._share.leave():
                    return False
                for server in self.servers:
                    server.stop()
                self.layout.close_sockets()
                return True

    def watch(self, stop: threading.Event, every: float) -> None:
        """Look every `every` seconds and heal; returns when `stop` is set."""
        from osii import console

        while not stop.wait(every):
            try:
                if not all(server.up() for server in self.servers):
                    self.ensure()
            except EmbeddedError as error:
                console.warn(str(error))
