"""Small helpers over server processes that may belong to somebody else's Popen."""

import re
import subprocess
import time
from pathlib import Path

import psutil

BEGINS = "starting PostgreSQL"
# Our own questions whether a server is up are refused while it starts; these refusals say nothing.
TELLING = re.compile(r"\b(?:FATAL|PANIC):(?!\s+the database system is)")
LOG_LIMIT = 10_000_000  # bytes after which a log is set aside at the next start


def alive(pid: int, name: str, directory: Path) -> bool:
    """True when `pid` is a running program of that name for that directory: a recycled pid is not.

    A container may hide another user's working directory even from root; the command line then tells.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith(name):
            return False
        try:
            return Path(process.cwd()) == directory
        except psutil.AccessDenied:
            return str(directory) in process.cmdline()
    except (psutil.Error, OSError):
        return False


def any_in(directory: Path, name: str) -> bool:
    """True when a program of that name works in `directory`, or may do so where this cannot be seen."""
    for process in psutil.process_iter(["name", "cwd", "status"], ad_value=None):
        seen = process.info
        if not (seen["name"] or "").startswith(name) or seen["status"] == psutil.STATUS_ZOMBIE:
            continue
        if seen["cwd"] is None or Path(seen["cwd"]) == directory:
            return True
    return False


def wait_gone(pid: int, seconds: float, child: subprocess.Popen | None = None) -> bool:
    """Wait for a process to end; a zombie counts as gone, for its parent may never collect it."""
    deadline = time.monotonic() + seconds
    while True:
        if child is not None and child.pid == pid:
            child.poll()
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.Error:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def first_number(path: Path) -> int:
    """The pid on a pid file's first line; 0 when there is none."""
    try:
        return int(path.read_text(encoding="ascii", errors="replace").split("\n", 1)[0])
    except (OSError, ValueError):
        return 0


def set_aside(log: Path) -> None:
    """Keep one older log, so that logs do not grow without end."""
    try:
        if log.stat().st_size > LOG_LIMIT:
            log.replace(log.with_suffix(".1.log"))
    except OSError:
        return


def last_line(log: Path) -> str:
    """The line of a log that says why a server ended, for an error message: its last error, else its last line."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")[-20_000:]
    except OSError:
        return ""
    lines = text.rpartition(BEGINS)[2].strip().splitlines()
    telling = [line for line in lines if TELLING.search(line)]
    return (telling or lines or [""])[-1].strip()
