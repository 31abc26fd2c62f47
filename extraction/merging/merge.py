"""The merge: from a batch's staged candidates to propositions with evidence, in one checkpoint.

Slow work (embedding, nomination, a language model) is done before the transaction; what the transaction finds changed is
decided again under the learner's lock. Lock order: run, chat, learner. See docs/merging.md.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from coverage.ids import new_id
from coverage.models import Chat, CoverageEntry, Learner, Message
from coverage.services import append_entries, lock_chat
from graphctx import embedding, vectors
from graphctx.models import Proposition

from .. import spending
from ..auditing.audit import Audit, audit, settle
from ..auditing.model import Claim
from ..auditing.registry import get_auditor
from ..exploring.admission import held_back
from ..exploring.features import AUDITOR
from ..exploring.staging import BatchStaging, claim_identity
from ..models import Batch, Candidate, ReviewSetting
from ..sources import Source, source_of
from .writing import GraphWriter, PreparedVectors

logger = logging.getLogger(__name__)

REVIEW = "review"
"""The actor that leaves a candidate to staff."""


def review_mode(learner_id: UUID) -> str:
    """Either "auto" or "manual": the learner's own, else OSII_REVIEW_MODE."""
    own = ReviewSetting.objects.filter(learner=learner_id).values_list("mode", flat=True).first()
    return own or settings.OSII_REVIEW_MODE


def claim_of(candidate: Candidate, text: str | None = None) -> Claim:
    """The candidate (with another wording, if ``text`` gives one) as the auditor sees it."""
    said = [datetime.fromisoformat(item["said_at"]) for item in candidate.evidence if isinstance(item["said_at"], str)]
    wording = text or candidate.claim
    return Claim(new_id(), wording, candidate.kind, max(said, default=None), claim_identity(wording))


def prepare_vectors(learner_id: UUID, claims: Sequence[Claim]) -> PreparedVectors:
    """Embed the claims that the learner's graph does not hold yet. Never fails the batch: a missing vector is a
    derived, shown backlog that ``backfill_embeddings`` works off.
    """
    texts = {claim.identity: claim.text for claim in claims}
    known = Proposition.objects.filter(learner=learner_id, identity__in=texts).values_list("identity", flat=True)
    fresh = {identity: texts[identity] for identity in texts.keys() - set(known)}
    if not fresh:
        return PreparedVectors(None, {})
    try:
        space = embedding.active_space()
        by_identity, unusable = vectors.embed_usable(embedding.embedder_of(space), fresh)
    except embedding.EmbeddingError as error:
        logger.warning("Propositions are merged without vectors: %s", error)
        return PreparedVectors(None, {})
    for reason in unusable.values():
        logger.warning("A proposition is merged without a vector: %s", reason)
    return PreparedVectors(space, by_identity)


def prepare(learner_id: UUID, claims: Sequence[Claim], auditor: str | None = None) -> tuple[PreparedVectors, Audit]:
    """Everything slow, before the transaction: vectors, nominations, and what the auditor decides."""
    prepared = prepare_vectors(learner_id, claims)
    made = audit(learner_id, claims, get_auditor(auditor), prepared.space, prepared.by_identity)
    return prepared, made


def checkpoint(
    batch: Batch, staging: BatchStaging, refusals: int, usage: Mapping[str, int], guard: Callable[[], object]
) -> Counter[str]:
    """Merge (or leave to review), resolve, cover and close the batch in one transaction; returns outcomes counted.

    ``guard`` locks the run and raises when this attempt no longer holds it: then nothing is written.
    """
    ready = prepare_batch(batch, batch.chat.learner_id)
    with transaction.atomic():
        guard()
        chat = lock_chat(batch.chat_id)
        learner = Learner.objects.select_for_update(no_key=True).get(pk=chat.learner_id)
        outcomes = write_batch(batch, source_of(batch), learner, ready)
        _cover(chat, batch)
        close_batch(batch, staging, len(ready.candidates), refusals, usage)
    return outcomes


def _cover(chat: Chat, batch: Batch) -> None:
    """One cover line per message of the batch; what was deleted meanwhile is released at once, as any deleted message is."""
    read = list(batch.messages.all())
    append_entries(chat, read, batch_id=batch.pk)
    there = set(
        Message.objects.filter(chat=chat, message_id__in=[row.message_id for row in read]).values_list(
            "message_id", flat=True
        )
    )
    gone = [row for row in read if row.message_id not in there]
    if gone:
        append_entries(chat, gone, kind=CoverageEntry.Kind.RELEASE)


@dataclass(frozen=True, slots=True)
class Ready:
    """What the merge of a batch needs: its candidates, which of them wait for staff and why, and what was decided of the
    others, in order.
    """

    candidates: list[Candidate]
    waiting: dict[UUID, str]
    vectors: PreparedVectors
    made: Audit | None


def prepare_batch(batch: Batch, learner_id: UUID) -> Ready:
    """Everything slow, before the transaction, for the candidates of the batch's attempt."""
    candidates = list(Candidate.objects.filter(batch=batch, attempt=batch.attempt).order_by("order"))
    waiting = _waiting(learner_id, candidates)
    decided = [candidate for candidate in candidates if candidate.pk not in waiting]
    if not decided:
        return Ready(candidates, waiting, PreparedVectors(None, {}), None)
    prepared, made = prepare(learner_id, [claim_of(candidate) for candidate in decided], _auditor(batch))
    if made.report is not None:
        spending.record_use(batch, AUDITOR, made.report)
    return Ready(candidates, waiting, prepared, made)


def _auditor(batch: Batch) -> str:
    """The configured auditor; the one that costs nothing once a cap on money is reached."""
    left = spending.allowance(batch.run_id or batch.pk)
    return "nearness" if left is not None and left.amount <= 0 else settings.OSII_AUDITOR


def _waiting(learner_id: UUID, candidates: Sequence[Candidate]) -> dict[UUID, str]:
    """Which candidates are left to staff, and why: all in manual mode, else those whose marks hold them back."""
    if review_mode(learner_id) == ReviewSetting.Mode.MANUAL:
        why = "waits for a decision: this learner's claims are reviewed by hand"
        return {candidate.pk: why for candidate in candidates}
    return {candidate.pk: why for candidate in candidates if (why := held_back(candidate.marks))}


def write_batch(batch: Batch, source: Source, learner: Learner, ready: Ready) -> Counter[str]:
    """Merge the candidates, or leave them to review; the caller holds the locks of source and learner."""
    made = ready.made
    writer = GraphWriter(learner, source, made.auditor if made else REVIEW, ready.vectors, batch.pk)
    decided = iter(zip(made.claims, settle(made, learner), strict=True) if made else ())
    for candidate in ready.candidates:
        if candidate.pk in ready.waiting:
            writer.defer(candidate, ready.waiting[candidate.pk], actor=REVIEW)
        else:
            writer.apply(candidate, *next(decided))
    writer.write()
    return writer.outcomes


def close_batch(batch: Batch, staging: BatchStaging, staged: int, refusals: int, usage: Mapping[str, int]) -> None:
    closed = Batch.objects.filter(pk=batch.pk, status=Batch.Status.RUNNING, attempt_token=batch.attempt_token).update(
        status=Batch.Status.SUCCEEDED,
        staged_count=staged,
        reason=staging.reason,
        refusals=refusals,
        usage=dict(usage),
        error="",
        finished_at=timezone.now(),
    )
    if not closed:
        raise RuntimeError(f"batch {batch.pk} is no longer running under this attempt")
