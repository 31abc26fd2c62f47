"""The diff of one long chat: every message's state from the ledger, beside reading the rows alone."""

import time
from uuid import uuid4

from django.conf import settings
from django.db import transaction

from coverage.batches import first_batch
from coverage.models import Chat, Message
from coverage.services import IncomingMessage, append_entries, get_or_create_learner, put_messages
from extraction import frontier
from extraction.models import Batch, BatchMessage, Run
from extraction.selectors import chat_coverage, grouped_states
from osii.web import strip

from .measure import median_ratio, spread, take_turns
from .result import Result, Target
from .scratch import analyze

SIZES = {10_000: 15, 100_000: 3}  # messages: rounds
BATCH_MESSAGES = 50
BATCHES = 12  # planned one after another
LIMIT_MS = 100  # for the smaller size; the larger one may take as many times longer as it is larger


def run() -> list[Result]:
    return [result for messages, rounds in SIZES.items() for result in _measure(messages, rounds)]


def _measure(messages: int, rounds: int) -> list[Result]:
    chat = _chat(messages)
    columns = ("message_id", "position", "role", "tokens", "fingerprint")
    calls = {
        "rows": lambda: list(Message.objects.filter(chat=chat).order_by("position").values_list(*columns)),
        "diff": lambda: chat_coverage(chat.pk),
        "strip": lambda: strip.build(grouped_states(chat.pk, messages, strip.buckets(messages))),
    }
    data = chat_coverage(chat.pk)
    if not 0 < data["covered_tokens"] < data["total_tokens"]:
        raise RuntimeError("the chat is not half covered: the diff benchmark is void")
    times = take_turns(calls, rounds=rounds)
    rows = f"reading the {messages:,} rows, no diff"
    return [
        Result("diff", rows, "ms", **spread(times["rows"])),
        Result(
            "diff",
            f"chat_coverage of {messages:,} messages, half covered",
            "ms",
            **spread(times["diff"]),
            beside=rows,
            ratio=median_ratio(times["diff"], times["rows"]),
            target=Target(LIMIT_MS * messages / min(SIZES)),
        ),
        Result(
            "diff",
            f"the coverage strip of {messages:,} messages",
            "ms",
            **spread(times["strip"]),
            beside=rows,
            ratio=median_ratio(times["strip"], times["rows"]),
        ),
        Result("diff", f"planning a batch ahead in {messages:,} messages", "ms", **spread(_plan(chat))),
    ]


def _plan(chat: Chat) -> list[float]:
    """Milliseconds of each of a run's plans after its first, each after the batch before has been covered."""
    times = []
    frontier.forget()
    with transaction.atomic():
        for _ in range(BATCHES):
            began = time.perf_counter()
            rows = frontier.ahead(chat.pk)
            frontier.remember(chat.pk, rows)
            group = first_batch(rows, settings.EXTRACTION_CHUNK_TOKENS)
            times.append(1000 * (time.perf_counter() - began))
            append_entries(chat, group, batch_id=uuid4())
        transaction.set_rollback(True)
    return times[1:]


def _chat(count: int) -> Chat:
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark diff"), title="A long chat")
    roles = ("user", "assistant")
    incoming = [
        # Every tenth text repeats, as "yes" and "thanks" do: the diff counts them.
        IncomingMessage(
            f"m{n}", roles[n % 2], [{"type": "text", "text": f"Message {n if n % 10 else 0} of this chat."}]
        )
        for n in range(count)
    ]
    put_messages(chat.pk, incoming)
    _read(chat, list(Message.objects.filter(chat=chat, position__lte=count // 2).order_by("position")))
    analyze()
    return chat


def _read(chat: Chat, messages: list[Message]) -> None:
    """What a finished run leaves: batches with their messages, and one ledger line for each message."""
    run = Run.objects.create(chat=chat, mode=Run.Mode.REST, status=Run.Status.SUCCEEDED, worker="rules")
    for start in range(0, len(messages), BATCH_MESSAGES):
        group = messages[start : start + BATCH_MESSAGES]
        batch = Batch.objects.create(
            chat=chat, run=run, status=Batch.Status.SUCCEEDED, attempt_token=uuid4(), worker="rules",
            first_position=group[0].position, last_position=group[-1].position,
            tokens=sum(message.tokens for message in group), staged_count=0, reason="a benchmark",
        )  # fmt: skip
        BatchMessage.objects.bulk_create(
            BatchMessage(
                batch=batch, chat=batch.chat, order=order, message_id=message.message_id, position=message.position,
                fingerprint=message.fingerprint, tokens=message.tokens,
            )
            for order, message in enumerate(group)
        )  # fmt: skip
        append_entries(chat, group, batch_id=batch.pk)
