"""One processing run: how far it is, its documents and its log, and pausing, resuming, cancelling, retrying and repeating it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from coverage.ids import new_id
from coverage.words import counted
from osii.intake.confirming import chats_beside
from osii.library import runs
from osii.library.requests import BadRequest, Conflict, Request
from osii.models import ProcessingItem, ProcessingRun
from osii.permissions import CONTROL, IMPORT, PROCESS, SEE_LIBRARY
from osii.web import run_log
from osii.web.access import PageRequest, staff_action, staff_page
from osii.web.processing import items_context, state_context
from osii.web.statuses import status_of


@require_safe
@staff_page(*SEE_LIBRARY)
def processing(request: PageRequest, run_id: UUID) -> HttpResponse:
    run = get_object_or_404(ProcessingRun.objects.select_related("learner"), pk=run_id)
    chats = chats_beside(run) if request.user.has_perm(IMPORT) else None
    return render(request, "processing/run_page.html", _context(request, run) | {"chats": chats})


def _context(request: PageRequest, run: ProcessingRun) -> dict[str, Any]:
    return {
        **state_context(run),
        **items_context(run, request.GET.get("status", ""), request.GET.get("page", "1")),
        "list_path": reverse("processing", args=[run.pk]),
        "item_states": [("", "all"), *((name, status_of("item", name).word) for name in ProcessingItem.Status.values)],
        "can_control": request.user.has_perm(CONTROL),
        "can_start": request.user.has_perm(PROCESS),
        "submission": new_id(),
    }


@require_safe
@staff_page(*SEE_LIBRARY)
def processing_live(request: PageRequest, run_id: UUID) -> HttpResponse:
    """The state's fragment for htmx; 204 while nothing changed since ``seen``. Without htmx: the page itself."""
    run = get_object_or_404(ProcessingRun.objects.select_related("learner"), pk=run_id)
    if not request.htmx:
        return redirect("processing", run_id=run_id)
    context = _context(request, run)
    if run.active and request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "processing/live_response.html", context | {"is_fragment": True})


@require_safe
@staff_page(*SEE_LIBRARY)
def processing_log(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """What became of each document's steps, as a CSV file."""
    run = get_object_or_404(ProcessingRun, pk=run_id)
    kept_as = {"Content-Disposition": f'attachment; filename="run-{run.pk}.csv"'}
    return StreamingHttpResponse(run_log.lines(run), content_type="text/csv; charset=utf-8", headers=kept_as)


@require_POST
@staff_action(PROCESS)
def processing_again(request: PageRequest, run_id: UUID) -> HttpResponse:
    """Start a run of the same request: it is planned anew, so what is current by now is left out. Sent twice, it is one run."""
    run = get_object_or_404(ProcessingRun, pk=run_id)
    try:
        submission = UUID(request.POST.get("submission", ""))
    except ValueError:
        messages.error(request, "The form was not complete; nothing was started.")
        return redirect("processing", run_id=run.pk)
    try:
        begun, made = runs.create(Request.of(run.request), actor=request.user.get_username(), submission=submission)
    except (BadRequest, Conflict) as error:
        messages.info(request, f"Nothing was started: {error}.")
        return redirect("processing", run_id=run.pk)
    if not made:
        messages.info(request, "This was sent before; this is the run that it started.")
    return redirect("processing", run_id=begun.pk)


def _pause(run_id: UUID, _: str) -> str:
    return "Paused. What is in hand goes back at its next step." if runs.pause(run_id) else ""


def _resume(run_id: UUID, _: str) -> str:
    return "It goes on where it was paused." if runs.resume(run_id) else ""


def _cancel(run_id: UUID, _: str) -> str:
    return "Cancelled. What was done is kept." if runs.cancel(run_id) else ""


def _acknowledge(run_id: UUID, by: str) -> str:
    return (
        "It asks for attention no more; what failed can still be tried again." if runs.acknowledge(run_id, by) else ""
    )


def _retry(run_id: UUID, _: str) -> str:
    count = runs.retry(run_id)
    return f"{counted(count, 'failed document')} queued again." if count else ""


ACTIONS: dict[str, Callable[[UUID, str], str]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "retry": _retry,
    "acknowledge": _acknowledge,
}


@require_POST
@staff_action(CONTROL)
def processing_action(request: PageRequest, run_id: UUID, action: str) -> HttpResponse:
    """pause, resume, cancel, retry (the failed documents only), or acknowledge what failed."""
    if action not in ACTIONS:
        raise Http404
    run = get_object_or_404(ProcessingRun, pk=run_id)
    if said := ACTIONS[action](run.pk, request.user.get_username()):
        messages.success(request, said)
    else:
        run.refresh_from_db()
        messages.info(request, f"Nothing was changed: the run is {run.get_status_display().lower()}.")
    return redirect("processing", run_id=run_id)
