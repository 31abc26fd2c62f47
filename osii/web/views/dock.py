"""The dock: what works in the background, on every page."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from osii.web.access import PageRequest, staff_page
from osii.web.dock import read_dock

STOP_POLLING = 286
"""What htmx takes as "ask no more": a dock whose session has ended must not take the page away under its reader."""


@require_safe
def dock(request: PageRequest) -> HttpResponse:
    """The dock's content; 204 while it is as ``seen``. Without htmx: a page of its own."""
    if request.htmx and not request.user.is_staff:
        return HttpResponse(status=STOP_POLLING)
    return _dock(request)


@staff_page
def _dock(request: PageRequest) -> HttpResponse:
    state = read_dock()
    if request.htmx and request.GET.get("seen") == state.token:
        return HttpResponse(status=204)
    context = {"dock": state, "may_import": request.user.has_perm("osii.add_chatimport")}
    return render(request, "dock/dock_box.html" if request.htmx else "dock/dock_page.html", context)
