"""The propositions list, and one proposition with its evidence."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from extraction.models import Document
from graphctx.selection import with_latest_level
from osii.web import selectors
from osii.web.access import PageRequest, get_proposition, staff_page
from osii.web.listing import render_list
from osii.web.paging import page_of
from osii.web.proposition_forms import PropositionFilter
from osii.web.proposition_list import listing

EVIDENCE_PER_PAGE = 50
LEVELS_SHOWN = 24
RESOLUTIONS_SHOWN = 50


@require_safe
@staff_page
def propositions(request: PageRequest) -> HttpResponse:
    form = PropositionFilter(request.GET)
    form.is_valid()
    found = listing(request, form)
    context = {"form": form, "listing": found, "page": found.page, "filtered": form.filters() > 0}
    return render_list(request, "propositions/propositions_page.html", "propositions/proposition_table.html", context)


@require_safe
@staff_page
def proposition(request: PageRequest, proposition_id: UUID) -> HttpResponse:
    row = get_proposition(proposition_id)
    page = page_of(request, selectors.evidence_of(row), EVIDENCE_PER_PAGE)
    page.object_list = list(page.object_list)
    _place(page.object_list)
    levels = selectors.evidence_of(row).filter(level__isnull=False)[:LEVELS_SHOWN]
    context = {
        "proposition": row,
        "page": page,
        "latest_level": with_latest_level(type(row).objects.filter(pk=row.pk)).values_list("latest_level", flat=True)[
            0
        ],
        "levels": list(levels)[::-1],
        "resolutions": selectors.resolutions_of(row)[:RESOLUTIONS_SHOWN],
    }
    return render(request, "propositions/proposition_page.html", context)


def _place(instances: list) -> None:
    """Give each instance where its source is now: the message's position and page, or the document."""
    in_chats = [(instance.chat_id, instance.message_id) for instance in instances if instance.chat_id]
    where = selectors.positions(in_chats) if in_chats else {}
    documents = Document.objects.in_bulk({instance.document_id for instance in instances if instance.document_id})
    for instance in instances:
        instance.position_now = where.get((instance.chat_id, instance.message_id))
        instance.document = documents.get(instance.document_id)
