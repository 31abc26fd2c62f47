"""Runs supervisord so that it ends with the process that started it, even when that one is killed (on Linux)."""

import ctypes
import os
import signal
import sys

from supervisor import supervisord

PR_SET_PDEATHSIG = 1


def main() -> None:
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the request was made
            sys.exit(1)
    supervisord.main()


if __name__ == "__main__":
    main()
