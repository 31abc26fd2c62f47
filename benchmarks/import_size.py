"""Importing one large export: messages per second and the peak memory of the process that does it, beside parsing it whole."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from coverage.models import Message
from osii import embedded

from . import scratch
from .import_speed import WORDS, node
from .measure import once, with_growth
from .result import Result, Target

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
MEGABYTE = 10**6
QUICK, FULL = (2 * MEGABYTE, 20 * MEGABYTE), (100 * MEGABYTE, 500 * MEGABYTE)
MESSAGES = 120  # of each conversation
LONG = (10_000, 100_000)
"""Messages of one long chat."""
PEAK_MB = 300
LEARNER = "Benchmark import-size"
PARSED_WHOLE = "import json, sys; kept = [json.loads(line) for line in open(sys.argv[1], 'rb')]"
"""An export is one line, so all of it is there at once; so are all lines of a chat in JSON Lines."""
WAITING = """
import os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - began, usage.ru_maxrss)
sys.exit(status != 0)
"""
"""Starts what is measured, tells its seconds and its peak: a process begins with the peak of the one that starts it, so that
one is to be small."""


def run_quick() -> list[Result]:
    return _at_sizes(QUICK, _export)


def run_full() -> list[Result]:
    return [*_at_sizes(FULL, _export), *_at_sizes(LONG, _long_chat), *_at_sizes(LONG, _long_conversation)]


def _at_sizes(sizes: Sequence[int], measure: Callable[[int], list[Result]]) -> list[Result]:
    """The rows of each size, with their growth from the one before: of the memory, and of the time for all. Both contain the
    process and its start.
    """
    results: list[Result] = []
    before: list[Result] = []
    for place, size in enumerate(sizes):
        before = with_growth(measure(size), before, size / sizes[place - 1])
        results += before
    return results


def _export(size: int) -> list[Result]:
    what = f"ChatGPT export of {size / MEGABYTE:g} MB"
    return _measure(what, "conversations.json", lambda path: _write(path, size))


def _long_chat(count: int) -> list[Result]:
    return _measure("one chat in JSON Lines", "chat.jsonl", lambda path: _write_long_chat(path, count))


def _long_conversation(count: int) -> list[Result]:
    return _measure(
        "one ChatGPT conversation", "conversations.json", lambda path: _write_long_conversation(path, count)
    )


def _measure(what: str, file: str, write: Callable[[Path], int]) -> list[Result]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / file
        count = write(path)
        name = f"{what}, {count:,} messages"
        learner = f"{LEARNER} {name}"
        seconds, peak = _import(path, learner)
        whole = _spawned([sys.executable, "-c", PARSED_WHOLE, str(path)])[1]
    stored = Message.objects.filter(chat__learner__name=learner).count()
    if stored != count:
        raise RuntimeError(f"{stored} messages are stored, not {count}: the import-size benchmark is void")
    return [
        Result("import-size", f"{name}: json.loads of all of it: peak memory", "MB", **once(whole / MEGABYTE)),
        Result("import-size", name, "messages/s", **once(count / seconds)),
        Result(
            "import-size", f"{name}: peak memory", "MB", **once(peak / MEGABYTE), target=Target(PEAK_MB),
            to_rival=peak / whole,
        ),
    ]  # fmt: skip


def _import(path: Path, learner: str) -> tuple[float, int]:
    """Seconds and peak bytes of ``import_chats`` in a process of its own, into the database that is in use here."""
    return _spawned([sys.executable, str(MANAGE), "import_chats", str(path), "--learner", learner])


def _spawned(command: list[str]) -> tuple[float, int]:
    """Seconds and peak bytes of a process of its own."""
    environment = os.environ | {"DATABASE_URL": scratch.url(), "REDIS_URL": embedded.redis_url()}
    measured = subprocess.run(
        [sys.executable, "-c", WAITING, *command], env=environment, capture_output=True, check=False
    )
    if measured.returncode:
        raise RuntimeError(f"{' '.join(command[1:3])} failed: the import-size benchmark is void")
    seconds, peak = measured.stdout.split()
    return float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024)


def _write(path: Path, size: int) -> int:
    """An export of at least ``size`` bytes, written as it is made; returns how many messages it has."""
    words = random.Random(size)
    count = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("[")
        for number in _until(lambda: out.tell() >= size):
            out.write(("," if number else "") + json.dumps(_conversation(number, words)))
            count += MESSAGES
        out.write("]")
    return count


def _write_long_chat(path: Path, count: int) -> int:
    words = random.Random(count)
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            text = " ".join(words.choices(WORDS, k=words.randint(10, 60)))
            out.write(json.dumps({"role": ("user", "assistant")[number % 2], "content": text}) + "\n")
    return count


def _write_long_conversation(path: Path, count: int) -> int:
    """The hardest to read in parts: its tree has to be there before its active path is known."""
    words = random.Random(count)
    with path.open("w", encoding="utf-8") as out:
        out.write('[{"title": "A long one", "create_time": 1790000000, "update_time": 1790000001, "mapping": {')
        out.write(f'"root": {json.dumps({"id": "root", "message": None, "parent": None, "children": ["m0"]})}')
        for index in range(count):
            text = " ".join(words.choices(WORDS, k=words.randint(10, 60)))
            out.write(f', "m{index}": {json.dumps(node(index, text, count))}')
        out.write(f'}}, "current_node": "m{count - 1}", "conversation_id": "size-long"}}]')
    return count


def _until(done: Callable[[], bool]) -> Iterator[int]:
    number = 0
    while not done():
        yield number
        number += 1


def _conversation(number: int, words: random.Random) -> dict[str, Any]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}}
    for index in range(MESSAGES):
        text = " ".join(words.choices(WORDS, k=words.randint(10, 700)))
        mapping[f"m{index}"] = node(index, text, MESSAGES)
    return {
        "title": f"Conversation {number}",
        "create_time": 1_790_000_000 + number,
        "update_time": 1_790_000_000 + number + MESSAGES,
        "mapping": mapping,
        "current_node": f"m{MESSAGES - 1}",
        "conversation_id": f"size-{number}",
    }
