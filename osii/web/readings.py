"""When a message was read, by which batch, and how many propositions stand on it: for one page of a transcript."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from coverage.importers.checkpoints import is_imported
from coverage.models import CoverageEntry
from extraction.models import Batch, BatchMessage
from extraction.selectors import COVERED, EXTRACTABLE, MessageState
from graphctx.models import Instance

Read = tuple[UUID | None, datetime | None]
"""The batch of a reading, and when."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The last reading of a message. ``kind`` is read (this very version), changed (an earlier version), again (this
    version, and it is to be read again), copy (an equal message was read) or imported (read before it came here).
    ``batch`` is none where nothing here has read it; ``propositions`` have live evidence in the message."""

    kind: str
    at: datetime | None = None
    batch: UUID | None = None
    propositions: int = 0


def readings(chat_id: UUID, rows: Sequence[MessageState]) -> dict[str, Reading]:
    """By message id, for the given rows of this chat; three queries, whatever their number. Unread ones are left out."""
    ids = [row.message_id for row in rows]
    own: dict[str, dict[str, Read]] = defaultdict(dict)
    batches = BatchMessage.objects.filter(chat=chat_id, message_id__in=ids, batch__status=Batch.Status.SUCCEEDED)
    for name, *read in batches.order_by("batch__finished_at", "batch").values_list(
        "message_id", "fingerprint", "batch", "batch__finished_at"
    ):
        own[name].pop(read[0], None)  # the latest reading comes last
        own[name][read[0]] = (read[1], read[2])
    ledger = _ledger(chat_id, rows)
    counted = dict(
        Instance.objects.filter(chat=chat_id, message_id__in=ids, live=True)
        .order_by()
        .values_list("message_id")
        .annotate(n=Count("proposition", distinct=True))
    )
    found = {}
    for row in rows:
        reading = _reading(
            row, own.get(row.message_id, {}), ledger.get(row.fingerprint), counted.get(row.message_id, 0)
        )
        if reading is not None:
            found[row.message_id] = reading
    return found


def _ledger(chat_id: UUID, rows: Sequence[MessageState]) -> dict[str, Read]:
    """The last cover line of each covered fingerprint: which batch wrote it, and when."""
    marks = {row.fingerprint for row in rows if row.state == COVERED}
    covers = (
        CoverageEntry.objects.filter(chat=chat_id, fingerprint__in=marks, kind=CoverageEntry.Kind.COVER)
        .order_by("fingerprint", "-pk")
        .distinct("fingerprint")
        .values_list("fingerprint", "batch", "folded_at")
    )
    return {mark: (batch, at) for mark, batch, at in covers}


def _reading(row: MessageState, own: dict[str, Read], line: Read | None, propositions: int) -> Reading | None:
    """``own`` are the readings of this message by fingerprint, latest last; ``line`` the ledger's of its content."""
    if row.fingerprint in own:
        batch, at = own[row.fingerprint]
        return Reading("again" if row.state in EXTRACTABLE else "read", at, batch, propositions)
    if line is not None:
        imported = is_imported(line[0])
        return Reading("imported" if imported else "copy", line[1], None if imported else line[0], propositions)
    if own:
        batch, at = list(own.values())[-1]
        return Reading("changed", at, batch, propositions)
    return None
