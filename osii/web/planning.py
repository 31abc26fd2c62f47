"""A plan as its page shows it: per step the counts, each with the address of its list, the reasons, and ranges of time, tokens and cost."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from osii.library.plan import Plan, StepPlan
from osii.library.run_models import Step
from osii.library.staleness import BLOCKED, CURRENT, MISSING, STALE
from osii.waiting import eta_words, use_words


@dataclass(frozen=True, slots=True)
class Count:
    """A number of a plan and where its documents are listed; no address when there are none."""

    name: str
    number: int
    url: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    state: str
    reason: str
    number: int
    url: str


@dataclass(frozen=True, slots=True)
class StepRow:
    step: StepPlan
    label: str
    counts: list[Count]
    reasons: list[Reason]
    estimate: str
    use: str


STATES = ("eligible", "stale", "current", "blocked", "in progress")
"""The columns of the plan, in the order of `StepRow.counts`."""


def plan_rows(plan: Plan, listing: str) -> list[StepRow]:
    """``listing`` is the address of the plan's lists, with its query."""
    return [_row(step, listing) for step in plan.steps]


def plan_totals(plan: Plan, listing: str) -> list[Count]:
    """The documents of the run as a whole; each is one of these."""
    current = plan.matched - plan.eligible - plan.blocked
    numbers = (("eligible", plan.eligible), ("current", current), ("blocked", plan.blocked))
    return [Count(name, number, f"{listing}&list={name}" if number else "") for name, number in numbers]


def _row(step: StepPlan, listing: str) -> StepRow:
    numbers = {
        "eligible": step.count(MISSING, STALE),
        "stale": step.count(STALE),
        "current": step.count(CURRENT),
        "blocked": step.count(BLOCKED),
    }
    counts = [
        Count(name, number, f"{listing}&{urlencode({'step': step.id, 'list': name})}" if number else "")
        for name, number in numbers.items()
    ]
    active = f"{reverse('activity')}?view=progress&kind=processing" if step.in_progress else ""
    counts.append(Count("in progress", step.in_progress, active))
    reasons = [
        Reason(state, reason, number, f"{listing}&{urlencode({'step': step.id, 'list': state, 'reason': reason})}")
        for (state, reason), number in sorted(step.reasons.items())
        if reason or state == MISSING
    ]
    found = step.estimate
    took = eta_words(found.seconds) if found.seconds else ""
    return StepRow(step, Step(step.id).label, counts, reasons, took, use_words(found.tokens, found.cost))
