"""Web server, workers and reconciler as children of supervisord, itself a child of `manage.py up`.

The configuration holds no path: programs are found through PATH and the working directory is inherited, so a path with
spaces or with supervisord's special characters needs no quoting.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from django.conf import settings

from osii import embedded

STOP_SECONDS = 20  # a job that takes longer is killed; its run is taken up again at the next start

MAIN_SECTION = """\
[supervisord]
nodaemon = true
silent = true
loglevel = warn
logfile = supervisord.log
logfile_maxbytes = 1MB
logfile_backups = 1
pidfile = supervisord.pid
"""

PROGRAM_SECTION = """
[program:{name}]
command = {command}
directory = %(ENV_OSII_CODE)s
numprocs = {count}
process_name = %(program_name)s-%(process_num)d
autorestart = true
startsecs = 2
startretries = 1000
stopwaitsecs = {stop_seconds}
killasgroup = true
redirect_stderr = true
stdout_logfile = /dev/fd/1
stdout_logfile_maxbytes = 0
"""


def programs() -> dict[str, tuple[str, int]]:
    """Name → (command, number of processes)."""
    python = Path(sys.executable).name
    web = f"{python} -m gunicorn --config python:osii.gunicorn_conf osii.wsgi:application"
    return {
        "web": (web, 1),
        "chats": (f"{python} manage.py work chats", settings.OSII_WORKERS),
        "library": (f"{python} manage.py work library", 1),
        "steers": (f"{python} manage.py work steers", 1),
        "reconcile": (f"{python} manage.py reconcile --every {settings.OSII_RECONCILE_SECONDS}", 1),
    }


def configuration() -> str:
    """The text of supervisord's configuration file."""
    # Run by root, supervisord complains unless it is told that this is meant.
    text = MAIN_SECTION + ("user = root\n" if os.geteuid() == 0 else "")
    # Groups stop one after the other, the programs of one group together.
    text += f"\n[group:osii]\nprograms = {','.join(programs())}\n"
    for name, (command, count) in programs().items():
        text += PROGRAM_SECTION.format(name=name, command=command, count=count, stop_seconds=STOP_SECONDS)
    return text


class Supervisor:
    """supervisord and everything below it."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._process: subprocess.Popen[bytes]  # from `start` on
        self._family: list[psutil.Process] = []

    def start(self) -> None:
        config = self.run / "supervisord.conf"
        config.write_text(configuration(), encoding="utf-8")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        self._process = subprocess.Popen(
            # -P: this project's modules must not shadow the library's
            [sys.executable, "-P", str(Path(__file__).with_name("supervised.py")), "-c", config.name],
            cwd=self.run,
            env=os.environ
            | {
                "PATH": path,
                "OSII_BIND": "",
                "OSII_CODE": str(settings.BASE_DIR),
                "OSII_HOME": str(settings.OSII_HOME),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches `up` only, which stops the rest in order
        )
        threading.Thread(target=self._copy_output, name="output", daemon=True).start()

    def running(self) -> bool:
        """False once supervisord has ended. Remembers its children, so that none is left behind if it is killed."""
        if self._process.poll() is not None:
            return False
        with contextlib.suppress(psutil.Error):
            self._family = psutil.Process(self._process.pid).children(recursive=True)
        return True

    def stop(self) -> None:
        """Ask everything to end, wait, and kill what does not."""
        if self.running():
            self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS + 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Normally nobody is left; when supervisord was killed, all of its children are.
        left = [process for process in self._family if alive(process)]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        _, left = psutil.wait_procs(left, timeout=STOP_SECONDS)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _copy_output(self) -> None:
        """What the children print goes to our own output; a closed terminal must not block or end them."""
        for line in self._process.stdout:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def keep_embedded_up(stop: threading.Event) -> threading.Thread:
    """Heal the embedded servers in the background until `stop` is set."""
    thread = threading.Thread(target=embedded.watch, args=(stop,), name="embedded", daemon=True)
    thread.start()
    return thread


def wait_for(listening: Callable[[], bool], seconds: float, stop: threading.Event) -> bool:
    """Wait until `listening()` is true; False when it takes too long or `stop` is set."""
    deadline = time.monotonic() + seconds
    while not listening():
        if stop.wait(0.2) or time.monotonic() > deadline:
            return False
    return True
