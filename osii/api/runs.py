"""Routes of the Process library: what a run would do, starting one, and how far it is."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from ninja import Query, Router

from osii.library import plan, progress, runs
from osii.library.requests import BadRequest, Conflict, Request
from osii.models import ProcessingRun

from . import library_schemas as schemas
from . import library_shapes as shapes
from .auth import FOR_STAFF, ApiRequest, staff_only
from .openapi import problems
from .problems import Problem, field_error, invalid
from .shapes import reply

router = Router(tags=["library"])


def asked(fields: Mapping[str, Any]) -> Request:
    """Raises Problem: 422 for what is wrong with a field, 409 for what excludes itself."""
    try:
        return Request.of(fields)
    except BadRequest as error:
        raise wrong(error) from None
    except Conflict as error:
        raise Problem(409, _sentence(error)) from None


def wrong(error: BadRequest, where: str = "body") -> Problem:
    return invalid([field_error(error.field, str(error), where=where, allowed=list(error.allowed) or None)])


def actor(request: ApiRequest) -> str:
    """Who a run or a promotion is by, in its record."""
    return request.auth.actor


def start(request: ApiRequest, given: Request, **more: Any) -> tuple[ProcessingRun, bool]:
    """Raises Problem: 422 and 409."""
    try:
        return runs.create(given, actor=actor(request), **more)
    except BadRequest as error:
        raise wrong(error) from None
    except Conflict as error:
        raise Problem(409, _sentence(error)) from None


@router.post(
    "/resolve",
    response={200: schemas.ResolveOut, **problems(403, 409, body=True)},
    summary="What a run would do",
    openapi_extra=FOR_STAFF,
)
def resolve(request: ApiRequest, body: schemas.OperationsIn) -> HttpResponse:
    """Counts of eligible (stale ones included), current, stale and blocked documents of each step. Nothing is written."""
    staff_only(request)
    try:
        return reply({"preview": runs.preview(asked(body.asked())).to_dict()})
    except BadRequest as error:
        raise wrong(error) from None


@router.post(
    "/resolve/documents",
    response={200: schemas.PlannedOut, **problems(403, 409, body=True)},
    summary="The documents behind a count of a plan, with their reasons",
    openapi_extra=FOR_STAFF,
)
def planned(request: ApiRequest, body: schemas.PlannedIn) -> HttpResponse:
    """Of a library run. Those of one state, in one step or in the run as a whole."""
    staff_only(request)
    given = asked(body.asked())
    if given.workflow != ProcessingRun.Workflow.LIBRARY:
        raise invalid([field_error("workflow", "an intake's files are listed by its run")])
    try:
        found, total = plan.listing(
            given, body.step, body.state, reason=body.reason, offset=body.offset, limit=body.limit
        )
    except BadRequest as error:
        raise wrong(error) from None
    return reply({"items": found, "total": total})


@router.post(
    "/runs",
    response={201: schemas.RunDetailOut, 200: schemas.RunDetailOut, **problems(403, 409, body=True)},
    summary="Start a run",
    openapi_extra=FOR_STAFF,
)
def create(request: ApiRequest, body: schemas.RunIn) -> HttpResponse:
    """Its plan is kept with it. 409 when nothing is eligible, or for save_variant together with downstream work."""
    staff_only(request)
    made, is_new = start(request, asked(body.asked()), submission=body.submission, plan_id=body.plan_id)
    return reply(_detail(made), 201 if is_new else 200)


@router.get("/runs", response={200: schemas.RunPage, **problems(403)}, summary="List runs", openapi_extra=FOR_STAFF)
def listed(request: ApiRequest, query: Query[schemas.RunsQuery]) -> HttpResponse:
    """Newest first."""
    staff_only(request)
    rows = ProcessingRun.objects.defer("plan", "request").order_by("-created_at", "-id")
    if query.status is not None:
        active = query.status == "active"
        rows = rows.filter(status__in=ProcessingRun.ACTIVE) if active else rows.filter(status=query.status)
    page = list(after(rows, query.cursor, "id")[: query.limit + 1])
    more = len(page) > query.limit
    page = page[: query.limit]
    found = progress.of_runs(page)
    items = [shapes.run(row, found[row.pk]) for row in page]
    return reply({"items": items, "next_cursor": cursor(page[-1].created_at, str(page[-1].pk)) if more else None})


@router.get(
    "/runs/{run_id}",
    response={200: schemas.RunDetailOut, **problems(403, 404)},
    summary="One run",
    openapi_extra=FOR_STAFF,
)
def one(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """With what was asked, the plan as it was then, and how many documents have each step in each state."""
    return reply(_detail(_find(request, run_id)))


@router.get(
    "/runs/{run_id}/items",
    response={200: schemas.RunItemPage, **problems(403, 404)},
    summary="The documents of a run, and how far each is",
    openapi_extra=FOR_STAFF,
)
def items(request: ApiRequest, run_id: UUID, query: Query[schemas.ItemsQuery]) -> HttpResponse:
    """Blocked ones too, with their reasons."""
    run = _find(request, run_id)
    found, total = progress.items(run.pk, query.status, offset=query.offset, limit=query.limit)
    return reply({"items": [shapes.item(row) for row in found], "total": total})


@router.post(
    "/runs/{run_id}/pause",
    response={200: schemas.ProcessingRunOut, **problems(403, 404, 409)},
    summary="Pause",
    openapi_extra=FOR_STAFF,
)
def pause(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """Nothing more is begun; documents in hand go back at their next step."""
    return _changed(request, run_id, done=runs.pause(_find(request, run_id).pk), verb="paused")


@router.post(
    "/runs/{run_id}/resume",
    response={200: schemas.ProcessingRunOut, **problems(403, 404, 409)},
    summary="Resume",
    openapi_extra=FOR_STAFF,
)
def resume(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """Go on where it was paused."""
    return _changed(request, run_id, done=runs.resume(_find(request, run_id).pk), verb="resumed")


@router.post(
    "/runs/{run_id}/cancel",
    response={200: schemas.ProcessingRunOut, **problems(403, 404, 409)},
    summary="Cancel",
    openapi_extra=FOR_STAFF,
)
def cancel(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """What waits is not begun; documents in hand stop at their next step. What is done stays."""
    return _changed(request, run_id, done=runs.cancel(_find(request, run_id).pk), verb="cancelled")


@router.post(
    "/runs/{run_id}/retry",
    response={200: schemas.RetryOut, **problems(403, 404, 409)},
    summary="Retry what failed",
    openapi_extra=FOR_STAFF,
)
def retry(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """The failed documents only, and of these the steps that are not done."""
    retried = runs.retry(_find(request, run_id).pk)
    if not retried:
        raise Problem(409, "Nothing of this run failed, or it is being cancelled.")
    return reply(_shown(_find(request, run_id)) | {"retried": retried})


def _find(request: ApiRequest, run_id: UUID) -> ProcessingRun:
    staff_only(request)
    row = ProcessingRun.objects.filter(pk=run_id).first()
    if row is None:
        raise Problem(404, f"There is no run {run_id}.")
    return row


def _changed(request: ApiRequest, run_id: UUID, *, done: bool, verb: str) -> HttpResponse:
    row = _find(request, run_id)
    if not done:
        raise Problem(409, f"This run cannot be {verb}: it is {'being cancelled' if row.cancelling else row.status}.")
    return reply(_shown(row))


def _shown(row: ProcessingRun) -> dict[str, Any]:
    return shapes.run(row, progress.of(row))


def _detail(row: ProcessingRun) -> dict[str, Any]:
    row.refresh_from_db()
    return _shown(row) | {
        "request": row.request,
        "operations": row.operations,
        "preview": row.plan,
        "step_counts": progress.steps(row.pk),
    }


def after(rows: QuerySet, given: str | None, key: str, moment: str = "created_at") -> QuerySet:
    """The rows behind a cursor, in the order (moment, key), both descending. Raises Problem 422."""
    if given is None:
        return rows
    try:
        when, _, last = base64.urlsafe_b64decode(given.encode()).decode().partition(" ")
        at = datetime.fromisoformat(when)
        last_key = UUID(last) if key == "id" else last
        if at.tzinfo is None or "\0" in last:
            raise ValueError
    except (ValueError, binascii.Error):
        raise invalid([field_error("cursor", "is not a next_cursor of this list", where="query")]) from None
    return rows.filter(Q(**{f"{moment}__lt": at}) | Q(**{f"{key}__lt": last_key}), **{f"{moment}__lte": at})


def cursor(moment: datetime, key: str) -> str:
    return base64.urlsafe_b64encode(f"{moment.isoformat()} {key}".encode()).decode()


def _sentence(error: Conflict) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."
