"""The embedded PostgreSQL: make the cluster, start it, find out whether it is up, stop it."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from typing import Any

import psycopg
from psycopg import pq, sql

from . import processes
from .paths import DATABASE, ROLE, EmbeddedError, Layout, private_directory
from .placement import Placement, place

START_SECONDS = 60.0
STOP_SECONDS = 30.0
# Independent of the operating system's locales: upper('é') and ILIKE work with none installed.
INITDB = (
    *("-U", ROLE, "-A", "trust", "-E", "UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--data-checksums", "--no-instructions"),
)
# A start right after a kill meets what the dead server left; it clears by itself within moments.
TRANSIENT = ("still in use", "lock file")
# Refused for want of room: the server is up, and to restart it would cut off everybody who is connected.
FULL = ("too many clients", "remaining connection slots")


class Postgres:
    """One cluster. Methods that change something are called under the start lock."""

    name = "PostgreSQL"

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.log = layout.logs / "postgres.log"
        self._process: subprocess.Popen | None = None

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.layout.postgres_sockets), user=ROLE, dbname=database, connect_timeout=5, autocommit=True
        )

    def up(self) -> bool:
        """Whether the server takes connections to our database. Decided by connecting: a pid file says nothing after a crash."""
        return self._answers(DATABASE)

    def _answers(self, database: str = "postgres") -> bool:
        if self._process is not None:
            self._process.poll()  # collects it when it has ended
        try:
            self.connect(database).close()
        except psycopg.OperationalError as error:
            return any(reason in str(error) for reason in FULL)
        return True

    def _rejects(self) -> bool:
        """Whether a server is there that takes no connections yet, or none any more: it starts, recovers or shuts down."""
        address = f"host='{self.layout.postgres_sockets}' user={ROLE} dbname={DATABASE} connect_timeout=5"
        return pq.PGconn.ping(address.encode()) == pq.Ping.REJECT

    def _shuts_down(self) -> bool:
        """Whether a server is there that says so (in English: see `environment`)."""
        try:
            self.connect().close()
        except psycopg.OperationalError as error:
            return "is shutting down" in str(error)
        return False

    def _left_in_peace(self) -> bool:
        """Wait while a server starts, recovers or shuts down; True when it takes connections then, False when it is gone.

        One that recovers from a crash is not disturbed, however long that takes: stopped in it, it would begin anew. One
        that does not come to the end of its shutdown is ended: PostgreSQL 18 does not when it was asked while it recovered.
        """
        deadline = time.monotonic() + START_SECONDS
        ending_since = None
        while not self._answers():
            now = time.monotonic()
            if not self._rejects():
                return self._answers()
            if not self._shuts_down():
                ending_since = None
            elif ending_since is None:
                ending_since = now
            elif now - ending_since > STOP_SECONDS:
                self._end(signal.SIGQUIT)
                return False
            if now > deadline:
                raise EmbeddedError(f"PostgreSQL recovers from a crash, or shuts down: try again later; see {self.log}")
            time.sleep(0.05)
        return True

    def start(self) -> None:
        """Make what is missing and start the server; returns when it takes connections."""
        if self._left_in_peace():
            self._create_database()  # whoever started it may have been killed before that
            return
        placement = place(self.layout)
        private_directory(self.layout.postgres_sockets, owner=placement.account.uid, group=placement.account.gid)
        self._remove_leftovers(placement)
        if not (placement.data / "PG_VERSION").exists():
            self._initialise(placement)
        self._check_version(placement)
        self._launch(placement)
        self._create_database()

    def stop(self) -> None:
        """Ask for a fast shutdown and wait; open transactions roll back, nothing committed is lost.

        One that recovers is told to end at once: it has nothing to roll back, recovers again at its next start, and might
        never come to the end of a fast shutdown.
        """
        recovers = self._rejects() and not self._shuts_down()
        self._end(signal.SIGQUIT, *(() if recovers else (signal.SIGINT,)))

    def _end(self, last: signal.Signals, *first: signal.Signals) -> None:
        """Send the server each request in turn, until it is gone. Raises EmbeddedError when it stays all the same."""
        data = place(self.layout).data
        pid = processes.first_number(data / "postmaster.pid")
        if not processes.alive(pid, "postgres", data):
            return
        for request, seconds in (*((one, STOP_SECONDS) for one in first), (last, 10.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, request)
            if processes.wait_gone(pid, seconds, self._process):
                return
        raise EmbeddedError(f"PostgreSQL (process {pid}) does not stop; see {self.log}")

    def _remove_leftovers(self, placement: Placement) -> None:
        """End a server that runs but cannot be reached, and drop a pid file whose number now is another program's.

        PostgreSQL itself recognises a dead server's pid file, and refuses while one of its children still lives; that
        check is kept by removing the file only when no server process works in the data directory.
        """
        data = placement.data
        pid_file = data / "postmaster.pid"
        pid = processes.first_number(pid_file)
        if processes.alive(pid, "postgres", data):
            self.stop()
        elif pid and not processes.any_in(data, "postgres"):
            pid_file.unlink(missing_ok=True)
            for name in (".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
                (self.layout.postgres_sockets / name).unlink(missing_ok=True)

    def _initialise(self, placement: Placement) -> None:
        """Make the cluster beside its place and move it there, so that a half-made one is never used."""
        fresh = placement.base / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        with self.log.open("ab") as log:
            command: list[Any] = [placement.programs / "initdb", *INITDB, "-D", fresh]
            done = subprocess.run(
                command, check=False, stdout=log, stderr=log, env=environment(), **placement.account.switch
            )
        if done.returncode != 0:
            raise EmbeddedError(f"initdb failed ({processes.last_line(self.log)}); see {self.log}")
        fresh.rename(placement.data)

    def _check_version(self, placement: Placement) -> None:
        made_with = (placement.data / "PG_VERSION").read_text(encoding="ascii").strip()
        command = [placement.programs / "postgres", "--version"]
        # Not as root: the programs may lie where the server's user can change them.
        answer = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment(), **placement.account.switch
        ).stdout
        if answer and not answer.split()[-1].startswith(f"{made_with}."):
            raise EmbeddedError(
                f"{placement.data} was made by PostgreSQL {made_with}, but the programs are {answer.strip()}: "
                "dump it with the old version and load it into a new home"
            )

    def _launch(self, placement: Placement) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            process = self._spawn(placement)
            if self._wait_ready(process, deadline):
                return
            reason = processes.last_line(self.log)
            if time.monotonic() > deadline or not any(word in self._recent_log() for word in TRANSIENT):
                raise EmbeddedError(f"PostgreSQL did not start ({reason}); see {self.log}")
            time.sleep(0.2)

    def _spawn(self, placement: Placement) -> subprocess.Popen:
        processes.set_aside(self.log)
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.layout.postgres_sockets),
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "max_connections": "200",
            # A statement that fails, and the row that it failed with, hold what people said: the log names the error alone.
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
        }
        command = [placement.programs / "postgres", "-D", placement.data]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                start_new_session=True,  # a terminal's Ctrl-C must not reach it
                **placement.account.switch,
            )
        return self._process

    def _wait_ready(self, process: subprocess.Popen, deadline: float) -> bool:
        """True when it takes connections, False when it has ended or never gets ready."""
        while process.poll() is None:
            if self._answers():
                return True
            if time.monotonic() > deadline:
                if self._rejects():
                    return self._left_in_peace()
                process.send_signal(signal.SIGQUIT)
                process.wait(10)
            time.sleep(0.02)
        return False

    def _recent_log(self) -> str:
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 1500))
            return log.read().decode(errors="replace")

    def _create_database(self) -> None:
        with self.connect() as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def renew_database(self, name: str) -> None:
        """Drop a database and make an empty one in its place."""
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            with contextlib.suppress(psycopg.errors.DuplicateDatabase):  # another process missed it, and made it
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def environment() -> dict[str, str]:
    """This process's environment without what would change the server: locale, time zone and client settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LANG", "TZ", "LD_PRELOAD"))}
    return kept | {"LC_ALL": "C"}
