"""Intake, Process library: what would be done to which documents, and starting it."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from coverage.ids import new_id
from osii.library import plan, runs
from osii.library.plan import Plan
from osii.library.requests import BadRequest, Conflict, Request
from osii.library.run_models import Step
from osii.permissions import PROCESS, SEE_LIBRARY
from osii.web.access import PageRequest, staff_action, staff_page
from osii.web.planning import STATES, plan_rows, plan_totals
from osii.web.processing_forms import PlanForm, planned

PER_PAGE = 50
LISTS = {"eligible": "eligible", "stale": "stale", "current": "current", "blocked": "blocked"}


@require_safe
@staff_page(*SEE_LIBRARY)
def planner(request: PageRequest) -> HttpResponse:
    """The form and its plan. The address holds all of it."""
    query = planned(request.GET)
    form = PlanForm(query)
    context: dict[str, Any] = {"form": form, "can_process": request.user.has_perm(PROCESS)}
    made, problem = _plan(form)
    if made is not None:
        kept = _query(query)
        listing = f"{reverse('intake-process-documents')}?{kept}"
        context |= {
            "plan": made,
            "states": STATES,
            "steps": plan_rows(made, listing),
            "totals": plan_totals(made, listing),
            "query": kept,
            "submission": new_id(),
        }
    return render(request, "intake/process_page.html", context | {"problem": problem})


def _plan(form: PlanForm) -> tuple[Plan | None, str]:
    if not form.is_valid():
        return None, ""
    try:
        return runs.preview(Request.of(form.plan_fields())), ""
    except (BadRequest, Conflict) as error:
        return None, _said(error)


def _said(error: BadRequest | Conflict) -> str:
    text = str(error)
    if isinstance(error, BadRequest) and "no operation" in text:
        return "Choose at least one step."
    return f"{text[:1].upper()}{text[1:]}."


def _query(query: QueryDict) -> str:
    """The form's fields as they stand in the address of its plan."""
    values = [(name, query[name]) for name in PlanForm.base_fields if query.get(name)]
    return urlencode([*values, ("planned", "1")])


@require_safe
@staff_page(*SEE_LIBRARY)
def planner_documents(request: PageRequest) -> HttpResponse:
    """The documents behind one number of a plan, each with its reason."""
    query = planned(request.GET)
    form = PlanForm(query)
    step = request.GET.get("step") or None
    state = request.GET.get("list", "eligible")
    reason = request.GET.get("reason")
    number = request.GET.get("page", "1")
    page = max(1, int(number)) if number.isdecimal() and len(number) < 8 else 1
    try:
        if not form.is_valid():
            raise BadRequest("", "the address names no plan")
        asked = Request.of(form.plan_fields())
        found, total = plan.listing(asked, step, state, reason=reason, offset=(page - 1) * PER_PAGE, limit=PER_PAGE)
    except (BadRequest, Conflict) as error:
        messages.error(request, _said(error))
        return redirect("intake-process")
    # The rows come with their number, so the paginator counts a range and slices nothing.
    shown = Paginator(range(total), PER_PAGE).get_page(page)
    context = {
        "rows": found,
        "page": shown,
        "step": step,
        "step_label": Step(step).label if step else "",
        "state": state,
        "reason": reason,
        "planner_url": f"{reverse('intake-process')}?{_query(query)}",
    }
    return render(request, "intake/plan_documents_page.html", context)


@require_POST
@staff_action(PROCESS)
def planner_start(request: PageRequest) -> HttpResponse:
    """Start the plan that was looked at; when the library has changed since, show the new plan instead."""
    query = QueryDict(request.POST.get("query", ""))
    here = f"{reverse('intake-process')}?{query.urlencode()}"
    form = PlanForm(query)
    try:
        submission = UUID(request.POST.get("submission", ""))
        if not form.is_valid():
            raise BadRequest("", "the form was not complete")
        run, made = runs.create(
            Request.of(form.plan_fields()),
            actor=request.user.get_username(),
            submission=submission,
            plan_id=request.POST.get("plan_id") or None,
        )
    except ValueError:
        messages.error(request, "The form was not complete; nothing was started.")
        return redirect(here)
    except (BadRequest, Conflict) as error:
        messages.error(request, f"Nothing was started: {error}.")
        return redirect(here)
    if not made:
        messages.info(request, "This was sent before; this is the run that it started.")
    return redirect("processing", run_id=run.pk)
