"""The child process of one extraction: ``python -m extraction.documents.child REQUEST.json``.

It cuts itself off from network and processes where the kernel allows, and forks. The fork takes its limits before it
imports the extractor, writes the bundle into the temporary store it was given, and leaves what came of it in the
request's result file; this process waits for it, ends all that it started, and ends as it ended. It dies with its
parent. No Django here.
"""

import contextlib
import errno
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .bundle import Bundle
from .containment import Containment, enter, run_contained
from .errors import ExtractionFailed
from .extractors.base import Extractor, SourceFile
from .limits import DISK_FULL_STATUS

# The parent ends us at the limit; this ends us if the parent could not.
BACKSTOP_SECONDS = 10

# The kernel counts threads as processes.
THREADS_PER_PROCESS = 8

OS_ERRORS = {
    errno.EFBIG: ("output_too_large", "the extractor wrote a file beyond the output limit"),
    errno.ENOSPC: ("disk_full", "no space is left on the store's disk"),
    errno.EAGAIN: ("too_many_processes", "the extractor started more processes or threads than allowed"),
    errno.EDQUOT: ("disk_full", "the store's disk quota is used up"),
}


def main(arguments: Sequence[str]) -> NoReturn:
    request = json.loads(Path(arguments[0]).read_bytes())
    _keep_giving_way()
    contained = enter()
    _lower(resource.RLIMIT_CORE, 0)
    run_contained(contained, lambda: work(request, contained))


def _keep_giving_way() -> None:
    """Linux weighs sessions against each other where they are not in control groups, and this is a session of its own, in
    which the niceness of the worker that started it would count for nothing.
    """
    if (niceness := os.nice(0)) > 0:
        with contextlib.suppress(OSError):  # another system, or too many at once
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def work(request: Mapping[str, Any], contained: Containment) -> int:
    apply_limits(request["limits"], contained)
    try:
        outcome = {"ok": True, **run(request)}
    except ExtractionFailed as failure:
        outcome = {"ok": False, "reason": failure.reason, "message": str(failure)}
    except MemoryError:
        outcome = {"ok": False, "reason": "out_of_memory", "message": "the extractor needed more memory than allowed"}
    except OSError as error:
        if error.errno not in OS_ERRORS:
            raise
        reason, message = OS_ERRORS[error.errno]
        outcome = {"ok": False, "reason": reason, "message": message}
    try:
        Path(request["result"]).write_text(json.dumps(outcome), encoding="utf-8")
    except OSError as error:
        if OS_ERRORS.get(error.errno or 0, ("", ""))[0] != "disk_full":
            raise
        return DISK_FULL_STATUS
    return 0


def run(request: Mapping[str, Any]) -> dict[str, Any]:
    """Extract, and say what the bundle holds."""
    extractor = load(request["extractor"])
    bundle = Bundle(Path(request["bundle"]))
    source = SourceFile(Path(request["source"]), request["filename"], request["media_type"])
    extractor.extract(source, bundle, request["options"])
    return bundle.close(extractor.name, extractor.version, request["options"]).to_dict()


def load(reference: str) -> Extractor:
    module, _, name = reference.partition(":")
    target: Any = importlib.import_module(module)
    for attribute in name.split("."):
        target = getattr(target, attribute)
    return target()


def apply_limits(limits: Mapping[str, Any], contained: Containment) -> None:
    """Limits that the kernel keeps, whatever the extractor's libraries do."""
    _lower(resource.RLIMIT_FSIZE, int(limits["output_bytes"]))
    # Past the soft limit the signal says why; past the hard one it would be a bare kill.
    _lower(resource.RLIMIT_CPU, int(limits["cpu_seconds"]), spare=BACKSTOP_SECONDS)
    if limits["hard_memory"]:
        _lower(resource.RLIMIT_AS, int(limits["memory_bytes"]))
    if contained.users:  # elsewhere the user's other processes would count too; the parent counts in any case
        _lower(resource.RLIMIT_NPROC, THREADS_PER_PROCESS * int(limits["processes"]))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_seconds"] + BACKSTOP_SECONDS)


def _lower(kind: int, value: int, spare: int = 0) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = value + spare if hard == resource.RLIM_INFINITY else min(value + spare, hard)
    with contextlib.suppress(ValueError):  # a platform without this limit; the parent watches too
        resource.setrlimit(kind, (min(value, ceiling), ceiling))


if __name__ == "__main__":
    main(sys.argv[1:])
