"""The dock: what works in the background, on every page."""

from functools import wraps

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from osii.permissions import IMPORT
from osii.web.access import PageRequest, needs_of, staff_page
from osii.web.dock import SEEN_WITH, kinds_of, read_dock

STOP_POLLING = 286
"""What htmx takes as "ask no more": a dock whose session has ended must not take the page away under its reader."""


@staff_page(one_of=SEEN_WITH)
def _dock(request: PageRequest) -> HttpResponse:
    state = read_dock(kinds_of(request.user))
    if request.htmx and request.GET.get("seen") == state.token:
        return HttpResponse(status=204)
    context = {"dock": state, "may_import": request.user.has_perm(IMPORT)}
    return render(request, "dock/dock_box.html" if request.htmx else "dock/dock_page.html", context)


@require_safe
@wraps(_dock)
def dock(request: PageRequest) -> HttpResponseBase:
    """The dock's content; 204 while it is as ``seen``. Without htmx: a page of its own."""
    if request.htmx and not (request.user.is_staff and needs_of("dock").allow(request.user)):
        return HttpResponse(status=STOP_POLLING)
    return _dock(request)
