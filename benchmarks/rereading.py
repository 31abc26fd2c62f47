"""Transcript tokens put into environments while a chat grows two messages at a time: the ledger's way, and all again.

The rival reads the whole chat at each trigger, at the same triggers. What is counted is what stands in the stored
environments, the read-only context included.
"""

import random
from collections.abc import Callable
from typing import Any

from coverage.models import Chat, Message
from coverage.services import IncomingMessage, get_or_create_learner, put_messages
from extraction.exploring.tools import ExploreTools
from extraction.models import ReferenceEnvironment, Run
from extraction.running import runs
from extraction.selectors import chat_coverage
from extraction.services import request_run
from extraction.workers import register_worker

from .measure import once, with_growth
from .result import MORE, Result, Target

MESSAGES = 400
SHOWN = (40, 100, 200, 400)
LIMIT = 1.25
WORDS = "the tide rises when moon and sun pull in one line so a spring tide is higher than a neap tide is".split()


class ReadsNothing:
    """Ends each batch at once: what is put into an environment does not depend on what a worker makes of it."""

    name = "benchmark"
    version = "1"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        tools.finish_extraction(0, "a benchmark")


def run() -> list[Result]:
    register_worker(ReadsNothing.name, f"{__name__}:{ReadsNothing.__name__}")
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark rereading"), title="A growing chat")
    words = random.Random(0)
    again, triggers = 0, 0
    results: list[Result] = []
    before, last = 0, list[Result]()
    for count in range(2, MESSAGES + 1, 2):
        put_messages(chat.pk, [_message(number, words) for number in (count - 1, count)])
        if chat_coverage(chat.pk)["due"]:
            triggers += 1
            again += chat_coverage(chat.pk)["total_tokens"]
            runs.execute(request_run(chat.pk, Run.Mode.DUE, ReadsNothing.name, enqueue=False).pk)
        if count in SHOWN:
            last = with_growth(_rows(chat, count, again, triggers), last, count / max(before, 1))
            results += last
            before = count
    runs.execute(request_run(chat.pk, Run.Mode.REST, ReadsNothing.name, enqueue=False).pk)
    coverage = chat_coverage(chat.pk)
    if coverage["uncovered_tokens"] or triggers < len(SHOWN):
        raise RuntimeError("the chat was not read to its end: the rereading benchmark is void")
    transcript = coverage["total_tokens"]
    ours = in_environments(chat)
    return [
        *results,
        Result("rereading", f"the transcript, {MESSAGES} messages", "tokens", **once(transcript)),
        Result(
            "rereading", "ours, all of it read", "tokens", **once(ours), ratio=ours / transcript,
            beside="the transcript", target=Target(LIMIT, of_ratio=True),
        ),
        Result(
            "rereading", "the whole chat at each trigger and at the end", "tokens", **once(again + transcript),
            ratio=(again + transcript) / transcript, beside="the transcript",
        ),
    ]  # fmt: skip


def _rows(chat: Chat, count: int, again: int, triggers: int) -> list[Result]:
    ours = in_environments(chat)
    ratio = again / ours if ours else None
    name = f"after {count} messages, {triggers} triggers"
    return [
        Result("rereading", f"{name}: ours", "tokens", **once(ours)),
        Result(
            "rereading", f"{name}: the whole chat each time", "tokens", **once(again), ratio=ratio,
            beside=f"{name}: ours", target=Target(1, MORE, of_ratio=True),
        ),
    ]  # fmt: skip


def in_environments(chat: Chat) -> int:
    """Tokens of all messages that stand in this chat's environments, each as often as it does."""
    sizes = dict(Message.objects.filter(chat=chat).values_list("message_id", "tokens"))
    total = 0
    for content in ReferenceEnvironment.objects.filter(batch__chat=chat).values_list("content", flat=True).iterator():
        total += sum(sizes[message_id] for message_id in {entry["message_id"] for entry in content["evidence"]})
    return total


def _message(number: int, words: random.Random) -> IncomingMessage:
    """A question of a few words, or an answer of up to 400."""
    asks = number % 2
    text = " ".join(words.choices(WORDS, k=words.randint(5, 60) if asks else words.randint(40, 400)))
    return IncomingMessage(f"m{number}", "user" if asks else "assistant", [{"type": "text", "text": text}])
