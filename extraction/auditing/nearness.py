"""The deterministic auditor: nearness nominates, wording and guards decide. Offline, the same answer every time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from .comparing import Comparison, Relation, compare
from .model import Claim, Decision, GraphView, Nominee, Outcome, Question, State

FORGOTTEN = "the learner asked to forget this"


class NearnessAuditor:
    """``same`` only where every guard agrees and the wording does; when in doubt a claim is new."""

    name = "nearness"

    def decide(self, questions: Sequence[Question], view: GraphView) -> list[Decision]:
        return [judge(question.claim, question.nominees) for question in questions]


def judge(claim: Claim, nominees: Sequence[Nominee]) -> Decision:
    """What becomes of one claim: the first of same, superseding, contradicting, new that its nominees give reason for."""
    equal = next((nominee for nominee in nominees if claim.identity and nominee.identity == claim.identity), None)
    if equal is not None:
        return same_as(claim, equal, nominees, "the same claim, normalised")
    compared = [(nominee, _in_time(claim, nominee)) for nominee in nominees]
    for nominee, found in compared:
        if found.relation == Relation.SAME:
            return same_as(claim, nominee, nominees, _told(nominee, found.reason))
    return _apart(claim, compared)


def _in_time(claim: Claim, nominee: Nominee) -> Comparison:
    """The comparison of the one that was said later with the one said earlier."""
    if is_later(claim.said_at, nominee.said_at):
        return compare(claim.text, claim.kind, nominee.text, nominee.kind)
    return compare(nominee.text, nominee.kind, claim.text, claim.kind)


def is_later(said_at: datetime | None, than: datetime | None) -> bool:
    """Whether a claim was said after something else; without a time, or at the same one, what is read later is later."""
    return said_at is None or than is None or said_at >= than


def same_as(claim: Claim, nominee: Nominee, nominees: Sequence[Nominee], reason: str) -> Decision:
    """What becomes of a claim that is this proposition: by the state that the proposition is in."""
    if nominee.state == State.FORGOTTEN:
        return Decision(Outcome.DISCARD, FORGOTTEN, target=nominee.id)
    if nominee.state != State.SUPERSEDED or nominee.replaced_by is None:
        return _again(claim, nominee, nominees, reason)
    if not is_later(claim.said_at, nominee.replaced_at):
        return Decision(Outcome.SAME, f"{reason}; what replaced it was said later", target=nominee.id)
    others = [
        (other, _in_time(claim, other)) for other in nominees if other.id not in (nominee.id, nominee.replaced_by)
    ]
    also = tuple(other.id for other, found in others if found.relation == Relation.REPLACES and _stands(claim, other))
    said_again = f"said again after what had replaced it ({reason})"
    return Decision(Outcome.SUPERSEDES, said_again, target=nominee.replaced_by, also=also, returns=nominee.id)


def _again(claim: Claim, nominee: Nominee, nominees: Sequence[Nominee], reason: str) -> Decision:
    """The claim is this proposition. If nothing said it any more, it does to others what a new one would do."""
    if not nominee.evident:
        others = [(other, _in_time(claim, other)) for other in nominees if other.id != nominee.id]
        decision = _apart(claim, others)
        if decision.outcome in (Outcome.SUPERSEDES, Outcome.CONTRADICTS):
            return replace(decision, returns=nominee.id)
    return Decision(Outcome.SAME, reason, target=nominee.id)


def _stands(claim: Claim, nominee: Nominee) -> bool:
    return nominee.state == State.LIVE and is_later(claim.said_at, nominee.said_at)


def _apart(claim: Claim, compared: Sequence[tuple[Nominee, Comparison]]) -> Decision:
    """The claim is no known one: what it does to those that it is about."""
    live = [(nominee, found) for nominee, found in compared if nominee.state == State.LIVE]
    replaced = [(nominee, found) for nominee, found in live if found.relation == Relation.REPLACES]
    later = [pair for pair in replaced if not is_later(claim.said_at, pair[0].said_at)]
    if later:
        nominee, found = later[0]
        reason = f"new, but replaced by what was said later: {_told(nominee, found.reason)}"
        return Decision(Outcome.NEW, reason, replaced_by=nominee.id)
    for outcome, pairs in (
        (Outcome.SUPERSEDES, replaced),
        (Outcome.CONTRADICTS, [pair for pair in live if pair[1].relation == Relation.CONTRADICTS]),
    ):
        if pairs:
            nominee, found = pairs[0]
            also = tuple(other.id for other, _found in pairs[1:])
            return Decision(outcome, _told(nominee, found.reason), target=nominee.id, also=also)
    return Decision(Outcome.NEW, _why_new(compared))


def _why_new(compared: Sequence[tuple[Nominee, Comparison]]) -> str:
    if not compared:
        return "no proposition is near"
    nominee, found = compared[0]
    return f"the nearest differs: {_told(nominee, found.reason)}"


def _told(nominee: Nominee, reason: str) -> str:
    near = "" if nominee.similarity is None else f" (similarity {nominee.similarity:.3f})"
    return f"{reason}{near}"
