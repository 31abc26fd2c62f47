"""The propositions list, one proposition with its evidence, and forgetting it."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from extraction.models import Document
from graphctx import forgetting
from graphctx.models import Proposition
from osii.links import links_of
from osii.permissions import SEE_PROPOSITIONS
from osii.propositions import detailed
from osii.web import selectors
from osii.web.access import PageRequest, get_proposition, staff_action, staff_page
from osii.web.bulk import offer
from osii.web.bulk_actions import PROPOSITIONS
from osii.web.levels import level_chart
from osii.web.listing import render_list
from osii.web.paging import page_of
from osii.web.proposition_forms import PropositionFilter
from osii.web.proposition_list import listing
from osii.web.review import history_of_proposition

EVIDENCE_PER_PAGE = 50
LEVELS_SHOWN = 24
LINKS_SHOWN = 50
CHANGE = "graphctx.change_proposition"


@require_safe
@staff_page(SEE_PROPOSITIONS)
def propositions(request: PageRequest) -> HttpResponse:
    chosen = PropositionFilter(request.GET, Proposition.objects.all())
    found = listing(request, chosen)
    may = None if found.by_meaning else offer(PROPOSITIONS, request.user)
    context = {"listing": found, "page": found.page, "bulk": may, **chosen.context()}
    return render_list(request, "propositions/propositions_page.html", "propositions/proposition_table.html", context)


@require_safe
@staff_page(SEE_PROPOSITIONS)
def proposition(request: PageRequest, proposition_id: UUID) -> HttpResponse:
    get_proposition(proposition_id)
    row = detailed([proposition_id])[0]
    evidence = selectors.evidence_of(row)
    page = page_of(request, evidence, EVIDENCE_PER_PAGE)
    page.object_list = list(page.object_list)
    _place(page.object_list)
    levels = list(evidence.filter(level__isnull=False, withdrawn_at__isnull=True)[:LEVELS_SHOWN])[::-1]
    links = links_of([row])[row.pk]
    context = {
        "proposition": row,
        "page": page,
        "latest_level": row.latest_level,
        "levels": levels,
        "chart": level_chart(levels),
        "links": _linked(links[-LINKS_SHOWN:]),
        "links_count": len(links),
        "history": history_of_proposition(row),
    }
    return render(request, "propositions/proposition_page.html", context)


def _linked(links: list) -> list[dict]:
    """Each link with the proposition at its other end."""
    others = {other.pk: other for other in detailed(link.other for link in links)}
    return [{"link": link, "other": others[link.other]} for link in links if link.other in others]


def _place(instances: list) -> None:
    """Give each instance where its source is now: the message's position and page, or the document."""
    in_chats = [(instance.chat_id, instance.message_id) for instance in instances if instance.chat_id]
    where = selectors.positions(in_chats) if in_chats else {}
    documents = Document.objects.in_bulk({instance.document_id for instance in instances if instance.document_id})
    for instance in instances:
        instance.position_now = where.get((instance.chat_id, instance.message_id))
        instance.document = documents.get(instance.document_id)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(CHANGE, SEE_PROPOSITIONS)
def proposition_forget(request: PageRequest, proposition_id: UUID) -> HttpResponse:
    """Says what forgetting does; a POST does it."""
    said = "Forgotten. No chat is offered it any more, and it is not learned again."
    return _confirmed(request, proposition_id, forgetting.forget, said, "propositions/forget_page.html")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(CHANGE, SEE_PROPOSITIONS)
def proposition_restore(request: PageRequest, proposition_id: UUID) -> HttpResponse:
    """Says what restoring does; a POST does it."""
    said = "Restored. It counts again as it did before it was forgotten."
    return _confirmed(request, proposition_id, forgetting.restore, said, "propositions/restore_page.html")


def _confirmed(
    request: PageRequest, proposition_id: UUID, act: Callable[[UUID], Proposition], said: str, template: str
) -> HttpResponse:
    row = get_proposition(proposition_id)
    if request.method != "POST":
        return render(request, template, {"proposition": detailed([row.pk])[0]})
    try:
        act(row.pk)
        messages.success(request, said)
    except forgetting.NothingToRestore as error:
        messages.error(request, f"It cannot be restored: {error}.")
    return redirect("proposition", proposition_id=row.pk)
