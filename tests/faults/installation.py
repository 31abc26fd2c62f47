"""A whole installation under `manage.py up`, with its real servers and processes: found, killed, frozen, and started again."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg

from osii.embedded import processes
from osii.embedded.paths import DATABASE, Layout
from osii.embedded.placement import place
from osii.embedded.postgres import Postgres
from osii.env import BASE_DIR

WORKERS = ("chats", "library", "steers")
CHILDREN = ("postgres", "valkey", "web-master", "web", *WORKERS, "reconcile", "supervisord")
"""Everything below `up`."""

QUIET = {
    "OSII_EMBEDDER": "hashing",
    "OSII_LOGIN_ATTEMPTS": "0",
    "OSII_API_PER_MINUTE": "0",
    "OMP_WAIT_POLICY": "passive",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def wait_for(happened: Callable[[], Any], what: str, seconds: float, pause: float = 0.1) -> Any:
    """What ``happened()`` returns once it is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not (found := happened()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(pause)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Installation:
    """A home of its own below ``directory``, with `up` in it. ``settings`` are environment variables."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.home, self.inbox = directory / "home", directory / "inbox"
        self.inbox.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
        kept = {name: value for name, value in kept.items() if not name.startswith(("OSII_", "EXTRACTION_"))}
        self.environment = (
            kept
            | QUIET
            | {
                "OSII_HOME": str(self.home),
                "OSII_PORT": str(self.port),
                "OSII_SOURCE_ROOTS": str(self.inbox),
                "OSII_ADMIN_PASSWORD": "only-for-this-run",
                "FAULT_DIR": str(directory),
            }
            | settings
        )
        self.layout = Layout.of(self.home)
        self.log = directory / "up.log"
        self.process: subprocess.Popen | None = None

    # --- up -------------------------------------------------------------------------------------------------------

    def start(self, seconds: float = 120) -> None:
        """Start `up` and wait until it serves. As a service manager does, start it again when it ends at once."""
        wait_for(self._serves, "coming up", seconds, 0.2)

    def begin(self) -> None:
        """Start `up` where it does not run, and wait for nothing."""
        if self.process is None or self.process.poll() is not None:
            with self.log.open("ab") as out:
                command = [sys.executable, str(BASE_DIR / "manage.py"), "up"]
                self.process = subprocess.Popen(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT)

    def _serves(self) -> bool:
        self.begin()
        return self.ready()

    def ready(self) -> bool:
        """Whether every part works, as a load balancer would ask."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.HTTPError, OSError):
            return False

    def kill_up(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = 90) -> int | None:
        """Stop `up` as Ctrl-C does; what is left is killed. Returns its exit status."""
        family = self.family()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            self.process.kill()
        for process in [*family, *self.servers()]:
            with contextlib.suppress(psutil.Error):
                process.kill()
        return self.process and self.process.poll()

    # --- its parts ------------------------------------------------------------------------------------------------

    def family(self) -> list[psutil.Process]:
        """Every process below `up`."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True) if self.process else []
        except psutil.Error:
            return []

    def told(self) -> list[str]:
        """One line for each process that there is of it: number, parent, state, and how it was called."""
        lines = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                called = " ".join(process.cmdline())
                if str(self.directory) in called or process.environ().get("FAULT_DIR") == str(self.directory):
                    lines.append(f"{process.pid} {process.ppid()} {process.status()} {called}")
        return lines

    def servers(self) -> list[psutil.Process]:
        return [process for name in ("postgres", "valkey") for process in self.parts(name)]

    def parts(self, name: str) -> list[psutil.Process]:
        """The living processes of one part: see CHILDREN; also "extractor" and "backend" (of PostgreSQL)."""
        found: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            if name in ("postgres", "backend"):
                found = self._numbered(place(self.layout).data / "postmaster.pid", "postgres")
                if name == "backend":
                    found = [child for server in found for child in server.children()]
            elif name == "valkey":
                found = self._numbered(self.home / "valkey" / "valkey.pid", "valkey")
            elif name == "extractor":
                found = [child for worker in self.parts("library") for child in worker.children(recursive=True)]
            else:
                found = [process for process in self.family() if _is_part(process, name)]
        return [process for process in found if _alive(process)]

    def _numbered(self, pid_file: Path, name: str) -> list[psutil.Process]:
        number = processes.first_number(pid_file)
        process = psutil.Process(number) if number else None
        return [process] if process and process.name().startswith(name) else []

    # --- looking into it --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def database(self) -> Iterator[psycopg.Connection]:
        """Raises psycopg.OperationalError while the server is away."""
        with Postgres(self.layout).connect(DATABASE) as connection:
            yield connection

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple]:
        with self.database() as connection:
            return connection.execute(query, parameters or None).fetchall()

    def spawn(self, code: str) -> subprocess.Popen:
        """A Python process of this installation; what it prints is dropped."""
        return subprocess.Popen(
            [sys.executable, "-c", code], env=self.environment, cwd=BASE_DIR,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def manage(self, *arguments: str) -> Any:
        """The ``--json`` answer of a management command; AssertionError with what it said when it fails."""
        return json.loads(self.run(str(BASE_DIR / "manage.py"), *arguments, "--json"))

    def run(self, *arguments: str) -> str:
        """What Python prints in this installation; AssertionError with what it said when it fails."""
        command = [sys.executable, *arguments]
        done = subprocess.run(command, env=self.environment, cwd=BASE_DIR, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}\n{done.stdout}"
        return done.stdout


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _is_part(process: psutil.Process, name: str) -> bool:
    try:
        line = process.cmdline()
        if name == "supervisord":
            return any(word.endswith("supervised.py") for word in line)
        if name in ("web-master", "web"):
            below = any("gunicorn" in word for word in process.parent().cmdline())
            return "gunicorn" in line and below == (name == "web")
        return "manage.py" in line and name in line
    except (psutil.Error, AttributeError):
        return False
