"""The home page: what needs me first, then the state of everything."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coverage import summaries
from extraction import figures
from osii import groups, health, permissions
from osii.web import activity_list, attention, selectors
from osii.web.access import PageRequest, staff_page

RUNS_SHOWN = 8


def welcome(request: PageRequest) -> HttpResponse:
    """What an account sees that no group lets see anything yet."""
    context = {"groups": groups.MAY, "mine": permissions.groups_of(request.user), "ask": permissions.superusers()}
    return render(request, "home/welcome_page.html", context)


@require_safe
@staff_page(one_of=permissions.ANYTHING, otherwise=welcome)
def home(request: PageRequest) -> HttpResponse:
    sees_runs = activity_list.CHAT in activity_list.kinds_of(request.user)
    rows, _ = summaries.listed()
    held = figures.held_tokens()
    counts = attention.counts(rows, held)
    context = {
        "needs": attention.needs(rows, held, request.user),
        "counts": counts,
        "coverage": counts,
        "sees_runs": sees_runs,
        "runs": selectors.latest_runs(RUNS_SHOWN) if sees_runs else [],
        "findings": [*health.queues(), health.space(), health.disk()],
    }
    return render(request, "home/home_page.html", context)
