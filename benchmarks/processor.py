"""Processor time, which a busy machine does not stretch as it stretches the time on the clock.

On a machine with nothing else to do a call that waits for no disk takes about as long as both processes work.
"""

import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection

ROUNDS = 3


def processor_note(case: str, call: Callable[[], object]) -> str:
    """Milliseconds of processor time of one call, in this process and in the database's, the least of some rounds.

    The database works in one process meanwhile, so that no share of it is overlooked.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), set_config('max_parallel_workers_per_gather', '0', false)")
        backend = cursor.fetchone()[0]
    here, there = [], []
    for _ in range(ROUNDS):
        before, began = _of_backend(backend), time.process_time()
        call()
        here.append((time.process_time() - began) * 1000)
        there.append((_of_backend(backend) - before) / 1e6)
    with connection.cursor() as cursor:
        cursor.execute("RESET max_parallel_workers_per_gather")
    database = f", {min(there):.0f} ms in the database" if max(there) > 0 else ""
    return f"{case}: processor time {min(here):.0f} ms here{database}"


def worked() -> float:
    """Milliseconds of processor time that this process and the database's have had so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return time.process_time() * 1000 + _of_backend(cursor.fetchone()[0]) / 1e6


def _of_backend(pid: int) -> int:
    """Nanoseconds on a processor; 0 where the server runs on another machine, or the kernel does not tell."""
    folder = Path("/proc") / str(pid)
    try:
        if (folder / "comm").read_text().strip() != "postgres":
            return 0
        return int((folder / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
