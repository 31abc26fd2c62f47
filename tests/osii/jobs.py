"""Jobs for the worker tests."""

import os
import time

import redis


def pid() -> int:
    return os.getpid()


def niceness() -> int:
    return os.nice(0)


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def fail() -> None:
    raise ValueError("as asked")


def beats(url: str, worker_key: str, seconds: float) -> int:
    """How many different heartbeats of the worker are seen while this job runs."""
    seen = set()
    deadline = time.monotonic() + seconds
    with redis.Redis.from_url(url) as client:
        while time.monotonic() < deadline:
            seen.add(client.hget(worker_key, "last_heartbeat"))
            time.sleep(0.01)
    return len(seen)


def fail_saying(names: str) -> None:
    """Fails with the values of these environment variables in its message, as a library may."""
    raise RuntimeError(" ".join(os.environ[name] for name in names.split()))
