"""Runs one extractor in a child process under limits, and says by name how it ended.

The child gets a temporary store to write in, no secret of ours in its environment, no network where the kernel allows
(`containment`), and dies with us. What it leaves is only read by `validation`.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from .bundle import Summary
from .containment import Containment, end_descendants
from .errors import ExtractionFailed
from .extractors.base import Extractor
from .files import read_json
from .limits import DISK_FULL_STATUS, MIB, Limits

CODE_ROOT = Path(__file__).resolve().parents[2]
TICK_SECONDS = 0.2
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "TESSDATA_PREFIX", "TZ")


def run(
    extractor: Extractor,
    options: Mapping[str, Any],
    source: Path,
    media_type: str,
    *,
    bundle: Path,
    work: Path,
    limits: Limits | None = None,
) -> Summary:
    """Let ``extractor`` write ``bundle`` (must not exist) from ``source``; returns what it claims to have written.

    ``work`` is an empty directory of the caller's for the child's own files; bundle and work are watched together.
    Raises ExtractionFailed; then whatever was written is the caller's to remove.
    """
    limits = limits or extractor.limits
    result = work / "result.json"
    request = {
        "extractor": extractor.reference(),
        "options": dict(options),
        "source": str(source),
        "filename": source.name,
        "media_type": media_type,
        "bundle": str(bundle),
        "result": str(result),
        "limits": limits.to_dict(),
    }
    (work / "request.json").write_text(json.dumps(request), encoding="utf-8")
    (work / "home").mkdir()
    status = _supervise(work, limits, (bundle, work))
    return _outcome(status, result, work / "stderr.log", limits)


def _supervise(work: Path, limits: Limits, watched: tuple[Path, ...]) -> int:
    """Start the child, watch it, end it and all it started; returns its exit status as subprocess gives it."""
    with (work / "stderr.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "extraction.documents.child", str(work / "request.json")],
            cwd=work / "home",
            env=_environment(work / "home"),
            stdin=subprocess.PIPE,  # never written: its closing tells the child that we are gone
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + limits.wall_seconds
    try:
        with _ending(process) as ended:
            while not ended(TICK_SECONDS):
                _check(process, deadline, limits, watched)
    finally:
        end_descendants(process.pid)
        # Before the wait: until then the group's number cannot belong to anyone else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
    _check_output(limits, watched)
    return process.returncode


@contextlib.contextmanager
def _ending(process: subprocess.Popen) -> Iterator[Callable[[float], bool]]:
    """Yields ``ended(seconds)``: wait that long at most, true when the child has ended; the child stays unreaped."""
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            yield lambda seconds: bool(poll.poll(seconds * 1000))
        finally:
            os.close(descriptor)
    else:
        yield lambda seconds: _ended_by_polling(process.pid, seconds)


def _ended_by_polling(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.01)
    return False


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    importable = dict.fromkeys([str(CODE_ROOT), *filter(None, sys.path)])
    return kept | {
        "PYTHONPATH": os.pathsep.join(importable),
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home),
        "OMP_THREAD_LIMIT": "1",
    }


def _check(process: subprocess.Popen, deadline: float, limits: Limits, watched: tuple[Path, ...]) -> None:
    if time.monotonic() > deadline:
        raise _timeout(limits)
    tree = _tree(process.pid)
    if len(tree) > limits.processes:
        raise ExtractionFailed(
            "too_many_processes", f"the extractor ran more than {limits.processes} processes at once"
        )
    if sum(map(_resident, tree)) > limits.memory_bytes:
        raise _out_of_memory(limits)
    _check_output(limits, watched)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return []


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def _check_output(limits: Limits, watched: tuple[Path, ...]) -> None:
    size = count = 0
    for top in watched:
        for directory, _, names in os.walk(top):
            count += len(names)
            for name in names:
                with contextlib.suppress(OSError):
                    size += os.lstat(os.path.join(directory, name)).st_size  # noqa: PTH118  many files, no objects
    if count > limits.output_files:
        raise ExtractionFailed("too_many_files", f"the extractor wrote more than {limits.output_files} files")
    if size > limits.output_bytes:
        raise ExtractionFailed("output_too_large", f"the extractor wrote more than {limits.output_bytes / MIB:.0f} MiB")


def _outcome(status: int, result: Path, log: Path, limits: Limits) -> Summary:
    if status < 0:
        raise _killed(-status, limits)
    if status == DISK_FULL_STATUS:
        raise ExtractionFailed("disk_full", "no space is left on the store's disk")
    outcome = read_json(result) or {}
    match outcome:
        case {"ok": True, "text_sha256": sha256, "text_chars": chars, "manifest_records": records} if status == 0:
            return Summary(sha256, chars, records)
        case {"ok": False, "reason": str(reason), "message": str(message)} if status == 0:
            raise ExtractionFailed(reason, message)
    raise ExtractionFailed("extractor_error", _last_line(log) or f"the extractor ended with status {status}")


def _killed(number: int, limits: Limits) -> ExtractionFailed:
    if number in {signal.SIGXCPU, signal.SIGALRM}:
        return _timeout(limits)
    if number == signal.SIGKILL:
        return ExtractionFailed("killed", "the extractor was killed from outside (the system may be out of memory)")
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return ExtractionFailed("crashed", f"the extractor crashed ({name})")


def _timeout(limits: Limits) -> ExtractionFailed:
    return ExtractionFailed(
        "timeout",
        f"the extractor took longer than {limits.wall_seconds:g} s ({limits.cpu_seconds} s of processor time)",
    )


def _out_of_memory(limits: Limits) -> ExtractionFailed:
    return ExtractionFailed("out_of_memory", f"the extractor needed more than {limits.memory_bytes / MIB:.0f} MiB")


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:500] if lines else ""


def probe() -> Containment:
    """What an extractor that this process starts would have; found out in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "extraction.documents.containment"],
            env=_environment(Path(home)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    try:
        return Containment(**json.loads(done.stdout))
    except (ValueError, TypeError):
        return Containment()
