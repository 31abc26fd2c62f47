"""Deciding by hand what becomes of a candidate, and taking a decision back.

Every change is one transaction under the locks of the chat and then of the learner, adds a resolution and rewrites none. Slow work is done
before it. A candidate waits for a decision while its standing is ``pending`` or ``undone``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from coverage.models import Learner
from graphctx import links
from graphctx.models import Instance, Link, Proposition

from ..auditing.audit import Audit, settle
from ..auditing.comparing import compare
from ..auditing.model import Claim, Decision, Outcome
from ..auditing.nearness import is_later
from ..auditing.nominate import nominate
from ..bounds import CLAIM_CHARACTERS
from ..models import Candidate, Resolution
from ..sources import NoLearner, source_of
from .merge import claim_of, prepare, prepare_vectors
from .writing import GraphWriter, PreparedVectors, evidence_key

ACCEPT, EDIT, MERGE_INTO, SUPERSEDE, CONTRADICT, REJECT, DEFER = DECISIONS = (
    "accept", "edit", "merge_into", "supersede", "contradict", "reject", "defer",
)  # fmt: skip
WITH_TARGET = (MERGE_INTO, SUPERSEDE, CONTRADICT)
"""Decisions that name a proposition."""
WITH_TEXT = (EDIT, SUPERSEDE, CONTRADICT)
"""Decisions that may change the wording."""
REVIEWER = "nearness"
"""The auditor behind ``accept`` and ``edit``: staff is there to see what it does, and waits for no model."""

Result = TypeVar("Result")


class Refused(ValueError):
    """The decision cannot be carried out; the text says why, and what can be done."""


class StandingChanged(Refused):
    """Somebody or something else decided about the candidate meanwhile; nothing was written."""


@dataclass(frozen=True, slots=True)
class Nomination:
    """A proposition near a candidate, as the review page shows it. ``verdict`` is what the auditor makes of the pair: same, replaces,
    contradicts or other; ``similarity`` is None where the two were not compared by vector.
    """

    proposition: Proposition
    similarity: float | None
    verdict: str
    reason: str


def nominations(candidate: Candidate, limit: int = 10) -> list[Nomination]:
    """What the candidate may be about, nearest first. Reads only, and embeds the claim if it is new."""
    learner_id = _learner_of(candidate)
    claim = claim_of(candidate)
    prepared = prepare_vectors(learner_id, [claim])
    found = nominate(learner_id, [claim], prepared.space, prepared.by_identity).of(claim)
    listed = []
    for nominee in found:
        later = is_later(claim.said_at, nominee.said_at)
        one, two = (claim, nominee) if later else (nominee, claim)
        compared = compare(one.text, one.kind, two.text, two.kind)
        reason = compared.reason if later else f"{compared.reason} (the proposition was said later)"
        listed.append((nominee, compared.relation.value, reason))
    # What has a verdict comes before what is merely near; without vectors there is no other order.
    listed.sort(key=lambda item: (item[1] == "other" and item[0].similarity is None, -(item[0].similarity or 1.0)))
    rows = Proposition.objects.in_bulk([nominee.id for nominee, _verdict, _reason in listed[:limit]])
    return [
        Nomination(rows[nominee.id], nominee.similarity, verdict, reason)
        for nominee, verdict, reason in listed[:limit]
        if nominee.id in rows
    ]


def decide(
    candidate_id: UUID,
    decision: str,
    *,
    actor: str,
    reason: str = "",
    text: str | None = None,
    target: UUID | Proposition | None = None,
    expected: UUID | None = None,
) -> Resolution:
    """Decide about a candidate that waits, and return the resolution.

    ``accept`` does as the auditor would; ``edit`` too, with the wording ``text``; ``merge_into``, ``supersede`` and
    ``contradict`` name a ``target`` (the latter two may change the wording as well); ``reject`` needs a reason; ``defer`` lets it wait
    on. ``expected`` is the id of the resolution that was shown. Raises StandingChanged when another one stands now, Refused for what
    cannot be, Candidate.DoesNotExist.
    """
    candidate = Candidate.objects.select_related("batch__chat__learner", "batch__document__learner").get(
        pk=candidate_id
    )
    wanted = _Wanted(decision, actor, reason.strip(), _wording(decision, text), getattr(target, "pk", target))
    wanted.check()
    learner_id = _learner_of(candidate)
    claim = claim_of(candidate, wanted.text)
    prepared, made = PreparedVectors(None, {}), None
    if decision in (ACCEPT, EDIT):
        prepared, made = prepare(learner_id, [claim], REVIEWER)
    elif decision in (SUPERSEDE, CONTRADICT):
        prepared = prepare_vectors(learner_id, [claim])

    def work(learner: Learner) -> Resolution:
        standing = _standing(candidate, expected)
        if standing.outcome not in Resolution.OPEN:
            raise Refused(f"this candidate does not wait for a decision, it is {standing.outcome}; undo that first")
        return _carry_out(candidate, claim, wanted, learner, prepared, made)

    return _locked(candidate, work)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for, as given."""

    decision: str
    actor: str
    reason: str
    text: str | None
    target: UUID | None

    def check(self) -> None:
        if self.decision not in DECISIONS:
            raise Refused(f"the decision must be one of {', '.join(DECISIONS)}; not {self.decision!r}")
        if self.decision in WITH_TARGET and self.target is None:
            raise Refused(f"{self.decision} needs the proposition that it is about")
        if self.decision == REJECT and not self.reason:
            raise Refused("rejecting needs a reason")
        if not self.actor:
            raise Refused("a decision needs somebody who takes it")


def _wording(decision: str, text: str | None) -> str | None:
    """The new wording, checked, or None for that of the candidate."""
    if decision not in WITH_TEXT or (text is None and decision != EDIT):
        return None
    wording = " ".join((text or "").split())
    if not 1 <= len(wording) <= CLAIM_CHARACTERS:
        raise Refused(f"the claim must have 1 to {CLAIM_CHARACTERS} characters, not {len(wording)}")
    return wording


def _locked(candidate: Candidate, work: Callable[[Learner], Result]) -> Result:
    """Call ``work`` in one transaction under the locks of the candidate's source and learner."""
    with transaction.atomic():
        try:
            learner = source_of(candidate.batch).lock_learner()
        except NoLearner as error:
            raise Refused(str(error)) from None
        return work(learner)


def _learner_of(candidate: Candidate) -> UUID:
    learner = candidate.batch.learner
    if learner is None:
        raise Refused("the document has no learner any more, so there is no graph that it could feed")
    return learner.pk


def _resolutions(candidate: Candidate) -> QuerySet[Resolution]:
    return Resolution.objects.filter(candidate=candidate).order_by("-created_at", "-id")


def _standing(candidate: Candidate, expected: UUID | None) -> Resolution:
    standing = _resolutions(candidate).first()
    if standing is None:
        raise Refused("this candidate was staged by an attempt that was never merged; there is nothing to decide")
    if expected is not None and standing.pk != expected:
        raise StandingChanged(f"meanwhile {standing.actor} decided: {standing.outcome}; look again")
    return standing


def _carry_out(
    candidate: Candidate, claim: Claim, wanted: _Wanted, learner: Learner, prepared: PreparedVectors, made: Audit | None
) -> Resolution:
    writer = GraphWriter(learner, source_of(candidate.batch), wanted.actor, prepared, candidate.batch_id)
    if wanted.decision == DEFER:
        resolution = writer.defer(candidate, wanted.reason or "deferred")
    elif wanted.decision == REJECT:
        resolution = writer.apply(candidate, claim, Decision(Outcome.DISCARD, wanted.reason))
    elif made is not None:
        (decided,) = settle(made, learner)
        resolution = writer.apply(candidate, claim, replace(decided, reason=_reason(wanted, decided.reason)))
    else:
        resolution = writer.apply(candidate, claim, _about_target(claim, wanted, learner))
    writer.write()
    resolution.refresh_from_db()
    return resolution


def _reason(wanted: _Wanted, auditor: str) -> str:
    how = "accepted with another wording" if wanted.decision == EDIT else "accepted"
    return f"{wanted.reason or how} ({auditor})"


def _about_target(claim: Claim, wanted: _Wanted, learner: Learner) -> Decision:
    """The decision that names a proposition, checked against the graph as it is under the lock."""
    target = Proposition.objects.filter(pk=wanted.target, learner=learner).first()
    if target is None:
        raise Refused("the proposition is not there any more, or it is another learner's")
    if target.state == Proposition.State.FORGOTTEN:
        raise Refused("the learner asked to forget that proposition; restore it first")
    if wanted.decision == MERGE_INTO:
        return Decision(Outcome.SAME, wanted.reason or "merged by hand", target=target.pk)
    equal = Proposition.objects.filter(learner=learner, identity=claim.identity).first()
    if equal is not None and equal.state == Proposition.State.FORGOTTEN:
        raise Refused("the learner asked to forget this very claim; restore it first")
    if equal == target:
        raise Refused("the claim is that proposition, word for word: merge it instead")
    returns = equal.pk if equal else None
    if wanted.decision == SUPERSEDE:
        return Decision(Outcome.SUPERSEDES, wanted.reason or "replaced by hand", target=target.pk, returns=returns)
    return Decision(Outcome.CONTRADICTS, wanted.reason or "contradicts, by hand", target=target.pk, returns=returns)


def undo(candidate_id: UUID, *, actor: str, reason: str = "", expected: UUID | None = None) -> Resolution:
    """Take back what stands about a candidate: it waits for a decision again.

    Evidence that only this candidate brought is withdrawn, links that its resolution made too, and what they had superseded
    is live again. Rows stay. Raises StandingChanged, Refused when there is nothing to take back, Candidate.DoesNotExist.
    """
    candidate = Candidate.objects.select_related("batch__chat__learner", "batch__document__learner").get(
        pk=candidate_id
    )
    if not actor:
        raise Refused("an undo needs somebody who does it")

    def work(learner: Learner) -> Resolution:
        standing = _standing(candidate, expected)
        if standing.outcome in Resolution.OPEN:
            raise Refused(f"there is nothing to undo: this candidate is {standing.outcome}")
        return _undo(candidate, standing, learner, actor, reason.strip() or "undone")

    return _locked(candidate, work)


def _undo(candidate: Candidate, standing: Resolution, learner: Learner, actor: str, reason: str) -> Resolution:
    undone = Resolution.objects.create(
        candidate=candidate,
        outcome=Outcome.UNDONE,
        proposition_id=standing.proposition_id,
        undoes=standing,
        reason=reason,
        actor=actor,
    )
    if standing.outcome in Resolution.MERGED:
        touched = links.withdraw(Link.objects.filter(resolution=standing.pk), undone.pk)
        touched |= _relink(learner, standing)
        _withdraw_evidence(candidate, standing.proposition_id)
        source_of(candidate.batch).unlink(standing.proposition_id, candidate.batch_id, undone.pk)
        links.refresh_states(touched | {standing.proposition_id})
        Learner.objects.filter(pk=learner.pk).update(graph_revision=F("graph_revision") + 1)
    undone.refresh_from_db()
    return undone


def _relink(learner: Learner, standing: Resolution) -> set[UUID]:
    """Make anew the links that the undone decision had taken back; returns their ends."""
    made: set[UUID] = set()
    for link in Link.objects.filter(withdrawn_by=standing.pk):
        if link.source_id in links.below([link.target_id]):
            continue  # a later decision turned the two round
        _link, fresh = Link.objects.get_or_create(
            source_id=link.source_id,
            target_id=link.target_id,
            type=link.type,
            withdrawn_at=None,
            defaults={
                "learner": learner,
                "reason": link.reason,
                "batch": link.batch,
                "resolution": link.resolution,
            },
        )
        if fresh:
            made |= {link.source_id, link.target_id}
    return made


def brought_by(candidate: Candidate, proposition_id: UUID) -> list[Instance]:
    """Evidence for a proposition that only this candidate has brought: what an undo withdraws. Another candidate of the
    chat that stands, and has brought the same, keeps it.
    """
    source = source_of(candidate.batch)
    others = (
        source.candidates()
        .filter(resolutions__proposition=proposition_id)
        .exclude(pk=candidate.pk)
        .with_standing()
        .filter(standing__in=Resolution.MERGED, standing_proposition=proposition_id)
        .distinct()
    )
    kept = {key for other in others for key in _keys(other, proposition_id)}
    gone = _keys(candidate, proposition_id) - kept
    held = source.instances().filter(proposition=proposition_id, withdrawn_at__isnull=True)
    return [instance for instance in held if evidence_key(instance) in gone]


def _withdraw_evidence(candidate: Candidate, proposition_id: UUID) -> None:
    ids = [instance.pk for instance in brought_by(candidate, proposition_id)]
    Instance.objects.filter(pk__in=ids).update(withdrawn_at=timezone.now(), live=False)


def _keys(candidate: Candidate, proposition_id: UUID) -> set[tuple[str, int, str, str | None]]:
    source = source_of(candidate.batch)
    return {evidence_key(source.evidence(candidate, proposition_id, item)) for item in candidate.evidence}
