"""Reading a document for its learner's graph: the whole primary text, by the worker and the four tools that read chats.

The text is cut into numbered pieces, the same ones each time. A batch is a group of consecutive pieces under the token
budget and one transaction, so that a stop or a kill loses the batch in flight and nothing else; a piece that was read in
a batch that succeeded, by the same worker and prompt, is not read again. What stands in a document is data: it is nobody's
order, and nothing that the learner has said.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from coverage.view import count_tokens

from .. import spending
from ..claims.language import detect_language
from ..exploring.environment import COVERING, SUMMARY_CHARACTERS, content_hash, overview, scrub, scrubbed
from ..exploring.staging import BatchStaging
from ..exploring.tools import ExploreTools
from ..merging.merge import close_batch, prepare_batch, write_batch
from ..models import Batch, Document, ReferenceEnvironment
from ..redaction import redact
from ..running.recording import record_attempt, spent
from ..sources import FromDocument
from ..workers import BatchFailed, BatchTooLarge, ExtractWorker, WorkerUnavailable, as_recorded, get_worker
from .cutting import cut

PIECE_CHARACTERS = 2000
SPEAKER = "document"
FRAME = 1
"""Version of how a document is put before a worker; another one reads every document anew."""

Piece = tuple[int, int, str]
"""Number (from 1), start in the text, and the text."""


class DayIsSpent(Exception):
    """A cap on what may be read or paid for in a day is reached; the text says which."""


@dataclass(slots=True)
class Reading:
    """What came of one extraction version, over all batches that read it by this worker."""

    pieces: int = 0
    batches: int = 0
    staged: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


def read(
    document: Document,
    extraction_id: str,
    text: str,
    worker: str,
    model: str = "",
    checkpoint: Callable[[], None] = lambda: None,
) -> Reading:
    """Read what is unread of the text; returns the sums over the whole of it.

    ``checkpoint`` is called between steps; what it raises ends the batch in flight. Raises BatchFailed when a batch
    failed, WorkerUnavailable, DayIsSpent, NoLearner.
    """
    all_pieces = [
        (number, start, piece) for number, (start, piece) in enumerate(cut(text, PIECE_CHARACTERS, step=checkpoint), 1)
    ]
    reader = _Reader(document, extraction_id, all_pieces, worker, model, checkpoint)
    while group := reader.next_group():
        if reason := spending.day_is_spent(worker):
            raise DayIsSpent(reason)
        reader.read_group(group)
    return reader.result()


def close_lost(file_id: str) -> int:
    """Close the batch of the document that a lost worker left open, if there is one; should it come back, it writes nothing."""
    return Batch.objects.filter(document=file_id, status=Batch.Status.RUNNING).update(
        status=Batch.Status.FAILED,
        error="the worker was lost while it read this batch",
        attempt_token=uuid.uuid4(),
        finished_at=timezone.now(),
    )


class _Reader:
    def __init__(
        self,
        document: Document,
        extraction_id: str,
        pieces: Sequence[Piece],
        worker: str,
        model: str,
        checkpoint: Callable[[], None],
    ) -> None:
        self.document = document
        self.extraction_id = extraction_id
        self.pieces = pieces
        self.checkpoint = checkpoint
        self.source = FromDocument(document.pk, extraction_id)
        self._get_worker = lambda: get_worker(worker, model)
        recorded = as_recorded(self._get_worker())
        self._identity = {name: recorded[name] for name in ("worker_version", "prompt_version", "prompt_hash")}
        self._budget = settings.EXTRACTION_CHUNK_TOKENS
        self._language = detect_language("\n".join(piece for _, _, piece in pieces[:20]))

    def _read_before(self) -> QuerySet[Batch]:
        return Batch.objects.filter(
            document=self.document,
            extraction_id=self.extraction_id,
            status=Batch.Status.SUCCEEDED,
            environment__content__frame=FRAME,
            **self._identity,
        )

    def next_group(self) -> list[Piece]:
        """The next unread pieces that follow each other, under the budget."""
        done: set[int] = set()
        for first, last in self._read_before().values_list("first_position", "last_position"):
            done.update(range(first, last + 1))
        group: list[Piece] = []
        tokens = 0
        for piece in self.pieces:
            if piece[0] in done:
                if group:
                    break
                continue
            tokens += count_tokens(piece[2])
            if group and tokens > self._budget:
                break
            group.append(piece)
        return group

    def read_group(self, group: list[Piece]) -> None:
        self.checkpoint()
        worker = self._get_worker()
        batch, content = self._open(group, worker)
        try:
            self._run(batch, content, worker)
        except BatchTooLarge as error:
            self._close(batch, Batch.Status.ABORTED, f"read as two smaller batches: {error}")
            if len(group) == 1:
                raise
            self._budget = max(1, sum(count_tokens(piece) for _, _, piece in group) // 2)
        except (BatchFailed, WorkerUnavailable) as error:
            self._close(batch, Batch.Status.FAILED, str(error))
            raise
        except BaseException as error:
            self._close(batch, Batch.Status.ABORTED, f"stopped: {type(error).__name__}")
            raise

    def _open(self, group: list[Piece], worker: ExtractWorker) -> tuple[Batch, dict[str, Any]]:
        """Store the batch and its environment. One that another process left open lost its worker."""
        content = self._environment(group)
        with transaction.atomic():
            self.source.lock_learner()
            close_lost(self.document.pk)
            batch = Batch.objects.create(
                document=self.document,
                extraction_id=self.extraction_id,
                attempt_token=uuid.uuid4(),
                first_position=group[0][0],
                last_position=group[-1][0],
                tokens=sum(count_tokens(piece) for _, _, piece in group),
                worker=worker.name,
                **as_recorded(worker),
            )
            ReferenceEnvironment.objects.create(batch=batch, content=content, content_hash=content_hash(content))
        return batch, content

    def _run(self, batch: Batch, content: dict[str, Any], worker: ExtractWorker) -> None:
        if hasattr(worker, "allow"):
            worker.allow(spending.allowance(batch.pk))
        staging = BatchStaging(batch)
        tools = ExploreTools(content, staging)
        try:
            worker.run(overview(content), tools, self.checkpoint)
            if not staging.finished:
                raise BatchFailed("the worker stopped without finish_extraction")
            self._merge(batch, staging, tools, worker)
        finally:
            record_attempt(batch, tools, worker)

    def _merge(self, batch: Batch, staging: BatchStaging, tools: ExploreTools, worker: ExtractWorker) -> None:
        ready = prepare_batch(batch, self.document.learner_id)
        self.checkpoint()
        with transaction.atomic():
            learner = self.source.lock_learner()
            write_batch(batch, self.source, learner, ready)
            close_batch(batch, staging, len(ready.candidates), tools.refusals, spent(batch, tools, worker))

    def _close(self, batch: Batch, status: str, reason: str) -> None:
        Batch.objects.filter(pk=batch.pk, status=Batch.Status.RUNNING, attempt_token=batch.attempt_token).update(
            status=status, error=redact(reason)[:2000], attempt_token=uuid.uuid4(), finished_at=timezone.now()
        )

    def _environment(self, group: list[Piece]) -> dict[str, Any]:
        """As `extraction.exploring.environment` builds it for messages; the piece before comes along, read-only and not citable."""
        before = [self.pieces[group[0][0] - 2]] if group[0][0] > 1 else []
        shown = [*before, *group]
        texts = scrubbed(piece for _, _, piece in shown)
        return {
            "frame": FRAME,
            "covering": COVERING,
            "document": {"file_id": self.document.pk, "extraction_id": self.extraction_id},
            "chat": {
                "id": self.document.pk,
                "title": scrub(self.document.filename),
                "topic": "",
                "documents": [],
                "settings": {},
                "language": None if self._language == "und" else self._language,
            },
            "range": {"from": group[0][0], "to": group[-1][0]},
            "evidence": [
                _entry(piece, text, context=piece in before) for piece, text in zip(shown, texts, strict=True)
            ],
        }

    def result(self) -> Reading:
        batches = list(self._read_before())
        found = Reading(len(self.pieces), len(batches), sum(batch.staged_count or 0 for batch in batches))
        outcomes = self.source.candidates().filter(batch__in=batches).with_standing().values_list("standing", flat=True)
        found.outcomes.update(outcome for outcome in outcomes if outcome)
        return found


def _entry(piece: Piece, text: str, *, context: bool) -> dict[str, Any]:
    number, start, _ = piece
    flat = " ".join(text.split())
    return {
        "id": f"d{number}",
        "kind": "message",
        "label": "",
        "text": text,
        "char_start": start,
        "total_chars": len(text),
        "injected": False,
        "quiz": False,
        "tool": None,
        "message_id": "",
        "fingerprint": "",
        "position": number,
        "part": 0,
        "speaker": SPEAKER,
        "said_at": None,
        "context": context,
        "summary": flat if len(flat) <= SUMMARY_CHARACTERS else flat[: SUMMARY_CHARACTERS - 1] + "…",
    }
