"""Old checkpoints of whole chats: lines ``{chatId, foldedAt}``, each saying that a chat was read up to a moment.

They hold no chats. What they say enters the ledger as one *imported* batch per line, so that nothing of it is read again.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Q

from coverage.models import Chat, CoverageEntry, Message, MessageCoverage
from coverage.services import append_entries, lock_chat
from coverage.view import MalformedParts, check_storable

from . import values
from .documents import Document
from .records import Fit, Problem, shorten

NAME = SOURCE = "checkpoints"
LABEL = "checkpoints of whole chats"

# UUIDs of this version have a free layout; those of batches that read something are version 7.
IMPORTED_VERSION = 8
_LOOK_UP_AT_ONCE = 500
_NO_TIMES = "none of its messages tells when it was said, so nothing was covered"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One line: the chat was read up to a moment."""

    source: str
    where: str
    external_id: str
    folded_at: datetime


@dataclass(slots=True)
class CheckpointReport:
    """What became of one line.

    ``state``: covered (``messages`` and ``tokens`` say how much), already (it or a later one was imported before),
    nothing (up to this moment everything was covered, or nothing was said) or pending (a dry run cannot tell, for the
    chat itself would be new).
    """

    source: str
    where: str
    external_id: str
    folded_at: datetime
    state: str
    learner: str = ""
    title: str = ""
    chat_id: UUID | None = None
    messages: int = 0
    tokens: int = 0


def recognises(value: Any) -> Fit:
    return Fit.SURE if isinstance(value, dict) and "chatId" in value and "foldedAt" in value else Fit.NO


def read(document: Document) -> Iterator[Checkpoint | Problem]:
    """The checkpoints of a document, one per item."""
    unit = "line" if document.unit == "line" else "checkpoint"
    for item in document.items():
        place = f"{unit} {item.number}"
        reason, remedy = (item.error, item.remedy) if item.error else (_flaw(item.value), "correct it, or remove it")
        if reason:
            yield Problem(document.source.label, place, reason, remedy)
            continue
        moment = values.parse_time(item.value["foldedAt"])
        yield Checkpoint(document.source.label, place, str(item.value["chatId"]), moment)


def _flaw(value: Any) -> str:
    if recognises(value) is Fit.NO:
        return "it has no chatId and foldedAt"
    chat_id = value["chatId"]
    if isinstance(chat_id, bool) or not isinstance(chat_id, str | int) or chat_id == "":
        return "the chatId is neither a text nor a number"
    try:
        check_storable(chat_id, "the chatId")
    except MalformedParts as error:
        return str(error)
    if values.parse_time(value["foldedAt"]) is None:
        return "the foldedAt is not a time"
    return ""


def imported_batch(chat_id: UUID, folded_at: datetime) -> UUID:
    """The batch id of a checkpoint: always the same one, and ordered by its time. Version 8."""
    milliseconds = _milliseconds(folded_at)
    digest = hashlib.blake2b(f"{chat_id} {folded_at.isoformat()}".encode(), digest_size=10).digest()
    number = (milliseconds << 80) | int.from_bytes(digest, "big")
    number = number & ~(0xF << 76) | (IMPORTED_VERSION << 76)
    return UUID(int=number & ~(0x3 << 62) | (0x2 << 62))


def is_imported(batch: UUID | None) -> bool:
    """Whether a batch of the ledger came from a checkpoint: nothing here has read its messages."""
    return batch is not None and batch.version == IMPORTED_VERSION


def _milliseconds(moment: datetime) -> int:
    return max(0, int(moment.timestamp() * 1000))


IsBusy = Callable[[UUID], bool]


def apply(
    checkpoints: Iterable[Checkpoint], learner: str, *, dry_run: bool, is_busy: IsBusy, is_new: Callable[[str], bool]
) -> Iterator[CheckpointReport | Problem]:
    """Bring checkpoints into the ledger, each in a transaction of its own.

    They are for chats of ``learner``, of any learner when it is empty. ``is_busy`` tells, under the chat's lock, whether
    a run is reading it: what it reads must not be covered twice. ``is_new`` tells which unknown chats a dry run would
    have made.
    """
    waiting = list(checkpoints)
    for start in range(0, len(waiting), _LOOK_UP_AT_ONCE):
        some = waiting[start : start + _LOOK_UP_AT_ONCE]
        found = _chats(some, learner)
        for checkpoint in some:
            chats = found.get(checkpoint.external_id, [])
            if not chats and dry_run and is_new(checkpoint.external_id):
                yield _report(checkpoint, "pending")
            elif len(chats) == 1:
                yield _apply(checkpoint, chats[0], dry_run=dry_run, is_busy=is_busy)
            else:
                yield _unclear(checkpoint, len(chats))


def _chats(checkpoints: list[Checkpoint], learner: str) -> dict[str, list[Chat]]:
    """Chats by the id that the checkpoints know: that of the file that they came from, or their own."""
    ids = [checkpoint.external_id for checkpoint in checkpoints]
    own = [parsed for text in ids if (parsed := _uuid(text))]
    chats = Chat.objects.filter(Q(external_id__in=ids) | Q(pk__in=own)).select_related("learner")
    if learner:
        chats = chats.filter(learner__name=learner)
    found: dict[str, list[Chat]] = {}
    for chat in chats.order_by("pk"):
        for key in {chat.external_id, str(chat.pk)}:
            found.setdefault(key, []).append(chat)
    return found


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _unclear(checkpoint: Checkpoint, count: int) -> Problem:
    shown = repr(shorten(checkpoint.external_id))
    if count:
        reason, remedy = f"{count} chats have the id {shown}", "say with --learner whose chat is meant"
    else:
        reason, remedy = f"no chat has the id {shown}", "import the chat first, or together with the checkpoints"
    return Problem(checkpoint.source, checkpoint.where, reason, remedy)


def _apply(checkpoint: Checkpoint, chat: Chat, *, dry_run: bool, is_busy: IsBusy) -> CheckpointReport | Problem:
    with transaction.atomic():
        lock_chat(chat.pk)
        if is_busy(chat.pk):
            reason = "a run is reading this chat now, so nothing was covered"
            return Problem(checkpoint.source, checkpoint.where, reason, "import the checkpoint when the run has ended")
        if _known(chat, checkpoint.folded_at):
            return _report(checkpoint, "already", chat)
        uncovered = _uncovered_until(chat, checkpoint.folded_at)
        if uncovered is None:
            remedy = "extract it, or import it with times"
            return Problem(checkpoint.source, checkpoint.where, _NO_TIMES, remedy)
        append_entries(chat, uncovered, batch_id=imported_batch(chat.pk, checkpoint.folded_at))
        transaction.set_rollback(dry_run)
    report = _report(checkpoint, "covered" if uncovered else "nothing", chat)
    report.messages, report.tokens = len(uncovered), sum(row.tokens for row in uncovered)
    return report


def _known(chat: Chat, folded_at: datetime) -> bool:
    """Whether this checkpoint or a later one is in the ledger: what is uncovered now was changed or released since."""
    batches = CoverageEntry.objects.filter(chat=chat, batch__isnull=False).values_list("batch", flat=True).distinct()
    return any(is_imported(batch) and batch.int >> 80 >= _milliseconds(folded_at) for batch in batches)


def _uncovered_until(chat: Chat, moment: datetime) -> list[MessageCoverage] | None:
    """Uncovered messages with content that were there at this moment; None when the chat tells no times at all.

    A message that tells none counts by its place: what stands before one that was there was there too.
    """
    transcript = Message.objects.filter(chat=chat, position__isnull=False)
    stored_by_then = Q(said_at__isnull=True, created_at__lte=moment)
    last = transcript.filter(Q(said_at__lte=moment) | stored_by_then).aggregate(last=Max("position"))["last"]
    if last is None:
        return [] if transcript.filter(said_at__isnull=False).exists() else None
    later = transcript.filter(said_at__gt=moment).values("pk")
    rows = MessageCoverage.objects.filter(chat=chat, covered=False, tokens__gt=0, position__lte=last)
    return list(rows.exclude(pk__in=later).order_by("position"))


def _report(checkpoint: Checkpoint, state: str, chat: Chat | None = None) -> CheckpointReport:
    report = CheckpointReport(checkpoint.source, checkpoint.where, checkpoint.external_id, checkpoint.folded_at, state)
    if chat:
        report.chat_id, report.title, report.learner = chat.pk, chat.title, chat.learner.name
    return report
