"""`manage.py up`: the whole installation on one machine."""

import contextlib
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import filelock
from django.conf import settings
from django.contrib.auth import get_user_model

from osii import console, embedded, services, supervision

FIRST_USER = "admin"
START_SECONDS = 60
AT_ONCE_SECONDS = 5


class Command(console.Command):
    help = (
        "Serve the dashboard on 127.0.0.1:OSII_PORT with the web server, workers and the reconciler supervised. "
        "Starts the embedded servers where no URL is given, brings the database up to date, and makes the first "
        f'staff user "{FIRST_USER}" when there is none: its one-time password is printed, or is taken from '
        "OSII_ADMIN_PASSWORD. Ctrl-C stops everything."
    )
    has_json = False

    def run(self, **options: Any) -> None:
        run = settings.OSII_HOME / "run"
        try:
            embedded.make_home()
            run.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            self._unusable(error)
        with self._alone(run):
            self._check_port()
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: stop.set())
            self._prepare()
            if not stop.is_set():  # children that are stopped as they start do not hear it, and are waited for
                self._serve(run, stop)

    @contextlib.contextmanager
    def _alone(self, run: Path) -> Iterator[None]:
        """One `up` per home: a second one would fight for the port and double the workers."""
        lock = filelock.FileLock(run / "up.lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            self.fail(f"`up` is already running for {settings.OSII_HOME}: stop it first, or use another OSII_HOME")
        except OSError as error:
            self._unusable(error)
        with lock:
            yield

    def _unusable(self, error: OSError) -> NoReturn:
        self.fail(f"OSII_HOME {settings.OSII_HOME} cannot be used: {error.strerror} ({error.filename})")

    def _check_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", settings.OSII_PORT))
            except OSError as error:
                self.fail(
                    f"port {settings.OSII_PORT} on 127.0.0.1 cannot be used ({error.strerror}): "
                    "stop what uses it, or set OSII_PORT"
                )

    def _prepare(self) -> None:
        services.prepare(migrate=False)
        services.migrate_if_pending()
        services.check_redis()
        self._first_user()

    def _first_user(self) -> None:
        users = get_user_model().objects
        if users.exists():
            return
        given = settings.OSII_ADMIN_PASSWORD
        password = given or secrets.token_urlsafe(12)
        users.create_superuser(FIRST_USER, password=password)
        shown = "the password from OSII_ADMIN_PASSWORD" if given else f"password {password} (shown only now)"
        self.stdout.write(f'First staff user: "{FIRST_USER}", {shown}')
        self.stdout.flush()

    def _serve(self, run: Path, stop: threading.Event) -> None:
        supervisor = supervision.Supervisor(run)
        supervisor.start()
        healing = supervision.keep_embedded_up(stop)
        announcing = threading.Thread(target=self._announce, args=(stop,), daemon=True)
        announcing.start()
        try:
            unexpected = not self._keep_running(supervisor, stop)
        finally:
            stop.set()
            self.note("Stopping")
            supervisor.stop()
            healing.join()
        if unexpected:
            self.fail(f"the process supervisor ends by itself again and again: see {run / 'supervisord.log'}")

    def _keep_running(self, supervisor: supervision.Supervisor, stop: threading.Event) -> bool:
        """Until `stop` is set. A supervisor that was killed is started anew; False when it ends as soon as it starts."""
        begun = time.monotonic()
        while not stop.wait(0.5):
            if supervisor.running():
                continue
            if time.monotonic() - begun < AT_ONCE_SECONDS:
                return False
            self.note("The process supervisor ended by itself: starting it and everything below it again")
            supervisor.stop()
            supervisor.start()
            begun = time.monotonic()
        return True

    def _announce(self, stop: threading.Event) -> None:
        address = ("127.0.0.1", settings.OSII_PORT)

        def listening() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
                return True
            return False

        if supervision.wait_for(listening, START_SECONDS, stop):
            self.stdout.write(f"OSII is at http://{address[0]}:{address[1]}/ (Ctrl-C stops it, process {os.getpid()})")
            self.stdout.flush()
        elif not stop.is_set():
            self.note(f"The web server has not answered for {START_SECONDS} s: see the lines above")
