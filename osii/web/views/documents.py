"""The documents list, and what is done to many of them at once."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from coverage.words import counted
from extraction.models import Document
from osii.models import Collection
from osii.ops import audit
from osii.permissions import PROCESS, SEE_DOCUMENTS, Needs
from osii.web.access import PageRequest, staff_page
from osii.web.bulk import NAMED, offer, print_of
from osii.web.bulk_actions import DOCUMENTS
from osii.web.documents import membership, selection
from osii.web.documents.listing import DocumentFilter, with_columns
from osii.web.forms import BulkForm
from osii.web.listing import render_list
from osii.web.paging import page_of

from .collections import CHANGE

MOST_IN_A_URL = 50
"""Documents that are named one by one in the address of the planner."""
MOST_NAMED = 200
"""Documents that are named one by one in the record of what was done to them; how many there were is told of all."""


@require_safe
@staff_page(SEE_DOCUMENTS)
def documents(request: PageRequest) -> HttpResponse:
    chosen = DocumentFilter(request.GET, Document.objects.only("pk"))
    page = page_of(request, chosen.qs)
    page.object_list = with_columns(page.object_list)
    user = request.user
    context = {
        "page": page,
        **chosen.context(),
        "bulk": offer(DOCUMENTS, user),
        "collections": list(Collection.objects.all()) if user.has_perm(CHANGE) else [],
        "can_collect": user.has_perm(CHANGE),
        "can_process": user.has_perm(PROCESS),
    }
    return render_list(request, "documents/documents_page.html", "documents/document_table.html", context)


@require_POST
@staff_page(SEE_DOCUMENTS, one_of=(PROCESS, CHANGE))
def documents_bulk(request: PageRequest) -> HttpResponse:
    """Put the chosen documents into a collection, go to the planner with them, or take them out of a collection: that only
    after a page has said how many these are."""
    form = BulkForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed: choose what to do, and with which collection.")
        return _back(request)
    action = form.cleaned_data["action"]
    Needs((PROCESS if action == "process" else CHANGE,)).require(request.user)
    if not request.POST.get(selection.EVERYTHING) and not selection.chosen_ids(request.POST):
        messages.error(request, "No document is chosen: tick some, or all that the filters let through.")
        return _back(request)
    if action == "process":
        return _to_planner(request)
    collection = form.cleaned_data["collection"]
    if action == "remove" and (question := _ask(request, collection)):
        return question
    named = list(selection.chosen(request.POST).values_list("pk", flat=True)[:MOST_NAMED])
    if action == "add":
        count = membership.add(collection, selection.chosen(request.POST))
        messages.success(request, f"{counted(count, 'document')} added to “{collection.name}”.")
    else:
        count = membership.remove(collection, selection.chosen(request.POST))
        messages.success(request, f"{counted(count, 'document')} taken out of “{collection.name}”.")
    audit.acted_on(request, named, action=action, collection_id=collection.pk, rows=count)
    return _back(request)


def _ask(request: PageRequest, collection: Collection) -> HttpResponse | None:
    """The page that says what would be taken out of the collection; None where just that was confirmed, or is nothing."""
    entries = membership.held(collection, selection.chosen(request.POST))
    ids = list(entries.values_list("document", flat=True))
    looked_at = request.POST.get("rows", "")
    if not ids or looked_at == print_of(ids):
        return None
    everything = bool(request.POST.get(selection.EVERYTHING))
    context = {
        "collection": collection,
        "what": counted(len(ids), "document"),
        "named": list(Document.objects.filter(pk__in=ids[:NAMED]).values_list("filename", flat=True)),
        "unnamed": max(0, len(ids) - NAMED),
        "print": print_of(ids),
        "changed": bool(looked_at),
        "everything": everything,
        "filters": request.POST.get("filters", ""),
        "picked": [] if everything else selection.chosen_ids(request.POST),
        "back": _list_url(request),
    }
    return render(request, "collections/take_out_page.html", context, status=409 if looked_at else 200)


def _to_planner(request: PageRequest) -> HttpResponse:
    """The planner's own address names the documents, so that its plan can be looked at again."""
    planner = reverse("intake-process")
    if request.POST.get(selection.EVERYTHING):
        filters = request.POST.get("filters", "")
        if not selection.can_be_planned(filters):
            messages.error(
                request,
                "A search, a state and the type “other” cannot be handed to the planner as they are: tick documents, or "
                "add all of these to a collection and process that.",
            )
            return _back(request)
        return redirect(f"{planner}?{filters}" if filters else f"{planner}?all=on")
    ids = selection.chosen_ids(request.POST)[:MOST_IN_A_URL]
    return redirect(f"{planner}?{urlencode({'ids': '.'.join(one.removeprefix('sha256-') for one in ids)})}")


def _list_url(request: PageRequest) -> str:
    filters = request.POST.get("filters", "")
    return f"{reverse('documents')}?{filters}" if filters else reverse("documents")


def _back(request: PageRequest) -> HttpResponse:
    return redirect(_list_url(request))
