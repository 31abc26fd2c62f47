"""The activity page: what is read now, what waits, and how long that will take."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from osii.web.access import PageRequest, staff_page
from osii.web.activity import read_activity


@require_safe
@staff_page
def activity(request: PageRequest) -> HttpResponse:
    """The page, or for htmx only what changes while something is active."""
    template = "activity/activity_live.html" if request.htmx else "activity/activity_page.html"
    return render(request, template, {"activity": read_activity()})
