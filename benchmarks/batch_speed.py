"""Planning the next batch of a chat, ahead of where the last one ended, beside deriving the whole diff again."""

from django.conf import settings
from django.db import transaction

from coverage.batches import first_batch
from coverage.models import Chat, Message
from extraction.running import frontier
from extraction.selectors import message_states

from . import diff_speed
from .measure import Case, compare
from .result import Result, Target

QUICK = {1_000: 15, 10_000: 9}  # messages of the chat, half of it covered: rounds
FULL = {10_000: 15, 100_000: 5}
LIMIT_MS = 100


def run_quick() -> list[Result]:
    return compare("batches", QUICK, _case)


def run_full() -> list[Result]:
    return compare("batches", FULL, _case)


def _case(count: int) -> Case:
    chat = diff_speed.half_covered(count)
    planned = _anew(chat)
    with transaction.atomic():
        frontier.forget()
        frontier.remember(chat.pk, frontier.ahead(chat.pk))
    if not planned or [row.message_id for row in _ahead(chat)] != planned:
        raise RuntimeError("both ways do not plan the same messages: the batches benchmark is void")

    def read() -> list[tuple]:
        """The rows of the messages that will be in it, and nothing about what is covered."""
        rows = Message.objects.filter(chat=chat, message_id__in=planned).order_by("position")
        return list(rows.values_list("message_id", "position", "fingerprint", "tokens"))

    return Case(
        ours=lambda: _ahead(chat),
        limit=(f"reading the {len(planned)} rows of the batch", read),
        rivals={"from the whole diff": lambda: _anew(chat)},
        name=f"a batch in a chat of {count:,}",
        target=Target(LIMIT_MS),
    )


def _ahead(chat: Chat) -> list:
    with transaction.atomic():
        return first_batch(frontier.ahead(chat.pk), settings.EXTRACTION_CHUNK_TOKENS)


def _anew(chat: Chat) -> list[str]:
    return [row.message_id for row in first_batch(message_states(chat.pk), settings.EXTRACTION_CHUNK_TOKENS)]
