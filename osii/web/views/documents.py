"""The documents list, a document with its versions, and moving its primary pointer."""

import contextlib
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from extraction.documents.errors import DocumentError
from extraction.documents.services import promote
from extraction.models import Document, DocumentSource, ExtractionVersion
from osii.web import selectors
from osii.web.access import PageRequest, get_document, staff_action, staff_page
from osii.web.forms import DocumentFilter, PromoteForm
from osii.web.listing import render_list
from osii.web.paging import page_of
from osii.web.reader import WINDOW, Window, read_window

PROMOTIONS_SHOWN = 20
PROMOTE = "extraction.add_promotion"


@require_safe
@staff_page
def documents(request: PageRequest) -> HttpResponse:
    form = DocumentFilter(request.GET)
    form.is_valid()
    page = page_of(request, selectors.listed_documents(**form.chosen()))
    context = {"form": form, "page": page, "filtered": form.filters() > 0}
    return render_list(request, "documents/documents_page.html", "documents/document_table.html", context)


@require_safe
@staff_page
def document(request: PageRequest, file_id: str) -> HttpResponse:
    row = get_document(file_id)
    versions = list(row.versions.all())
    start = 0
    with contextlib.suppress(ValueError):
        start = int(request.GET.get("from", "0"))
    context = {
        "document": row,
        "sources": row.sources.select_related("replaces"),
        "replaced_by": DocumentSource.objects.filter(replaces=row).exclude(document=row).select_related("document"),
        "versions": versions,
        "can_promote": request.user.has_perm(PROMOTE) and any(_may_become_primary(v, row) for v in versions),
        "promotions": row.promotions.all()[:PROMOTIONS_SHOWN],
        **_text_context(row, start),
    }
    return render(request, "documents/document_page.html", context)


def _may_become_primary(version: ExtractionVersion, row: Document) -> bool:
    return version.status == ExtractionVersion.Status.SUCCEEDED and version.pk != row.primary_id


def _text_context(row: Document, start: int) -> dict[str, Any]:
    window = read_window(row.primary, start) if row.primary else Window()
    whole = row.primary.text_chars if row.primary else 0
    return {
        "text": window.text,
        "text_error": window.error,
        "text_start": window.start + 1,
        "text_end": window.end,
        "text_before": window.start - WINDOW if window.start else None,
        "text_after": window.end if window.end < whole else None,
    }


@require_POST
@staff_action(PROMOTE)
def document_promote(request: PageRequest, file_id: str) -> HttpResponse:
    """Make another version primary, if the primary is still the one that the person saw."""
    row = get_document(file_id)
    form = PromoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The form was not complete; nothing was changed.")
        return redirect("document", file_id=file_id)
    chosen = form.cleaned_data
    try:
        promote(
            row.pk,
            chosen["extraction_id"],
            actor=request.user.get_username(),
            reason=chosen["reason"],
            expected_primary=chosen["expected_primary"] or None,
        )
    except (DocumentError, ValueError) as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"{chosen['extraction_id']} is in force now.")
    return redirect("document", file_id=file_id)
