"""Importing one large export: messages per second and the peak memory of the process that does it."""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from coverage.models import Message
from osii import embedded

from .import_speed import WORDS, node
from .result import Result, Target

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
MEGABYTE = 10**6
QUICK, FULL = 100 * MEGABYTE, 500 * MEGABYTE
MESSAGES = 120  # of each conversation
LONG = 100_000  # messages of the long chat
PEAK_MB = 300
LEARNER = "Benchmark import-size"


def run_quick() -> list[Result]:
    return _export(QUICK)


def run_full() -> list[Result]:
    return _export(QUICK) + _export(FULL) + _long_chat()


def _export(size: int) -> list[Result]:
    return _measure(f"ChatGPT export of {size // MEGABYTE} MB", "conversations.json", lambda path: _write(path, size))


def _long_chat() -> list[Result]:
    return _measure("one chat in JSON Lines", "chat.jsonl", _write_long_chat)


def _measure(what: str, file: str, write: Callable[[Path], int]) -> list[Result]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / file
        count = write(path)
        learner = f"{LEARNER} {what}"
        seconds, peak = _import(path, learner)
    stored = Message.objects.filter(chat__learner__name=learner).count()
    if stored != count:
        raise RuntimeError(f"{stored} messages are stored, not {count}: the import-size benchmark is void")
    name = f"{what}, {count:,} messages"
    return [
        Result("import-size", name, "messages/s", **_once(count / seconds)),
        Result("import-size", f"{name}: peak memory", "MB", **_once(peak / MEGABYTE), target=Target(PEAK_MB)),
    ]


def _import(path: Path, learner: str) -> tuple[float, int]:
    """Seconds and peak bytes of ``import_chats`` in a process of its own, into the database that is in use here."""
    name = connection.settings_dict["NAME"]
    database = urlunsplit(urlsplit(embedded.database_url())._replace(path=f"/{name}"))
    command = [sys.executable, str(MANAGE), "import_chats", str(path), "--learner", learner]
    environment = os.environ | {"DATABASE_URL": database, "REDIS_URL": embedded.redis_url()}
    quiet = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError("import_chats failed: the import-size benchmark is void")
    return time.perf_counter() - began, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


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


def _write_long_chat(path: Path) -> int:
    words = random.Random(LONG)
    with path.open("w", encoding="utf-8") as out:
        for number in range(LONG):
            text = " ".join(words.choices(WORDS, k=words.randint(10, 60)))
            out.write(json.dumps({"role": ("user", "assistant")[number % 2], "content": text}) + "\n")
    return LONG


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


def _once(value: float) -> dict[str, float | int]:
    return {"median": value, "low": value, "high": value, "runs": 1}
