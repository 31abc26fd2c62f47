"""Writing decisions into a learner's graph: propositions, evidence, links and resolutions, in a fixed number of queries."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db.models import F
from django.utils import timezone

from coverage.models import Learner
from graphctx import vectors
from graphctx.links import refresh_states
from graphctx.models import EmbeddingSpace, Instance, Link, Proposition

from ..auditing.model import Claim, Decision, Outcome
from ..exploring.staging import claim_identity
from ..models import Candidate, Resolution
from ..sources import Source


@dataclass(slots=True)
class PreparedVectors:
    """Vectors computed before the transaction, by claim identity; empty when the embedder failed."""

    space: EmbeddingSpace | None
    by_identity: dict[str, np.ndarray]


class GraphWriter:
    """Collects what decisions about one source's candidates change, and writes it.

    The caller holds the locks of the source and of its learner from before the decisions were settled until the
    transaction ends.
    """

    def __init__(
        self, learner: Learner, source: Source, actor: str, prepared: PreparedVectors, batch: UUID | None = None
    ) -> None:
        self.learner = learner
        self.source = source
        self.actor = actor
        self.prepared = prepared
        self.batch = batch
        self.outcomes: Counter[str] = Counter()
        self._fresh: list[Proposition] = []
        self._vectors: dict[UUID, np.ndarray] = {}
        self._instances: list[Instance] = []
        self._resolutions: list[Resolution] = []
        self._links: list[Link] = []
        self._returning: dict[UUID, UUID] = {}

    def defer(self, candidate: Candidate, reason: str, actor: str | None = None) -> Resolution:
        """Leave the candidate to staff: nothing of the graph changes."""
        resolution = self._resolve(candidate, Outcome.PENDING, None, reason)
        resolution.actor = actor or self.actor
        return resolution

    def apply(self, candidate: Candidate, claim: Claim, decision: Decision) -> Resolution:
        """Take over one decision; ``claim.id`` is the id of the proposition if it is a new one."""
        if decision.outcome == Outcome.DISCARD:
            return self._resolve(candidate, Outcome.DISCARD, decision.target, decision.reason)
        if decision.outcome == Outcome.SAME:
            proposition_id = decision.target
        else:
            proposition_id = decision.returns or self._new(candidate, claim)
        about = decision.target if decision.outcome in (Outcome.SUPERSEDES, Outcome.CONTRADICTS) else None
        resolution = self._resolve(candidate, decision.outcome, proposition_id, decision.reason, about)
        self._link(resolution, decision)
        self._instances += [self.source.evidence(candidate, proposition_id, item) for item in candidate.evidence]
        return resolution

    def _new(self, candidate: Candidate, claim: Claim) -> UUID:
        identity = claim.identity or claim_identity(claim.text)
        self._fresh.append(
            Proposition(id=claim.id, learner=self.learner, text=claim.text, kind=claim.kind, identity=identity)
        )
        if identity in self.prepared.by_identity:
            self._vectors[claim.id] = self.prepared.by_identity[identity]
        return claim.id

    def _resolve(
        self, candidate: Candidate, outcome: str, proposition_id: UUID | None, reason: str, about: UUID | None = None
    ) -> Resolution:
        self.outcomes[outcome] += 1
        resolution = Resolution(
            candidate=candidate,
            outcome=outcome,
            proposition_id=proposition_id,
            target_id=about,
            reason=reason,
            actor=self.actor,
        )
        self._resolutions.append(resolution)
        return resolution

    def _link(self, resolution: Resolution, decision: Decision) -> None:
        about = (decision.target, *decision.also)
        if decision.outcome == Outcome.SUPERSEDES:
            # What supersedes stands on top: then no links can ever run in a circle.
            self._returning.pop(resolution.proposition_id, None)
            self._returning[resolution.proposition_id] = resolution.pk
            self._join(resolution, Link.Type.SUPERSEDES, ((resolution.proposition_id, pk) for pk in about))
        elif decision.outcome == Outcome.CONTRADICTS:
            self._join(resolution, Link.Type.CONTRADICTS, ((resolution.proposition_id, pk) for pk in about))
        elif decision.replaced_by is not None:
            self._join(resolution, Link.Type.SUPERSEDES, [(decision.replaced_by, resolution.proposition_id)])

    def _join(self, resolution: Resolution, kind: str, pairs: Iterable[tuple[UUID, UUID]]) -> None:
        self._links += [
            Link(
                learner=self.learner,
                source_id=source,
                target_id=target,
                type=kind,
                reason=resolution.reason,
                batch=self.batch,
                resolution=resolution.pk,
            )
            for source, target in pairs
            if source != target
        ]

    def write(self) -> None:
        """Write what was collected and tell scans that this learner's graph changed."""
        Proposition.objects.bulk_create(self._fresh, batch_size=500)
        written = self._write_evidence()
        Resolution.objects.bulk_create(self._resolutions, batch_size=500)
        if self._vectors and self.prepared.space is not None:
            vectors.add_vectors(self.prepared.space, self.learner.pk, self._vectors)
        self._clear_the_way()
        Link.objects.bulk_create(self._links, batch_size=500, ignore_conflicts=True)
        self.source.link(self.learner, {one.position for one in written if one.position is not None}, self.batch)
        touched = {instance.proposition_id for instance in written}
        touched |= {end for link in self._links for end in (link.source_id, link.target_id)}
        refresh_states(touched)
        if touched or self._vectors:
            Learner.objects.filter(pk=self.learner.pk).update(graph_revision=F("graph_revision") + 1)

    def _write_evidence(self) -> list[Instance]:
        """Append the evidence that the graph does not hold yet. A re-opened message appends only where its level or its
        quote changed, and a quote whose message changed meanwhile is not live."""
        ids = {instance.proposition_id for instance in self._instances}
        held = self.source.instances().filter(proposition__in=ids, withdrawn_at__isnull=True)
        known = set(held.values_list("proposition", "message_id", "part", "quote", "level"))
        fresh = [one for one in self._instances if (one.proposition_id, *evidence_key(one)) not in known]
        for instance, stands in zip(fresh, self.source.stand(fresh), strict=True):
            instance.live = stands
        Instance.objects.bulk_create(fresh, batch_size=500, ignore_conflicts=True)
        return fresh

    def _clear_the_way(self) -> None:
        """What supersedes now is superseded by nothing any more."""
        into = Link.objects.filter(target__in=self._returning, type=Link.Type.SUPERSEDES, withdrawn_at__isnull=True)
        rows, now = list(into), timezone.now()
        for link in rows:
            link.withdrawn_at, link.withdrawn_by = now, self._returning[link.target_id]
        Link.objects.bulk_update(rows, ["withdrawn_at", "withdrawn_by"], batch_size=500)
        # Links of this very write too: the later candidate of a batch has the last word.
        tops = list(self._returning)
        order = {pk: place for place, pk in enumerate(tops)}
        self._links = [
            link
            for link in self._links
            if link.type != Link.Type.SUPERSEDES
            or link.target_id not in order
            or order[link.target_id] < order.get(link.source_id, -1)
        ]


def evidence_key(instance: Instance) -> tuple[str, int, str, str | None]:
    """What makes a piece of evidence for a proposition another one, within its source."""
    return (instance.message_id, instance.part, instance.quote, instance.level)
