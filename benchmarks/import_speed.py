"""Messages imported per second, from a generated ChatGPT export."""

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.db import connection

from coverage.importers.load import import_paths
from coverage.models import Chat, Message
from coverage.services import get_or_create_learner

from .measure import cost_of, growth, median_ratio, spread
from .result import Result

SIZES = (3, 30)  # conversations
MESSAGES = 250
ROUNDS = 3
LEARNER = "Benchmark import"
WORDS = "the tide rises when moon and sun pull in one line so a spring tide is higher than a neap tide is".split()


def run() -> list[Result]:
    results: list[Result] = []
    before: list[float] = []
    for conversations in SIZES:
        rows, before = _measure(conversations, before)
        results += rows
    return results


def _measure(conversations: int, before: list[float]) -> tuple[list[Result], list[float]]:
    """Rows of an export of so many conversations, and the seconds of importing it new."""
    total = conversations * MESSAGES
    seconds: dict[str, list[float]] = {"json.loads": [], "copy": [], "bulk_create": [], "new": [], "again": []}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "conversations.json"
        for number in range(ROUNDS):
            path.write_text(
                json.dumps(list(_conversations(conversations, 100 * conversations + number))), encoding="utf-8"
            )
            seconds["json.loads"].append(_timed(lambda: json.loads(path.read_bytes())))
            seconds["copy"].append(_timed(lambda number=number: _copied(f"copy {conversations} {number}", path)))
            seconds["bulk_create"].append(
                _timed(lambda number=number: _created(f"rows {conversations} {number}", path))
            )
            seconds["new"].append(_timed(lambda: _import(path)))
            seconds["again"].append(_timed(lambda: _import(path)))
        path.write_text(json.dumps(list(_conversations(conversations, 100 * conversations + ROUNDS))), encoding="utf-8")
        cost = cost_of(lambda: _import(path))
    stored = Message.objects.filter(chat__learner__name=LEARNER, chat__title__endswith=f"of {conversations}").count()
    if stored != (ROUNDS + 1) * total:
        raise RuntimeError(f"{stored} messages are stored, not {(ROUNDS + 1) * total}: the import benchmark is void")
    rates = {name: [total / taken for taken in values] for name, values in seconds.items()}
    size = f"ChatGPT export, {total:,} messages"
    limit = f"{size}: json.loads of the file"

    def row(what: str, name: str, **more: Any) -> Result:
        ratio = median_ratio(rates[name], rates["json.loads"])
        return Result(
            "import", f"{size}: {what}", "messages/s", **spread(rates[name]), beside=limit, ratio=ratio, **more
        )

    return [
        Result("import", limit, "messages/s", **spread(rates["json.loads"])),
        row("json.loads and COPY of the bare rows", "copy"),
        row("json.loads and bulk_create of the bare rows", "bulk_create"),
        row("new", "new", to_rival=median_ratio(rates["new"], rates["bulk_create"]), peak_mb=cost.peak_mb,
            queries=cost.queries, growth=growth(before, seconds["new"], SIZES[1] / SIZES[0]) if before else None),
        row("the same again, nothing new", "again"),
    ], seconds["new"]  # fmt: skip


def _bare(path: Path) -> Iterator[tuple[int, str, list[dict[str, str]]]]:
    """Position, role and parts of every message of an export, without looking at what is current or known."""
    for conversation in json.loads(path.read_bytes()):
        nodes = [one["message"] for one in conversation["mapping"].values() if one["message"]]
        for position, message in enumerate(nodes, 1):
            yield position, message["author"]["role"], [{"type": "text", "text": message["content"]["parts"][0]}]


def _created(title: str, path: Path) -> None:
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark rows"), title=title)
    Message.objects.bulk_create(
        (Message(chat=chat, message_id=str(number), position=number, role=role, parts=parts, fingerprint="v1:0", tokens=1)
         for number, (_, role, parts) in enumerate(_bare(path), 1)),
        batch_size=1000,
    )  # fmt: skip


def _copied(title: str, path: Path) -> None:
    """Into a table without a key, an index or a trigger."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE IF NOT EXISTS bench_rows (title text, position int, role text, parts jsonb)")
        with cursor.copy("COPY bench_rows FROM STDIN") as copy:
            for position, role, parts in _bare(path):
                copy.write_row((title, position, role, json.dumps(parts)))


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _import(path: Path) -> None:
    for _report in import_paths([path], learner=LEARNER):
        pass


def _conversations(count: int, seed: int) -> Iterator[dict[str, Any]]:
    words = random.Random(seed)
    for number in range(count):
        mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}}
        for index in range(MESSAGES):
            text = " ".join(words.choices(WORDS, k=words.randint(10, 120)))
            mapping[f"m{index}"] = node(index, text, MESSAGES)
        yield {
            "title": f"Conversation {number} of {count}",
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
