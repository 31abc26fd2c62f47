"""Which messages the next batch reads: a failed batch again as it was, else the oldest uncovered ones."""

import uuid
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from coverage.batches import context_before, first_batch
from coverage.models import Chat, Message

from ..models import Batch, BatchMessage, Run
from ..selectors import EXTRACTABLE, PARKED, MessageState, states_of
from ..workers import as_recorded, get_worker
from . import frontier

CONTEXT_SHARE = 5
"""Read-only context takes at most this fraction (1 in 5) of the chunk budget."""


def open_batch(run: Run, chat: Chat) -> Batch | None:
    """The next batch of the run, stored as running with its messages; None when nothing is to be read.

    The caller holds the chat's lock. An automatic run goes on while the uncovered total reaches the chunk budget;
    "the rest" drains everything, gives each parked batch one more attempt and reads what is left of one whose messages
    changed. What this run split it reads to the end.
    """
    chosen = _choose(run, chat)
    if not chosen:
        return None
    return _reopen(chosen, run) if isinstance(chosen, Batch) else _create(run, chat, chosen)


def has_next(run: Run, chat: Chat) -> bool:
    """Whether ``open_batch`` would open one. The caller holds the chat's lock."""
    return bool(_choose(run, chat))


def _choose(run: Run, chat: Chat) -> Batch | Sequence[MessageState]:
    """A batch to read again, or the messages of a new one; empty when nothing is to be read."""
    budget = settings.EXTRACTION_CHUNK_TOKENS
    half = _half(run, chat)
    if half is not None:
        return half
    rows = frontier.ahead(chat.pk)
    frontier.remember(chat.pk, rows)
    if run.mode == Run.Mode.DUE and not rows.reaches(budget):
        return []
    if run.mode == Run.Mode.REST and _let_go_of_changed(chat):
        rows = frontier.ahead(chat.pk)
        frontier.remember(chat.pk, rows)
    retried = _failed_batch(chat)
    if retried is None and run.mode == Run.Mode.REST:
        retried = _parked_batch(run, chat)
    return retried or first_batch(rows, budget)


def _half(run: Run, chat: Chat) -> Batch | None:
    """A half of a batch that this run split and did not try yet."""
    return _whole(Batch.objects.filter(chat=chat, run=run, status=Batch.Status.FAILED, attempt=0), EXTRACTABLE)


def _failed_batch(chat: Chat) -> Batch | None:
    """The oldest failed batch whose messages all still wait, unchanged: its failures count on exactly these."""
    return _whole(Batch.objects.filter(chat=chat, status=Batch.Status.FAILED), EXTRACTABLE)


def _parked_batch(run: Run, chat: Chat) -> Batch | None:
    # A parked batch that this very run already tried keeps its place: one more attempt, not an endless loop.
    return _whole(Batch.objects.filter(chat=chat, status=Batch.Status.PARKED).exclude(run=run), (PARKED,))


def _whole(batches: QuerySet[Batch], states: Collection[str]) -> Batch | None:
    """The first of these batches in the transcript whose messages are all in one of these states, unchanged."""
    return next((batch for batch, whole in _looked_at(batches, states) if whole), None)


def _let_go_of_changed(chat: Chat) -> int:
    """Close parked batches that can never be tried again as they were, because a message of theirs was changed, deleted or
    read otherwise: what is left of them is uncovered again. Returns how many there were."""
    parked = Batch.objects.filter(chat=chat, status=Batch.Status.PARKED)
    changed = [batch.pk for batch, whole in _looked_at(parked, (PARKED,)) if not whole]
    return Batch.objects.filter(pk__in=changed).update(status=Batch.Status.ABORTED, finished_at=timezone.now())


def _looked_at(batches: QuerySet[Batch], states: Collection[str]) -> list[tuple[Batch, bool]]:
    """Each of these batches of one chat, in the order of the transcript, and whether all its messages are in these states."""
    found = list(batches.prefetch_related("messages").order_by("first_position", "created_at"))
    marks = {message.fingerprint for batch in found for message in batch.messages.all()}
    rows = states_of(found[0].chat_id, marks) if found else []
    waiting = {(row.message_id, row.fingerprint) for row in rows if row.state in states}
    return [
        (batch, all((message.message_id, message.fingerprint) in waiting for message in batch.messages.all()))
        for batch in found
    ]


def _reopen(batch: Batch, run: Run) -> Batch:
    batch.run = run
    batch.status = Batch.Status.RUNNING
    batch.attempt += 1
    batch.attempt_token = uuid.uuid4()
    batch.worker = run.worker
    for column, value in _reader(run).items():
        setattr(batch, column, value)
    batch.finished_at = None
    batch.save()
    return batch


def _create(run: Run, chat: Chat, group: Sequence[MessageState | BatchMessage], **more: Any) -> Batch:
    batch = Batch.objects.create(
        chat=chat,
        run=run,
        attempt_token=uuid.uuid4(),
        first_position=group[0].position,
        last_position=group[-1].position,
        tokens=sum(row.tokens for row in group),
        worker=run.worker,
        **_reader(run),
        **more,
    )
    BatchMessage.objects.bulk_create(
        BatchMessage(
            batch=batch,
            chat=chat,
            order=order,
            message_id=row.message_id,
            position=row.position,
            fingerprint=row.fingerprint,
            tokens=row.tokens,
        )
        for order, row in enumerate(group, start=1)
    )
    return batch


def _reader(run: Run) -> dict[str, Any]:
    """What reads the run's batches now, as a batch records it."""
    return as_recorded(get_worker(run.worker, run.model))


def split(batch: Batch, run: Run, chat: Chat, why: str = "half of a batch that was too large") -> bool:
    """Put two batches with its messages in the place of one that is too large; False when it holds a single message.

    The caller closes the batch itself, in the same transaction, under the chat's lock. The halves wait as failed batches
    that were never tried, so each message is still in exactly one batch that will read it.
    """
    messages = list(batch.messages.all())
    if len(messages) < 2:
        return False
    middle = _middle([message.tokens for message in messages])
    for half in (messages[:middle], messages[middle:]):
        _create(run, chat, half, status=Batch.Status.FAILED, attempt=0, error=why)
    return True


def _middle(tokens: Sequence[int]) -> int:
    """Where to cut so that the larger side is smallest; both sides get at least one message."""
    total, before = sum(tokens), list(accumulate(tokens))
    return min(range(1, len(tokens)), key=lambda cut: max(before[cut - 1], total - before[cut - 1]))


def read_only_context(chat: Chat, first_position: int) -> list[Message]:
    """The messages right before ``first_position`` that fit into a fifth of the chunk budget."""
    budget = settings.EXTRACTION_CHUNK_TOKENS // CONTEXT_SHARE
    # Every message with content takes at least one token, so no more than ``budget`` of them can fit.
    before = Message.objects.filter(chat=chat, position__lt=first_position, tokens__gt=0).order_by("-position")
    return context_before(before[:budget].iterator(chunk_size=50), budget)


def abandon_open_batches(chat_id: UUID) -> None:
    """Close what a run that stops leaves open: the batch is lost, its messages stay uncovered, no failure is counted.

    A batch that has failed before is kept for a retry, so that stopping often does not make its failures forgotten.
    """
    opened = Batch.objects.filter(chat=chat_id, status=Batch.Status.RUNNING)
    opened.filter(failures__gt=0).update(status=Batch.Status.FAILED, finished_at=timezone.now())
    opened.filter(failures=0).update(status=Batch.Status.ABORTED, finished_at=timezone.now())
