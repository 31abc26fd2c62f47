"""The activity page: what works in the background, what waits, what needs attention, and how long it will take."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from osii.models import ProcessingRun
from osii.web import activity_list
from osii.web.access import PageRequest, staff_page
from osii.web.activity import read_activity
from osii.web.activity_bulk import ACTIVITY
from osii.web.bulk import offer


@require_safe
@staff_page(one_of=activity_list.SEEN_WITH)
def activity(request: PageRequest) -> HttpResponse:
    """The page, or for htmx only what changes while something is active."""
    view = request.GET.get("view", "all")
    if view not in activity_list.VIEWS:
        view = "all"
    chosen = activity_list.ActivityFilter(request.GET, ProcessingRun.objects.none())
    seen = activity_list.kinds_of(request.user)
    page = activity_list.listed(view, request.GET.get("page"), chosen, seen)
    counts = activity_list.counts(seen)
    shown = {name: request.GET[name] for name in ("view", "page", "kind", "sort") if request.GET.get(name)}
    context = {
        "activity": read_activity(),
        "sees_chats": activity_list.CHAT in seen,
        "view": view,
        "views": [(name, label, counts[name]) for name, label in activity_list.VIEWS.items()],
        "page": page,
        **chosen.context(),
        "filters": urlencode({name: value for name, value in shown.items() if name != "page"}),
        "bulk": offer(ACTIVITY, request.user),
        "here": f"?{urlencode(shown)}" if shown else "",
        "list_path": request.path,
        "may_import": request.user.has_perm("osii.add_chatimport"),
    }
    template = "activity/activity_live.html" if request.htmx else "activity/activity_page.html"
    return render(request, template, context)
