"""Messages imported per second, from a generated ChatGPT export."""

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coverage.importers.load import import_paths
from coverage.models import Message

from .measure import spread
from .result import Result

CONVERSATIONS = 40
MESSAGES = 250
ROUNDS = 3
LEARNER = "Benchmark import"
WORDS = "the tide rises when moon and sun pull in one line so a spring tide is higher than a neap tide is".split()


def run() -> list[Result]:
    total = CONVERSATIONS * MESSAGES
    first, again = [], []
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "conversations.json"
            path.write_text(json.dumps(list(_conversations(number))), encoding="utf-8")
            first.append(total / _seconds(path))
            again.append(total / _seconds(path))
    stored = Message.objects.filter(chat__learner__name=LEARNER).count()
    if stored != ROUNDS * total:
        raise RuntimeError(f"{stored} messages are stored, not {ROUNDS * total}: the import benchmark is void")
    return [
        Result("import", f"ChatGPT export, {total:,} messages, new", "messages/s", **spread(first)),
        Result("import", f"the same again, nothing new in {total:,}", "messages/s", **spread(again)),
    ]


def _seconds(path: Path) -> float:
    begun = time.perf_counter()
    for _report in import_paths([path], learner=LEARNER):
        pass
    return time.perf_counter() - begun


def _conversations(seed: int) -> Iterator[dict[str, Any]]:
    words = random.Random(seed)
    for number in range(CONVERSATIONS):
        mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}}
        for index in range(MESSAGES):
            text = " ".join(words.choices(WORDS, k=words.randint(10, 120)))
            mapping[f"m{index}"] = node(index, text, MESSAGES)
        yield {
            "title": f"Conversation {number}",
            "create_time": 1_790_000_000 + number,
            "update_time": 1_790_000_000 + number + MESSAGES,
            "mapping": mapping,
            "current_node": f"m{MESSAGES - 1}",
            "conversation_id": f"benchmark-{seed}-{number}",
        }


def node(index: int, text: str, count: int) -> dict[str, Any]:
    """One message of a conversation of ``count``, as a ChatGPT export has it."""
    return {
        "id": f"m{index}",
        "parent": f"m{index - 1}" if index else "root",
        "children": [f"m{index + 1}"] if index + 1 < count else [],
        "message": {
            "id": f"m{index}",
            "author": {"role": "assistant" if index % 2 else "user", "name": None, "metadata": {}},
            "create_time": 1_790_000_000 + index,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
        },
    }
