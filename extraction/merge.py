"""The merge: from a batch's staged candidates to propositions with evidence, in one checkpoint.

Identity here is the exact normalised claim. Slow work (embedding) is done before the transaction; what the
transaction finds changed is decided again under the learner's lock. Lock order: run, chat, learner.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from coverage.models import Learner
from coverage.services import append_entries, lock_chat
from graphctx import embedding, vectors
from graphctx.evidence import stand
from graphctx.models import EmbeddingSpace, Instance, Proposition

from .models import Batch, Candidate, Resolution
from .staging import BatchStaging, claim_identity

logger = logging.getLogger(__name__)

ACTOR = "identity"
"""The auditor that decides here: the same normalised claim is the same proposition."""


@dataclass(slots=True)
class PreparedVectors:
    """Vectors computed before the transaction, by claim identity; empty when the embedder failed."""

    space: EmbeddingSpace | None
    by_identity: dict[str, np.ndarray]


def prepare_vectors(learner_id: UUID, candidates: Sequence[Candidate]) -> PreparedVectors:
    """Embed the claims that the learner's graph does not hold yet. Never fails the batch: a missing vector is a
    derived, shown backlog that ``backfill_embeddings`` works off.
    """
    claims = {claim_identity(candidate.claim): candidate.claim for candidate in candidates}
    known = Proposition.objects.filter(learner=learner_id, identity__in=claims).values_list("identity", flat=True)
    fresh = {identity: claim for identity, claim in claims.items() if identity not in set(known)}
    if not fresh:
        return PreparedVectors(None, {})
    try:
        space = embedding.active_space()
        by_identity, unusable = vectors.embed_usable(embedding.get_embedder(), fresh)
    except embedding.EmbeddingError as error:
        logger.warning("Propositions are merged without vectors: %s", error)
        return PreparedVectors(None, {})
    for reason in unusable.values():
        logger.warning("A proposition is merged without a vector: %s", reason)
    return PreparedVectors(space, by_identity)


def checkpoint(
    batch: Batch, staging: BatchStaging, refusals: int, usage: Mapping[str, int], guard: Callable[[], None]
) -> Counter[str]:
    """Merge, resolve, cover and close the batch in one transaction; returns outcomes counted.

    ``guard`` locks the run and raises when this attempt no longer holds it: then nothing is written.
    """
    candidates = list(Candidate.objects.filter(batch=batch, attempt=batch.attempt).order_by("order"))
    prepared = prepare_vectors(batch.chat.learner_id, candidates)
    with transaction.atomic():
        guard()
        chat = lock_chat(batch.chat_id)
        learner = Learner.objects.select_for_update(no_key=True).get(pk=chat.learner_id)
        merger = _Merger(batch, learner, prepared, candidates)
        for candidate in candidates:
            merger.merge(candidate)
        merger.write()
        append_entries(chat, batch.messages.all(), batch_id=batch.pk)
        closed = Batch.objects.filter(
            pk=batch.pk, status=Batch.Status.RUNNING, attempt_token=batch.attempt_token
        ).update(
            status=Batch.Status.SUCCEEDED,
            staged_count=len(candidates),
            reason=staging.reason,
            refusals=refusals,
            usage=dict(usage),
            error="",
            finished_at=timezone.now(),
        )
        if not closed:
            raise RuntimeError(f"batch {batch.pk} is no longer running under this attempt")
    return merger.outcomes


class _Merger:
    """Decides each candidate against the learner's graph and collects the rows to write: a fixed number of queries."""

    def __init__(
        self, batch: Batch, learner: Learner, prepared: PreparedVectors, candidates: Sequence[Candidate]
    ) -> None:
        self.batch = batch
        self.learner = learner
        self.prepared = prepared
        self.outcomes: Counter[str] = Counter()
        self._propositions = self._held({claim_identity(candidate.claim) for candidate in candidates})
        self._known = self._known_evidence()
        self._fresh: list[Proposition] = []
        self._new_vectors: dict[UUID, np.ndarray] = {}
        self._instances: list[Instance] = []
        self._resolutions: list[Resolution] = []

    def _held(self, identities: set[str]) -> dict[str, Proposition]:
        """The learner's propositions with these claims, by identity."""
        rows = Proposition.objects.filter(learner=self.learner, identity__in=identities)
        return {proposition.identity: proposition for proposition in rows}

    def _known_evidence(self) -> set[tuple[UUID, str, int, str, str | None]]:
        """What this chat is evidence for already: proposition, message, part, quote and level."""
        held = [proposition.pk for proposition in self._propositions.values()]
        rows = Instance.objects.filter(chat=self.batch.chat_id, proposition__in=held)
        return set(rows.values_list("proposition", "message_id", "part", "quote", "level"))

    def merge(self, candidate: Candidate) -> None:
        identity = claim_identity(candidate.claim)
        proposition = self._propositions.get(identity)
        if proposition is None:
            proposition = Proposition(
                learner=self.learner, text=candidate.claim, kind=candidate.kind, identity=identity
            )
            self._propositions[identity] = proposition
            self._fresh.append(proposition)
            if identity in self.prepared.by_identity:
                self._new_vectors[proposition.pk] = self.prepared.by_identity[identity]
            self._resolve(candidate, Resolution.Outcome.NEW, proposition, "no proposition with this claim yet")
        elif proposition.state == Proposition.State.FORGOTTEN:
            self._resolve(candidate, Resolution.Outcome.DISCARD, proposition, "the learner asked to forget this")
            return
        else:
            self._resolve(candidate, Resolution.Outcome.SAME, proposition, "the same claim, normalised")
        self._instances += self._evidence(candidate, proposition)

    def _resolve(self, candidate: Candidate, outcome: str, proposition: Proposition, reason: str) -> None:
        self.outcomes[outcome] += 1
        self._resolutions.append(
            Resolution(candidate=candidate, outcome=outcome, proposition=proposition, reason=reason, actor=ACTOR)
        )

    def _evidence(self, candidate: Candidate, proposition: Proposition) -> list[Instance]:
        instances = [self._instance(candidate, proposition, item) for item in candidate.evidence]
        # A re-opened message appends only where its level or its quote changed.
        return [i for i in instances if (proposition.pk, i.message_id, i.part, i.quote, i.level) not in self._known]

    def _instance(self, candidate: Candidate, proposition: Proposition, item: Mapping[str, object]) -> Instance:
        quote = item["quote"] or item["excerpt"]
        said_at = item["said_at"]
        return Instance(
            proposition=proposition,
            chat_id=self.batch.chat_id,
            message_id=item["message_id"],
            position=item["position"],
            fingerprint=item["fingerprint"],
            part=item["part"],
            char_start=item["char_start"],
            char_end=item["char_end"],
            quote=quote,
            level=candidate.understanding,
            speaker=item["speaker"],
            occurred_at=datetime.fromisoformat(said_at) if isinstance(said_at, str) else None,
            batch=self.batch.pk,
        )

    def write(self) -> None:
        """Write what was collected and tell scans that this learner's graph changed."""
        Proposition.objects.bulk_create(self._fresh, batch_size=500)
        # A quote whose message changed meanwhile is not live.
        for instance, stands in zip(self._instances, stand(self.batch.chat_id, self._instances), strict=True):
            instance.live = stands
        Instance.objects.bulk_create(self._instances, batch_size=500, ignore_conflicts=True)
        Resolution.objects.bulk_create(self._resolutions, batch_size=500)
        if self._new_vectors and self.prepared.space is not None:
            vectors.add_vectors(self.prepared.space, self.learner.pk, self._new_vectors)
        if self._instances or self._new_vectors:
            Learner.objects.filter(pk=self.learner.pk).update(graph_revision=F("graph_revision") + 1)
