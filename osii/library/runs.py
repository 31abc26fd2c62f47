"""What starts, rests, stops and repeats processing runs."""

from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from coverage.ids import new_id
from coverage.models import Learner
from coverage.services import get_or_create_learner
from coverage.words import counted

from . import intake_plan, plan, plan_sql
from .jobs import top_up_on_commit
from .plan import Basis, Plan
from .requests import Conflict, Request
from .run_models import ProcessingItem, ProcessingRun, Step
from .settling import settle


def preview(request: Request) -> Plan:
    """What a run of this request would do; nothing is written. Raises BadRequest."""
    if request.workflow == ProcessingRun.Workflow.INTAKE:
        return intake_plan.make(request).plan
    return plan.make(request)


def create(
    request: Request, *, actor: str, submission: UUID | None = None, plan_id: str | None = None
) -> tuple[ProcessingRun, bool]:
    """Plan, keep the plan, and queue what is eligible; (run, whether this call made it).

    ``submission`` names the form or the call that was sent: sent again, it is the same run. ``plan_id`` names the plan
    that was looked at: when the library has changed since, nothing is started. Raises BadRequest, and Conflict: also when
    nothing is eligible, or a submission is sent again with another request.
    """
    there = _sent_before(submission, request)
    if there is not None:
        return there, False
    taken_in = intake_plan.make(request) if request.workflow == ProcessingRun.Workflow.INTAKE else None
    basis = Basis.of(request)
    found = taken_in.plan if taken_in else plan.make(request, basis)
    if plan_id is not None and plan_id != found.id:
        raise Conflict("the library has changed since this plan was made: look at it again")
    if not found.eligible:
        raise Conflict(_nothing(found))
    try:
        with transaction.atomic():
            run = ProcessingRun.objects.create(
                submission=submission or new_id(),
                workflow=request.workflow,
                actor=actor[:200],
                request=request.to_dict(),
                operations=operations(request, basis),
                plan=found.to_dict(),
                learner=_learner(request),
            )
            if taken_in:
                intake_plan.insert_items(run, taken_in.candidates)
            else:
                _insert_items(run, basis)
            if not run.items.filter(status=ProcessingItem.Status.QUEUED).exists():
                raise Conflict("what was eligible has been done by others meanwhile: look at the plan again")
            top_up_on_commit(run.pk)
    except IntegrityError:
        there = _sent_before(submission, request)
        if there is None:
            raise
        return there, False
    return run, True


def operations(request: Request, basis: Basis) -> list[dict[str, Any]]:
    """The steps with everything that decides how they are done."""
    found: list[dict[str, Any]] = []
    if request.workflow == ProcessingRun.Workflow.INTAKE:
        found.append({"id": Step.ADD.value})
    if request.run_extraction:
        found.append(
            {
                "id": Step.EXTRACT.value,
                "method": request.extractor_name,
                "mode": request.extract_mode,
                "policy": request.extraction_policy,
                "force": request.force,
            }
        )
    found += [
        {
            "id": step,
            "method": wanted.method,
            "method_version": wanted.method_version,
            "options": dict(wanted.options),
            "options_hash": wanted.options_hash,
            "prompt_version": wanted.prompt_version,
            "space": str(wanted.space_id) if wanted.space_id else None,
        }
        for step, wanted in basis.wanted.items()
    ]
    return found


def pause(run_id: UUID) -> bool:
    """Begin nothing more; items in hand go back at their next step. False when the run does not go on."""
    going_on = (ProcessingRun.Status.QUEUED, ProcessingRun.Status.RUNNING)
    rows = ProcessingRun.objects.filter(pk=run_id, status__in=going_on, cancel_requested_at__isnull=True)
    return bool(rows.update(status=ProcessingRun.Status.PAUSED))


def resume(run_id: UUID) -> bool:
    """Go on where it was paused. False when it is not paused."""
    with transaction.atomic():
        rows = ProcessingRun.objects.filter(pk=run_id, status=ProcessingRun.Status.PAUSED, cancel_requested_at=None)
        resumed = rows.update(status=ProcessingRun.Status.QUEUED, queued_at=Now())
        if resumed:
            top_up_on_commit(run_id)
    return bool(resumed)


def cancel(run_id: UUID) -> bool:
    """Stop: what waits is not begun, items in hand stop at their next step and keep what they have done. False when the
    run has ended or was told so before."""
    with transaction.atomic():
        rows = ProcessingRun.objects.filter(
            pk=run_id, status__in=ProcessingRun.ACTIVE, cancel_requested_at__isnull=True
        )
        if not rows.update(cancel_requested_at=Now()):
            return False
        ProcessingItem.objects.filter(run=run_id, status=ProcessingItem.Status.QUEUED).update(
            status=ProcessingItem.Status.CANCELLED, finished_at=Now()
        )
    settle(run_id)
    return True


def acknowledge(run_id: UUID, by: str) -> bool:
    """Somebody has seen what failed, and leaves it: the run asks for attention no more. False when it has not ended, or
    somebody did so before."""
    rows = ProcessingRun.objects.filter(pk=run_id, status__in=ProcessingRun.ENDED, acknowledged_at__isnull=True)
    return bool(rows.update(acknowledged_at=Now(), acknowledged_by=by[:200]))


def retry(run_id: UUID) -> int:
    """Queue the failed items again, and nothing else; steps of theirs that are done stay so. Returns how many there
    are; 0 also while the run is told to stop."""
    with transaction.atomic():
        run = ProcessingRun.objects.select_for_update(no_key=True).filter(pk=run_id).first()
        if run is None or run.cancelling:
            return 0
        failed = ProcessingItem.objects.filter(run=run_id, status=ProcessingItem.Status.FAILED)
        if not failed.exists():
            return 0
        if not run.active:
            ProcessingRun.objects.filter(pk=run_id).update(
                status=ProcessingRun.Status.QUEUED,
                error="",
                queued_at=Now(),
                finished_at=None,
                cancel_requested_at=None,
                acknowledged_at=None,
                acknowledged_by="",
            )
        again = failed.update(status=ProcessingItem.Status.QUEUED, error="", recoveries=0, finished_at=None)
        top_up_on_commit(run_id)
    return again


def _sent_before(submission: UUID | None, request: Request) -> ProcessingRun | None:
    if submission is None:
        return None
    run = ProcessingRun.objects.filter(submission=submission).first()
    if run is not None and run.request != request.to_dict():
        raise Conflict("this submission was sent before with another request: give the new one an id of its own")
    return run


def _learner(request: Request) -> Learner | None:
    return get_or_create_learner(request.learner) if request.learner else None


def _nothing(found: Plan) -> str:
    if not found.matched:
        return "no document is in this scope: nothing is eligible"
    parts = [f"nothing is eligible among {counted(found.matched, 'document')}"]
    for step in found.steps:
        told = [f"{count:,} current" for count in [step.count("current")] if count]
        told += [
            f"{count:,} blocked: {reason}" for (state, reason), count in step.reasons.items() if state == "blocked"
        ]
        parts.append(f"{step.id}: {', '.join(told)}")
    if found.request.run_extraction and any(step.id == Step.EXTRACT and step.count("current") for step in found.steps):
        parts.append('"extract_mode": "reprocess" extracts what has a text, with "force" also what this extractor made')
    return "; ".join(parts)


def _insert_items(run: ProcessingRun, basis: Basis) -> None:
    """One row for each document with something to do, and for each that is blocked; one statement."""
    sql, parameters = basis.sql()
    steps = basis.request.steps()
    eligible, blocked = plan_sql.is_eligible, plan_sql.is_blocked
    todo = ", ".join(f"CASE WHEN {eligible(step)} THEN '{step}' END" for step in steps)
    why = ", ".join(f"'{step}', CASE WHEN {blocked(step)} THEN {_reason(step)} END" for step in steps)
    first_why = ", ".join(f"CASE WHEN {blocked(step)} THEN '{step}: ' || {_reason(step)} END" for step in steps)
    with connection.cursor() as cursor:
        plan.prepare(cursor)
        cursor.execute(
            "INSERT INTO osii_processingitem (run_id, position, document_id, path, status, steps, blocked, error, attempt, "
            "held_by, recoveries) "
            "SELECT %s, row_number() OVER (ORDER BY added_at, file_id), file_id, '', "
            "CASE WHEN eligible THEN 'queued' ELSE 'blocked' END, "
            f"array_remove(ARRAY[{todo}], NULL), jsonb_strip_nulls(jsonb_build_object({why})), "
            f"CASE WHEN eligible THEN '' ELSE COALESCE({first_why}) END, 0, '', 0 "
            f"FROM ({sql}) planned WHERE eligible OR blocked",
            [run.pk, *parameters],
        )


def _reason(step: str) -> str:
    """The reason that a blocked step's code means."""
    codes = plan_sql.codes("blocked")
    return f"CASE {step} " + " ".join(f"WHEN {code} THEN '{plan_sql.MEANINGS[code][1]}'" for code in codes) + " END"
