"""What a run would do: per step how many documents are eligible, stale, current and blocked, and which they are and why.

One statement counts, whatever the number of documents; nothing is hashed or read from disk.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from . import plan_sql
from .estimates import Estimate, estimate
from .methods import Wanted
from .readers import Reader, readers
from .requests import BadRequest, Request
from .run_models import ProcessingItem, ProcessingRun, Step
from .staleness import BLOCKED, CURRENT, MISSING, STALE

SAMPLE = 10
SAMPLED_FROM = 200
ELIGIBLE = "eligible"
STATES = (ELIGIBLE, STALE, CURRENT, BLOCKED)
"""What a listing may be of. Stale documents are among the eligible ones; eligible, current and blocked make up all."""

WORK_MEMORY = "64MB"
"""For the statement's hash tables: with less, the server looks up each document on its own."""


@dataclass(slots=True)
class StepPlan:
    """One step: its method and the number of documents by state and reason. The reasons of missing ones may be ""."""

    id: str
    method: str
    method_version: str
    unready: str = ""
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    in_progress: int = 0
    estimate: Estimate = field(default_factory=Estimate)  # of the eligible ones

    def count(self, *states: str) -> int:
        return sum(count for (state, _), count in self.reasons.items() if state in states)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "label": Step(self.id).label,
            "method": self.method,
            "method_version": self.method_version,
            "eligible_count": self.count(MISSING, STALE),
            "missing_count": self.count(MISSING),
            "stale_count": self.count(STALE),
            "current_count": self.count(CURRENT),
            "blocked_count": self.count(BLOCKED),
            "in_progress_count": self.in_progress,
            "reasons": [
                {"state": state, "reason": reason, "count": count}
                for (state, reason), count in sorted(self.reasons.items())
                if reason
            ],
            "not_ready": self.unready or None,
            "estimated_seconds": list(self.estimate.seconds) if self.estimate.seconds else None,
            "estimated_tokens": list(self.estimate.tokens) if self.estimate.tokens else None,
            "estimated_cost": [str(amount) for amount in self.estimate.cost] if self.estimate.cost else None,
        }


@dataclass(slots=True)
class Plan:
    """Counts over all documents in scope. ``eligible``: at least one step is; ``blocked``: none is, and one is blocked."""

    request: Request
    steps: list[StepPlan]
    matched: int = 0
    total_size: int = 0
    extracted: int = 0
    eligible: int = 0
    blocked: int = 0
    fingerprint: int = 0  # of the ids of the eligible ones
    extractor_plan: list[dict[str, Any]] = field(default_factory=list)
    sample: list[dict[str, Any]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Names this very plan: the same request over documents in the same states."""
        content = [
            self.request.canonical(), self.matched, self.fingerprint,
            [[step.id, step.method, step.method_version, sorted(map(list, step.reasons.items()))] for step in self.steps],
        ]  # fmt: skip
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()

    def step(self, name: str) -> StepPlan:
        return next(step for step in self.steps if step.id == name)

    def to_dict(self) -> dict[str, Any]:
        """The API's ``preview``."""
        return {
            "plan_id": self.id,
            "matched_count": self.matched,
            "total_size": self.total_size,
            "sample": self.sample,
            "processing_plan": {
                "matched_count": self.matched,
                "unique_document_count": self.matched,
                "extracted_count": self.extracted,
                "missing_extraction_count": self.matched - self.extracted,
                "eligible_count": self.eligible,
                "current_count": self.matched - self.eligible - self.blocked,
                "blocked_count": self.blocked,
                "steps": [step.to_dict() for step in self.steps],
            },
            "extractor_plan": self.extractor_plan,
        }


@dataclass(frozen=True, slots=True)
class Basis:
    """What decides about states, looked up once: who reads what, and what each downstream step must make."""

    request: Request
    readers: list[Reader]
    wanted: Mapping[str, Wanted]

    @classmethod
    def of(cls, request: Request) -> "Basis":
        """Raises BadRequest."""
        return cls(request, readers(request) if request.run_extraction else [], request.wanted())

    def sql(self, most: int | None = None) -> plan_sql.Sql:
        """See `plan_sql.planned`; of the first ``most`` documents in scope, if that is given."""
        return plan_sql.planned(self.request, self.readers, self.wanted, most)


def make(request: Request, basis: Basis | None = None) -> Plan:
    """Count, and name a few of the eligible documents. Raises BadRequest."""
    basis = basis or Basis.of(request)
    plan = Plan(request, [step_of(name, basis) for name in request.steps()])
    sql, parameters = plan_sql.counted(request, basis.readers, basis.wanted)
    with transaction.atomic(), connection.cursor() as cursor:
        prepare(cursor)
        cursor.execute(sql, parameters)
        kinds: Counter[tuple[str, str]] = Counter()
        for row in cursor.fetchall():
            _take(plan, row, kinds)
    plan.sample = _sample(basis) if plan.eligible else []
    plan.extractor_plan = [
        {"extension": extension, "extractor": extractor, "count": count}
        for (extractor, extension), count in sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0][1] or ""))
    ]
    _add_progress(plan)
    for step in plan.steps:
        step.estimate = estimate(step.id, step.method, basis.wanted.get(step.id), step.count(MISSING, STALE))
    return plan


def listing(
    request: Request, step: str | None, state: str, *, reason: str | None = None, offset: int = 0, limit: int = 50
) -> tuple[list[dict[str, Any]], int]:
    """(documents, their number): those of one state in one step, or of the run as a whole, with the reason of each.

    Each is {file_id, filename, mime, size_bytes, state, reason}, or without a step {…, states: {step: {state, reason}}}.
    In the order in which they were added. Raises BadRequest.
    """
    steps = request.steps()
    if step is not None and step not in steps:
        raise BadRequest("step", f"is {step!r}, which is not asked for", steps)
    if state not in (*STATES, MISSING):
        raise BadRequest("state", f"is {state!r}", (*STATES, MISSING))
    sql, parameters = Basis.of(request).sql()
    where, more = _listed(step, state, reason)
    with transaction.atomic(), connection.cursor() as cursor:
        prepare(cursor)
        cursor.execute(
            f"SELECT file_id, filename, mime, size_bytes, count(*) OVER (), {', '.join(steps)} FROM ({sql}) planned "
            f"WHERE {where} ORDER BY added_at, file_id OFFSET %s LIMIT %s",
            [*parameters, *more, offset, limit],
        )
        rows = cursor.fetchall()
    total = rows[0][4] if rows else 0
    if not rows and offset:  # beyond the end
        total = listing(request, step, state, reason=reason, limit=1)[1]
    return [_listed_row(steps, step, row) for row in rows], total


def prepare(cursor: CursorWrapper) -> None:
    """For this transaction. Compiling the statement takes longer than running it."""
    cursor.execute(
        "SELECT set_config('work_mem', %s, true), set_config('jit', 'off', true), set_config('random_page_cost', '1.1', true)",
        [WORK_MEMORY],
    )


def _listed(step: str | None, state: str, reason: str | None) -> plan_sql.Sql:
    if step is None:
        where = {ELIGIBLE: "eligible", BLOCKED: "blocked AND NOT eligible"}.get(state, "NOT eligible AND NOT blocked")
        return where, []
    return f"{step} = ANY (%s)", [plan_sql.codes(state, reason)]


def _listed_row(steps: tuple[str, ...], step: str | None, row: tuple) -> dict[str, Any]:
    shown = _file(row)
    meant = (plan_sql.MEANINGS[code] for code in row[5:])
    states = {name: {"state": state, "reason": reason} for name, (state, reason) in zip(steps, meant, strict=True)}
    return shown | (states[step] if step else {"states": states})


def _file(row: tuple) -> dict[str, Any]:
    return dict(zip(("file_id", "filename", "mime", "size_bytes"), row[:4], strict=True))


def _sample(basis: Basis) -> list[dict[str, Any]]:
    """A few eligible documents: looked for among the first hundreds, and among all only where these have too few."""
    found: list[dict[str, Any]] = []
    for most in (SAMPLED_FROM, None):
        sql, parameters = basis.sql(most)
        with transaction.atomic(), connection.cursor() as cursor:
            prepare(cursor)
            cursor.execute(
                f"SELECT file_id, filename, mime, size_bytes, {', '.join(basis.request.steps())} FROM ({sql}) planned "
                f"WHERE eligible ORDER BY file_id LIMIT {SAMPLE}",
                parameters,
            )
            found = [_sampled(basis.request, row) for row in cursor.fetchall()]
        if len(found) == SAMPLE:
            break
    return found


def step_of(name: str, basis: Basis) -> StepPlan:
    if name == Step.EXTRACT:
        return StepPlan(name, basis.request.extractor_name, "")
    wanted = basis.wanted[name]
    return StepPlan(name, wanted.method, wanted.method_version, wanted.unready)


def _take(plan: Plan, row: tuple, kinds: Counter[tuple[str, str]]) -> None:
    """One row of the counting statement: documents in the same states. ``kinds``: those to extract, by extractor and type."""
    codes, (extractor, extension, count, size, extracted, fingerprint) = row[: len(plan.steps)], row[len(plan.steps) :]
    states = [plan_sql.MEANINGS[code] for code in codes]
    plan.matched += count
    plan.total_size += int(size)
    plan.extracted += extracted
    if any(state in (MISSING, STALE) for state, _ in states):
        plan.eligible += count
        plan.fingerprint ^= fingerprint
    elif any(state == BLOCKED for state, _ in states):
        plan.blocked += count
    for step, meaning in zip(plan.steps, states, strict=True):
        step.reasons[meaning] = step.reasons.get(meaning, 0) + count
        if step.id == Step.EXTRACT and meaning[0] in (MISSING, STALE):
            kinds[extractor, extension] += count


def _sampled(request: Request, row: tuple) -> dict[str, Any]:
    eligible = set(plan_sql.codes(ELIGIBLE))
    return _file(row) | {
        "steps": [step for step, code in zip(request.steps(), row[4:], strict=True) if code in eligible]
    }


def _add_progress(plan: Plan) -> None:
    """How many documents of the library wait for each step, or are in it, in runs that are active now."""
    active = list(ProcessingRun.objects.filter(status__in=ProcessingRun.ACTIVE).values_list("pk", flat=True)[:1000])
    if not active:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT step, count(DISTINCT document_id) FROM osii_processingitem, unnest(steps) step "
            "WHERE run_id = ANY (%s) AND status = ANY (%s) GROUP BY step",
            [active, list(ProcessingItem.OPEN)],
        )
        counts = dict(cursor.fetchall())
    for step in plan.steps:
        step.in_progress = counts.get(step.id, 0)
