"""The review queue, one candidate with everything to decide about it, the decision, and taking one back."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from extraction.merging import resolving
from extraction.models import Candidate
from osii.web import review, review_undo
from osii.web.access import PageRequest, get_candidate, get_resolution, staff_action
from osii.web.bulk import offer
from osii.web.bulk_actions import REVIEW
from osii.web.listing import render_list
from osii.web.paging import page_of
from osii.web.review_forms import DecisionForm, ReviewFilter
from osii.web.review_targets import targets_of
from osii.web.review_thread import thread


@require_safe
@staff_action(review.PERMISSION)
def queue(request: PageRequest) -> HttpResponse:
    filters = ReviewFilter.of(request.GET)
    context = {
        "page": page_of(request, review.with_sources(filters.qs)),
        **filters.context(),
        "bulk": offer(REVIEW, request.user),
        "queue_query": filters.query(),
        "chat": review.chat_of(filters.chosen().get("chat")),
        "all_chats": f"{reverse('review')}?{filters.query(without='chat')}",
        "anything_deferred": review.waiting().filter(deferred=True).exists(),
        "mode": review.default_mode(),
        "last": review.last_decision(request),
    }
    return render_list(request, "review/review_page.html", "review/candidate_table.html", context)


@require_safe
@staff_action(review.PERMISSION)
def candidate(request: PageRequest, candidate_id: UUID) -> HttpResponse:
    return _page(request, get_candidate(candidate_id), ReviewFilter.of(request.GET), find=request.GET.get("find", ""))


def _page(
    request: PageRequest,
    row: Candidate,
    filters: ReviewFilter,
    *,
    find: str = "",
    form: DecisionForm | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    """A candidate's page: a fixed number of queries. ``form`` is a decision that was not accepted."""
    history = review.history_of_candidate(row)
    standing = history[0] if history else None
    pending = standing is not None and standing.outcome in standing.OPEN
    place = review.place_of(row, filters.qs)
    context: dict[str, Any] = {
        "candidate": row,
        "chat": row.batch.chat,
        "document": row.batch.document,
        "learner": row.batch.learner,
        "standing": standing,
        "pending": pending,
        "deferred": review.is_deferred(history),
        "speakers": review.speakers(row.evidence),
        "lines": thread(row),
        "history": history,
        "mode": review.mode_of(row.batch.learner, request.user),
        "queue": place,
        "queue_query": filters.query(),
        "queue_url": f"{reverse('review')}?{filters.query()}",
        "queue_fields": filters.kept(),
        "errors": form.messages() if form else {},
        "typed": form.data if form else {},
        "conflict": conflict,
        "last": review.last_decision(request),
    }
    if pending:
        chosen = form.data.get("target") if form else None
        context |= targets_of(row, find=_words(find), chosen=chosen)
    return render(request, "review/candidate_page.html", context, status=status)


def _words(find: str) -> str:
    """The words to look for, whatever an address or a form gave: no text of ours has a NUL, nor can PostgreSQL be asked for one."""
    return " ".join(find.replace("\x00", " ").split())[:200]


@require_POST
@staff_action(review.PERMISSION)
def decide(request: PageRequest, candidate_id: UUID) -> HttpResponse:
    """Record one decision, if what the reviewer saw still stands, and go on to the next candidate."""
    row = get_candidate(candidate_id)
    form = DecisionForm(request.POST, row.batch.learner)
    filters = ReviewFilter.of(request.POST.get("queue", ""))
    if not form.is_valid():
        find = request.POST.get("find", "")
        return _page(request, row, filters, form=form, find=find, conflict=form.unusable(), status=400)
    try:
        resolution = resolving.decide(row.pk, actor=request.user.get_username(), **form.arguments())
    except resolving.StandingChanged:
        return _page(request, row, filters, form=form, conflict=review.who_was_faster(row, request.user), status=409)
    except resolving.Refused as refusal:
        return _page(request, row, filters, form=form, conflict=review.sentence(refusal), status=409)
    return redirect(_next_url(row.pk, filters, resolution.pk))


def _next_url(decided: UUID, filters: ReviewFilter, resolution_id: UUID) -> str:
    """The next candidate of the same queue, or the queue when it is empty; the decision is named so it can be undone."""
    following = review.next_after(decided, filters.qs)
    page = reverse("review-candidate", args=[following]) if following else reverse("review")
    return f"{page}?{filters.query(last=resolution_id)}"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(review.PERMISSION)
def undo(request: PageRequest, resolution_id: UUID) -> HttpResponse:
    """What taking a decision back would do; a POST does it and shows the candidate, open again."""
    row = get_resolution(resolution_id)
    filters = ReviewFilter.of(request.POST.get("queue", ""))
    problem = ""
    if request.method == "POST":
        try:
            resolving.undo(row.candidate_id, actor=request.user.get_username(), reason="taken back", expected=row.pk)
        except resolving.StandingChanged:
            problem = review.who_was_faster(row.candidate, request.user)
        except resolving.Refused as refusal:
            problem = review.sentence(refusal)
        else:
            messages.success(request, "The decision is taken back: the candidate waits for a decision again.")
            page = reverse("review-candidate", args=[row.candidate_id])
            return redirect(f"{page}?{filters.query()}")
    problem = problem or review_undo.why_not(row, request.user)
    effects = [] if problem else review_undo.effects(row)
    context = {"resolution": row, "problem": problem, "effects": effects}
    return render(request, "review/undo_page.html", context, status=409 if problem else 200)
