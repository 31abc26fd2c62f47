"""What can go wrong with a part of an installation, and is put right again: killed, frozen, without room, its clock wrong."""

import contextlib
import random
import resource
from collections.abc import Callable
from dataclasses import dataclass

import psutil
import psycopg
import redis

from .clock import set_ahead
from .installation import WORKERS, Installation
from .model import Model

Undo = Callable[[], None]
Break = Callable[[Installation, Model, random.Random], Undo]

PYTHON_PARTS = (*WORKERS, "reconcile", "web", "web-master")
KILLED = (*PYTHON_PARTS, "postgres", "backend", "valkey", "extractor", "supervisord")
FROZEN = (*PYTHON_PARTS, "postgres", "backend", "valkey", "extractor")
FULL = ("library", "chats", "web", "valkey", "postgres", "backend")
FULL_BYTES = 2048
"""No file may grow beyond this while a part's disk is full."""
SICK = ("stalls", "429", "500", "garbage", "drops")
JUMPS = (-86_400, -3_600, -30, 30, 3_600, 86_400)


def nothing() -> None:
    return


def _kill(part: str) -> Break:
    def break_it(installation: Installation, _model: Model, choose: random.Random) -> Undo:
        found = installation.parts(part)
        if found:
            with contextlib.suppress(psutil.Error):
                choose.choice(found).kill()
        return nothing

    return break_it


def _freeze(part: str) -> Break:
    def break_it(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
        found = installation.parts(part)
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.suspend()

        def undo() -> None:
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.resume()

        return undo

    return break_it


def _limit(part: str, kind: int, amount: Callable[[psutil.Process], int]) -> Break:
    """A soft limit on the living processes of a part, and on what these start."""

    def break_it(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
        before = []
        for process in installation.parts(part):
            with contextlib.suppress(psutil.Error, OSError):
                soft, hard = resource.prlimit(process.pid, kind)
                resource.prlimit(process.pid, kind, (amount(process), hard))
                before.append((process, soft, hard))

        def undo() -> None:
            for process, soft, hard in before:
                with contextlib.suppress(psutil.Error, OSError):
                    if process.is_running():
                        resource.prlimit(process.pid, kind, (soft, hard))

        return undo

    return break_it


def _full(part: str) -> Break:
    return _limit(part, resource.RLIMIT_FSIZE, lambda _process: FULL_BYTES)


def _starve(part: str) -> Break:
    """No further file, socket or pipe can be opened."""
    return _limit(part, resource.RLIMIT_NOFILE, lambda process: process.num_fds())


def _cut(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
    """Every connection to the database ends, as when an administrator restarts a proxy."""
    with contextlib.suppress(psycopg.Error):
        installation.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    return nothing


def _flush(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
    client = redis.Redis(unix_socket_path=str(installation.layout.valkey_socket), socket_timeout=5)
    with contextlib.suppress(redis.RedisError), client:
        client.flushall()
    return nothing


def _flood(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
    """Jobs for every row again and again, and for rows that do not exist."""
    code = "import django; django.setup(); from tests.faults.flooding import flood; flood()"
    flooding = installation.spawn(code)

    def undo() -> None:
        with contextlib.suppress(Exception):
            flooding.wait(60)

    return undo


def _sick(how: str) -> Break:
    def break_it(_installation: Installation, model: Model, _choose: random.Random) -> Undo:
        model.state = how

        def undo() -> None:
            model.state = ""

        return undo

    return break_it


def _jump(seconds: float) -> Break:
    def break_it(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
        set_ahead(installation.directory, seconds)
        return lambda: set_ahead(installation.directory, 0)

    return break_it


def _kill_up(installation: Installation, _model: Model, _choose: random.Random) -> Undo:
    installation.kill_up()
    return installation.begin  # it may have to wait for a part that is frozen still


FAULTS: dict[str, Break] = {
    **{f"kill {part}": _kill(part) for part in KILLED},
    **{f"freeze {part}": _freeze(part) for part in FROZEN},
    **{f"fill the disk of {part}": _full(part) for part in FULL},
    **{f"no more files for {part}": _starve(part) for part in ("library", "chats", "web")},
    **{f"the model {how}": _sick(how) for how in SICK},
    **{f"clocks jump by {seconds:+} s": _jump(seconds) for seconds in JUMPS},
    "cut the database's connections": _cut,
    "empty valkey": _flush,
    "flood the queues": _flood,
    "kill up": _kill_up,
}
WEIGHTS = {"kill up": 3, "empty valkey": 3, "cut the database's connections": 2, "flood the queues": 2}


@dataclass(frozen=True)
class Planned:
    """One fault of a round: from ``at`` for ``seconds`` seconds."""

    at: float
    name: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.at:.1f} s: {self.name} ({self.seconds:.1f} s)"


def schedule(choose: random.Random, length: float, count: int) -> list[Planned]:
    """The faults of one round; the same seed gives the same."""
    names = sorted(FAULTS)
    weights = [WEIGHTS.get(name, 1) for name in names]
    planned = [
        Planned(choose.uniform(0.5, length), choose.choices(names, weights)[0], choose.uniform(0.5, 4))
        for _ in range(count)
    ]
    return sorted(planned, key=lambda one: one.at)
