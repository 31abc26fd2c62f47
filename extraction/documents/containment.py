"""Cuts an extractor off: no network, and no process of it outlives it, where the kernel allows.

Runs in the child process, before the extractor is imported: no Django here. On Linux a network namespace of its own
(without even a loopback) and a process namespace, whose processes all end with its first one. Root makes them as it
is; another user makes them inside a user namespace, which many systems allow and some forbid.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SWEEPS = 100


@dataclass(frozen=True, slots=True)
class Containment:
    """What holds for this child. ``users``: it has a user namespace, where its processes are counted apart."""

    network: bool = False
    processes: bool = False
    users: bool = False


def enter() -> Containment:
    """Leave the network and the processes of the machine, as far as the kernel lets us; call before any thread starts.

    The process namespace holds what is forked from now on, the first one as its init.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans come to us: without a process namespace that is how they are found
    if not sys.platform.startswith("linux"):
        return Containment()
    if os.geteuid() == 0 and _unshare(NEWNET | NEWPID):
        return Containment(network=True, processes=True)
    user, group = os.geteuid(), os.getegid()
    if _unshare(NEWUSER | NEWNET | NEWPID):
        for name, value in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with contextlib.suppress(OSError):  # nobody's name is needed, only that files stay ours
                Path("/proc/self", name).write_text(value, encoding="ascii")
        return Containment(network=True, processes=True, users=True)
    return Containment()


def run_contained(contained: Containment, work: Callable[[], int]) -> NoReturn:
    """Fork, let the fork ``work``, end all that it started, and end as it ended. Standard input closing ends all at once.

    No threads: the kernel allows none in a process that has left its process namespace to its children.
    """
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    init = _fork(_be_init) if contained.processes else None
    worker = _fork(work)
    status = _wait_for(worker, ended)
    if status is None:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)  # before init, which ends only when nobody is left in its namespace
    if init is not None:
        os.kill(init, signal.SIGKILL)
        os.waitpid(init, 0)
    else:
        end_descendants(os.getpid())
    if status is None:
        os.killpg(0, signal.SIGKILL)
        status = signal.SIGKILL  # this process is in the group: nobody gets here
    _end_as(status)


def _fork(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = work()
    except BaseException:  # noqa: BLE001 - what it was is on standard error; nothing may run on in the fork
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):  # the log may be on a full disk
            sys.stderr.flush()
        os._exit(status)


def _be_init() -> int:
    """The namespace's first process: with it all others end. It reaps, and ends when we do."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def _wait_for(worker: int, ended: int) -> int | None:
    """The worker's wait status; None when standard input closed first, because whoever started us is gone."""
    while True:
        pid, status = os.waitpid(worker, os.WNOHANG)
        if pid:
            return status
        readable, _, _ = select.select([0, ended], [], [])
        if 0 in readable and not os.read(0, 64):
            return None
        if ended in readable:
            os.read(ended, 64)


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler to reset
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def end_descendants(pid: int) -> None:
    """Kill every process below ``pid``, also those that are started meanwhile."""
    import psutil  # slow to import, and seldom needed in the child

    for _ in range(SWEEPS):
        try:
            below = psutil.Process(pid).children(recursive=True)
        except psutil.Error:
            return
        alive = False
        for process in below:
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE:
                    alive = True
                    process.kill()
        if not alive:
            return


def _unshare(flags: int) -> bool:
    try:
        return ctypes.CDLL(None, use_errno=True).unshare(flags) == 0
    except (OSError, AttributeError):
        return False


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(enter())))
