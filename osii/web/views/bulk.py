"""One address for the bulk actions of all lists: it says what would happen, and does it when that is confirmed."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from osii.ops import audit
from osii.permissions import Lacking
from osii.web.access import PageRequest, needs_of, staff_page
from osii.web.bulk import EVERYTHING, FILTERS, NAMED, Action, Bulk, Doer, print_of
from osii.web.bulk_actions import LISTS

REASON_CHARACTERS = 500


PERMISSIONS = sorted({one.permission for rows in LISTS.values() for one in rows.actions if one.permission})


@require_POST
@staff_page(one_of=PERMISSIONS)
def bulk(request: PageRequest, name: str, action: str) -> HttpResponse:
    """The page that names the effect; with ``confirmed``, the action, if the same rows are chosen as that page was about."""
    rows = LISTS.get(name)
    chosen = rows.action(action) if rows is not None else None
    if rows is None or chosen is None:
        raise Http404
    needs_of(rows.name).require(request.user)
    if not chosen.allowed(request.user):
        raise Lacking(chosen.one_of, any_of_them=True)
    keys = rows.keys(request.POST, request.user)
    if not keys:
        messages.error(request, f"No {rows.nouns[0]} is chosen: tick some, or all that the filters let through.")
        return _back(request, rows)
    if "confirmed" not in request.POST:
        return _ask(request, rows, chosen, keys)
    if problem := _problem(request, chosen, keys[: rows.most]):
        return _ask(request, rows, chosen, keys, problem)
    reason = request.POST.get("reason", "").strip()
    audit.acted_on(request, keys[: rows.most])
    for said in chosen.do(keys[: rows.most], Doer(request.user, reason)):
        messages.success(request, said)
    return _back(request, rows)


def _problem(request: PageRequest, action: Action, keys: list) -> str:
    """Why what was confirmed is not done as it stands."""
    # Their number is not enough: of more than are done at once, the first would always be as many.
    if request.POST.get("rows") != print_of(keys):
        return "Other rows match by now than when this page was made: look again, then confirm."
    reason = request.POST.get("reason", "").strip()
    if action.reason and not reason:
        return "Say why: the reason is kept."
    try:
        check_storable(reason, "the reason")
    except MalformedParts as error:
        return f"{error}."
    return "" if len(reason) <= REASON_CHARACTERS else f"The reason may have {REASON_CHARACTERS} characters at most."


def _ask(request: PageRequest, rows: Bulk, action: Action, keys: list, problem: str = "") -> HttpResponse:
    everything = bool(request.POST.get(EVERYTHING))
    now = keys[: rows.most]
    context = {
        "rows": rows,
        "action": action,
        "what": counted(len(now), *rows.nouns),
        "more": len(keys) > rows.most,
        "counts": action.counts(now),
        "named": rows.named(now[:NAMED]),
        "unnamed": max(0, len(now) - NAMED),
        "print": print_of(now),
        "everything": everything,
        "filters": request.POST.get(FILTERS, ""),
        "picked": [] if everything else request.POST.getlist(rows.field),
        "problem": problem,
        "reason": request.POST.get("reason", ""),
        "back": _list_url(request, rows),
    }
    return render(request, "bulk/confirm_page.html", context, status=409 if problem else 200)


def _list_url(request: PageRequest, rows: Bulk) -> str:
    filters = request.POST.get(FILTERS, "")
    return f"{reverse(rows.name)}?{filters}" if filters else reverse(rows.name)


def _back(request: PageRequest, rows: Bulk) -> HttpResponse:
    return redirect(_list_url(request, rows))
