"""Nomination: what each claim of a batch may be about. Reads only; runs outside every transaction.

Every live proposition of the learner is searched, exactly; so are those that are superseded, forgotten or without
evidence. A graph that fits the configured size is shown whole.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from coverage.models import Learner
from graphctx import links
from graphctx.everything import nearest_of_all
from graphctx.models import EmbeddingSpace, Proposition, PropositionVector

from .model import Claim, GraphView, Nominee, State

WITHOUT_VECTOR = 500
"""Of the propositions that have no vector yet, the newest so many are nominees of every claim."""
CLOCK_STEP = timedelta(seconds=5)
"""Propositions are written under the learner's lock, each with the time, so what was not there when the graph was read is younger than the
youngest that was; but for a clock that was set back meanwhile, by so much at most."""
LEAST_CHARACTERS = 16
"""Shorter propositions are rare: how many rows can fit the whole view at most."""


@dataclass(slots=True)
class Nominations:
    """The learner's graph as it was read: what is nominated for each claim, by the claim's id, nearest first.

    ``youngest`` is when its youngest proposition was written, and ``recent`` those of about then.
    """

    revision: int
    youngest: datetime | None
    view: GraphView = field(default_factory=GraphView)
    nominees: dict[UUID, Nominee] = field(default_factory=dict)
    by_claim: dict[UUID, list[tuple[UUID, float | None]]] = field(default_factory=dict)
    recent: set[UUID] = field(default_factory=set)

    def of(self, claim: Claim) -> list[Nominee]:
        """The claim's nominees, nearest first; those that were not compared by vector come last."""
        pairs = self.by_claim.get(claim.id, [])
        return [replace(self.nominees[pk], similarity=near) for pk, near in pairs if pk in self.nominees]


def nominate(
    learner_id: UUID, claims: Sequence[Claim], space: EmbeddingSpace | None, vectors: Mapping[str, np.ndarray]
) -> Nominations:
    """``vectors`` are the claims' own, by identity; a claim without one meets the whole view and its equals only.

    A fixed number of queries, however many claims. Raises Learner.DoesNotExist.
    """
    revision = Learner.objects.values_list("graph_revision", flat=True).get(pk=learner_id)
    made = Nominations(revision, _youngest(learner_id))
    made.recent = _recent(learner_id, made)
    whole = _whole(learner_id)
    common = whole if whole is not None else _without_vector(learner_id, space)
    made.view = GraphView(whole=whole is not None)
    equal = _equal(learner_id, {claim.identity for claim in claims})
    near = _nearest(learner_id, claims, space, vectors)
    for claim in claims:
        found = dict(near.get(claim.id, {}))
        found |= {pk: found.get(pk) for pk in (*equal.get(claim.identity, ()), *common)}
        made.by_claim[claim.id] = sorted(found.items(), key=lambda item: (item[1] is None, -(item[1] or 0), item[0]))
    made.nominees = load({pk for pairs in made.by_claim.values() for pk, _near in pairs})
    return made


def _whole(learner_id: UUID) -> list[UUID] | None:
    """Ids of all propositions of the learner when their texts fit the configured size, else None."""
    most = settings.OSII_AUDIT_GRAPH_TOKENS * 4
    rows = Proposition.objects.filter(learner=learner_id).values_list("pk", "text")[: most // LEAST_CHARACTERS + 1]
    held = list(rows)
    if len(held) > most // LEAST_CHARACTERS or sum(len(text) for _pk, text in held) > most:
        return None
    return [pk for pk, _text in held]


def _without_vector(learner_id: UUID, space: EmbeddingSpace | None) -> list[UUID]:
    if space is None:
        return []
    there = PropositionVector.objects.filter(space=space, proposition=OuterRef("pk"))
    rows = Proposition.objects.filter(~Exists(there), learner=learner_id).exclude(state=State.FORGOTTEN)
    return list(rows.order_by("-created_at", "id").values_list("pk", flat=True)[:WITHOUT_VECTOR])


def _equal(learner_id: UUID, identities: Collection[str]) -> dict[str, list[UUID]]:
    rows = Proposition.objects.filter(learner=learner_id, identity__in=identities).values_list("identity", "pk")
    return {identity: [pk] for identity, pk in rows}


def _nearest(
    learner_id: UUID, claims: Sequence[Claim], space: EmbeddingSpace | None, vectors: Mapping[str, np.ndarray]
) -> dict[UUID, dict[UUID, float]]:
    if space is None:
        return {}
    asked = [claim for claim in claims if claim.identity in vectors]
    if not asked:
        return {}
    queries = [vectors[claim.identity] for claim in asked]
    near = nearest_of_all(space, learner_id, queries, settings.OSII_AUDIT_NEAREST)
    return {claim.id: dict(found) for claim, found in zip(asked, near, strict=True)}


def load(ids: Collection[UUID]) -> dict[UUID, Nominee]:
    """These propositions as nominees, without similarity; those that are gone are left out. Two queries."""
    nominees = {row.pk: _nominee(row) for row in with_said_at(Proposition.objects.filter(pk__in=list(ids)))}
    superseded = [pk for pk, nominee in nominees.items() if nominee.state == State.SUPERSEDED]
    for pk, (head, said_at) in links.heads(superseded).items():
        nominees[pk] = replace(nominees[pk], replaced_by=head, replaced_at=said_at)
    return nominees


def with_said_at(rows: QuerySet[Proposition]) -> QuerySet[Proposition]:
    """Annotate when the latest live evidence was said, else when it was read; None without live evidence."""
    said = Max(Coalesce("instances__occurred_at", "instances__folded_at"), filter=Q(instances__live=True))
    return rows.annotate(said_at=said).order_by()


def _nominee(row: Proposition) -> Nominee:
    evident = row.said_at is not None
    return Nominee(row.pk, row.text, row.kind, row.state, row.said_at, identity=row.identity, evident=evident)


def _youngest(learner_id: UUID) -> datetime | None:
    rows = Proposition.objects.filter(learner=learner_id).order_by("-created_at", "id")
    return rows.values_list("created_at", flat=True).first()


def _recent(learner_id: UUID, made: Nominations) -> set[UUID]:
    rows = Proposition.objects.filter(learner=learner_id)
    if made.youngest is not None:
        rows = rows.filter(created_at__gt=made.youngest - CLOCK_STEP)
    return set(rows.values_list("pk", flat=True))


def appeared(learner_id: UUID, made: Nominations) -> dict[UUID, Nominee]:
    """Propositions that were not there when the graph was read. The caller holds the learner's lock. Three queries."""
    return load(_recent(learner_id, made) - made.recent)
