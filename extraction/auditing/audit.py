"""The audit of one batch: decided outside every transaction, settled under the learner's lock.

What the lock finds changed since is decided again, and nothing else: by wording and guards, which take no time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from coverage.models import Learner
from extraction.workers import WorkerReport
from graphctx.models import EmbeddingSpace

from .model import Auditor, Claim, Decision, Nominee, Outcome, Question
from .nearness import judge
from .nominate import Nominations, appeared, load, nominate
from .reading import read


@dataclass(slots=True)
class Audit:
    """Claims in their order, what was nominated for them, and what the auditor decided; all before the lock."""

    claims: Sequence[Claim]
    nominations: Nominations
    decisions: list[Decision]
    auditor: str
    # What the auditor used of a model, if it asks one.
    report: WorkerReport | None = None


def audit(
    learner_id: UUID,
    claims: Sequence[Claim],
    auditor: Auditor,
    space: EmbeddingSpace | None,
    vectors: Mapping[str, np.ndarray],
) -> Audit:
    """Nominate for every claim and let the auditor decide. ``vectors`` are by identity of the claim."""
    nominations = nominate(learner_id, claims, space, vectors)
    questions = [
        Question(claim, [*nominations.of(claim), *_earlier(claims[:index])]) for index, claim in enumerate(claims)
    ]
    decisions = auditor.decide(questions, nominations.view)
    return Audit(claims, nominations, decisions, auditor.name, getattr(auditor, "report", None))


def _earlier(claims: Sequence[Claim]) -> list[Nominee]:
    """Claims of the same batch as nominees of a later one."""
    return [Nominee(one.id, one.text, one.kind, said_at=one.said_at, identity=one.identity) for one in claims]


def settle(made: Audit, learner: Learner) -> list[Decision]:
    """The decisions as of now, in the order of the claims, each naming propositions that are there or earlier claims that
    become new ones. The caller holds the lock of ``learner`` and has just read the row. At most seven queries.
    """
    known, fresh = made.nominations.nominees, {}
    if learner.graph_revision != made.nominations.revision:
        known = load(set(made.nominations.nominees))
        fresh = appeared(learner.pk, made.nominations)
    changed = {pk for pk, nominee in made.nominations.nominees.items() if known.get(pk) != nominee}
    settler = _Settler(made, known, fresh, changed)
    return [settler.settle(index) for index in range(len(made.claims))]


class _Settler:
    def __init__(
        self, made: Audit, known: Mapping[UUID, Nominee], fresh: Mapping[UUID, Nominee], changed: set[UUID]
    ) -> None:
        self._made = made
        self._known = known
        self._fresh = list(fresh.values())
        self._changed = changed
        # What each earlier claim became; None is nothing that could be named.
        self._became: dict[UUID, UUID | None] = {}

    def settle(self, index: int) -> Decision:
        claim, decision = self._made.claims[index], self._made.decisions[index]
        fresh = self._related(claim)
        lost = any(self._became.get(pk, pk) is None for pk in decision.named)
        if lost or decision.named & self._changed or (fresh and judge(claim, fresh).named):
            decision = judge(claim, [*fresh, *self._still(claim), *self._earlier(index)])
        decision = self._by_proposition(decision)
        self._became[claim.id] = _becomes(claim, decision)
        return decision

    def _related(self, claim: Claim) -> list[Nominee]:
        words = read(claim.text).words if self._fresh else frozenset()
        return [one for one in self._fresh if one.identity == claim.identity or words & read(one.text).words]

    def _still(self, claim: Claim) -> list[Nominee]:
        before = self._made.nominations.of(claim)
        return [replace(self._known[one.id], similarity=one.similarity) for one in before if one.id in self._known]

    def _earlier(self, index: int) -> list[Nominee]:
        claims = [claim for claim in self._made.claims[:index] if self._became[claim.id] is not None]
        return _earlier(claims)

    def _by_proposition(self, decision: Decision) -> Decision:
        """The decision with earlier claims named by what they became."""

        def name(pk: UUID | None) -> UUID | None:
            return self._became.get(pk, pk) if pk is not None else None

        target = name(decision.target)
        also = tuple(dict.fromkeys(pk for pk in map(name, decision.also) if pk is not None and pk != target))
        return replace(
            decision, target=target, also=also, returns=name(decision.returns), replaced_by=name(decision.replaced_by)
        )


def _becomes(claim: Claim, decision: Decision) -> UUID | None:
    if decision.outcome == Outcome.DISCARD:
        return None
    if decision.outcome == Outcome.SAME:
        return decision.target
    return decision.returns or claim.id
