"""The home page: what needs me first, then the state of everything."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coverage import summaries
from extraction import figures
from osii import health
from osii.web import attention, review, selectors
from osii.web.access import PageRequest, staff_page

RUNS_SHOWN = 8


@require_safe
@staff_page
def home(request: PageRequest) -> HttpResponse:
    rows, _ = summaries.listed()
    held = figures.held_tokens()
    counts = attention.counts(rows, held)
    context = {
        "needs": attention.needs(rows, held, may_review=request.user.has_perm(review.PERMISSION)),
        "counts": counts,
        "coverage": counts,
        "runs": selectors.latest_runs(RUNS_SHOWN),
        "findings": [*health.queues(), health.space(), health.disk()],
    }
    return render(request, "home/home_page.html", context)
