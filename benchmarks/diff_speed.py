"""The diff of one long chat: every message's state from the ledger, beside reading the rows alone."""

from collections import Counter
from uuid import uuid4

from coverage.models import Chat, CoverageEntry, Message
from coverage.services import IncomingMessage, append_entries, get_or_create_learner, put_messages
from extraction.models import Batch, BatchMessage, Run
from extraction.selectors import chat_coverage, grouped_states
from osii.web import strip

from .measure import Case, compare
from .result import Result, Target
from .scratch import analyze

QUICK = {1_000: 15, 10_000: 9}  # messages: rounds
FULL = {10_000: 15, 100_000: 3}
BATCH_MESSAGES = 50
LIMIT_MS, LIMIT_AT = 100, 10_000
"""For a chat of so many messages; a longer one may take as many times longer as it is longer."""


def run_quick() -> list[Result]:
    return compare("diff", QUICK, _diff) + compare("diff", QUICK, _strip)


def run_full() -> list[Result]:
    return compare("diff", FULL, _diff) + compare("diff", FULL, _strip)


def _diff(count: int) -> Case:
    chat = half_covered(count)
    data = chat_coverage(chat.pk)
    if not 0 < data["covered_tokens"] < data["total_tokens"]:
        raise RuntimeError("the chat is not half covered: the diff benchmark is void")
    if _looped(chat) != data["covered_tokens"]:
        raise RuntimeError("the rival counts otherwise: the diff benchmark is void")
    return Case(
        ours=lambda: chat_coverage(chat.pk),
        limit=("reading the rows, no diff", lambda: _read_rows(chat)),
        rivals={"the ledger's sums by a loop over both": lambda: _looped(chat)},
        name=f"the state of {count:,} messages",
        target=Target(LIMIT_MS * max(1, count / LIMIT_AT)),
    )


def _strip(count: int) -> Case:
    chat = half_covered(count)
    return Case(
        ours=lambda: strip.build(grouped_states(chat.pk, count, strip.buckets(count))),
        limit=("reading the rows, no diff", lambda: _read_rows(chat)),
        rivals={"the state of each message": lambda: chat_coverage(chat.pk)},
        name=f"the strip of {count:,} messages",
    )


def _read_rows(chat: Chat) -> list[tuple]:
    columns = ("message_id", "position", "role", "tokens", "fingerprint")
    return list(Message.objects.filter(chat=chat).order_by("position").values_list(*columns))


def _looped(chat: Chat) -> int:
    """What is covered, counted here: the rows of the chat and of its ledger are read and gone through."""
    left: Counter[str] = Counter()
    for fingerprint, kind in CoverageEntry.objects.filter(chat=chat).values_list("fingerprint", "kind"):
        left[fingerprint] += 1 if kind == CoverageEntry.Kind.COVER else -1
    covered = 0
    for _, _, _, tokens, fingerprint in _read_rows(chat):
        if left[fingerprint] > 0:
            left[fingerprint] -= 1
            covered += tokens
    return covered


def half_covered(count: int) -> Chat:
    """A chat of so many messages; the one that is there, where there is one."""
    title = f"A chat of {count} messages, half of them covered"
    there = Chat.objects.filter(title=title).first()
    if there is not None:
        return there
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark diff"), title=title)
    roles = ("user", "assistant")
    incoming = [
        # Every tenth text repeats, as "yes" and "thanks" do: the diff counts them.
        IncomingMessage(
            f"m{n}", roles[n % 2], [{"type": "text", "text": f"Message {n if n % 10 else 0} of this chat. " * 8}]
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
