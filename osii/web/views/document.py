"""A document's page with its tabs, its source file, and moving its primary pointer."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from coverage.words import counted
from extraction.documents.errors import DocumentError
from extraction.documents.selectors import replaced
from extraction.documents.services import promote, rollback
from extraction.models import Document, DocumentSource, ExtractionVersion
from osii.permissions import PROCESS, SEE_DOCUMENTS, SEE_PROPOSITIONS
from osii.web.access import PageRequest, get_document, staff_action, staff_page
from osii.web.documents import extractions, lineage, outputs, propositions, source, text
from osii.web.documents.extractions import PROMOTE
from osii.web.forms import PromoteForm, RollbackForm
from osii.web.views.removal import CLEAN_UP, REMOVE

SOURCES_SHOWN = 20

TABS = {
    "text": ("Text", "file-earmark-text"),
    "source": ("Source", "paperclip"),
    "extractions": ("Extractions", "layers"),
    "outputs": ("Outputs", "node-plus"),
    "propositions": ("Propositions", "lightbulb"),
    "lineage": ("Lineage", "diagram-3"),
}
TAB_NEEDS = {"propositions": SEE_PROPOSITIONS}
"""What a tab needs beside the page."""


@require_safe
@staff_page(SEE_DOCUMENTS)
def document(request: PageRequest, file_id: str) -> HttpResponse:
    """The tab that the URL names; a tab that there is not shows the text."""
    row = get_document(file_id)
    tab = request.GET.get("tab", "text")
    tabs = {
        name: shown for name, shown in TABS.items() if name not in TAB_NEEDS or request.user.has_perm(TAB_NEEDS[name])
    }
    if tab not in tabs:
        tab = "text"
    context = {
        "document": row,
        "tab": tab,
        "tabs": [(name, *shown) for name, shown in tabs.items()],
        "sources": row.sources.select_related("replaces")[:SOURCES_SHOWN],
        "collections": row.collections.all(),
        "replaced_by": _later(row),
        "is_replaced": Document.objects.filter(replaced(), pk=row.pk).exists(),
        "can_promote": request.user.has_perm(PROMOTE),
        "can_process": request.user.has_perm(PROCESS),
        "can_remove": request.user.has_perm(REMOVE),
        "can_clean_up": request.user.has_perm(CLEAN_UP),
        **CONTEXTS[tab](request, row),
    }
    return render(request, f"documents/{tab}_tab.html", context)


def _later(row: Document) -> Any:
    later = DocumentSource.objects.filter(replaces=row).exclude(document=row)
    return later.select_related("document")[:SOURCES_SHOWN]


def _text(request: PageRequest, row: Document) -> dict[str, Any]:
    version = row.primary
    asked = request.GET.get("version", "")
    if asked and asked != row.primary_id and "\0" not in asked:
        version = row.versions.filter(pk=asked, status=ExtractionVersion.Status.SUCCEEDED).first()
    return {
        "version": version,
        "other_version": asked != row.primary_id and asked,
        "has_versions": row.versions.exists(),
    } | (text.context(row, version, request.GET))


CONTEXTS: dict[str, Callable[[PageRequest, Document], dict[str, Any]]] = {
    "text": _text,
    "source": lambda _, row: {"preview": source.preview(row)},
    "extractions": extractions.context,
    "outputs": outputs.context,
    "propositions": propositions.context,
    "lineage": lambda _, row: lineage.context(row),
}


@require_safe
@staff_page(SEE_DOCUMENTS)
def document_source(request: PageRequest, file_id: str) -> HttpResponseBase:
    """The bytes as they are: to be looked at, or with ``?download=1`` to be kept."""
    return source.answer(get_document(file_id), download="download" in request.GET)


@require_safe
@staff_page(SEE_DOCUMENTS)
def document_artifact(request: PageRequest, file_id: str, extraction_id: str, name: str) -> HttpResponseBase:
    """A table or an image that an extractor kept beside the text, as a file."""
    return source.artifact(get_document(file_id), extraction_id, name)


@require_POST
@staff_action(PROMOTE)
def document_promote(request: PageRequest, file_id: str) -> HttpResponse:
    """Make another version primary, if the primary is still the one that the person saw."""
    row = get_document(file_id)
    form = PromoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The form was not complete; nothing was changed.")
        return _to_versions(file_id)
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
        messages.success(request, _moved(row, chosen["extraction_id"]))
    return _to_versions(file_id)


def _moved(before: Document, extraction_id: str) -> str:
    """What a promotion has done, and the way to what is to be done now."""
    count, query = extractions.what_became_stale(before, before.primary_id)
    if not count or before.primary_id == extraction_id:
        return f"{extraction_id} is in force now."
    plan = f"{reverse('intake-process')}?{query}"
    words = f"{counted(count, 'output')} made of the version before"
    return format_html(
        '{} is in force now. {} {} stale. <a href="{}">Make what is missing anew…</a>',
        extraction_id,
        words,
        "is" if count == 1 else "are",
        plan,
    )


@require_POST
@staff_action(PROMOTE)
def document_rollback(request: PageRequest, file_id: str) -> HttpResponse:
    """Take the last move of the primary back, if the primary is still the one that the person saw."""
    row = get_document(file_id)
    form = RollbackForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The form was not complete; nothing was changed.")
        return _to_versions(file_id)
    chosen = form.cleaned_data
    try:
        made = rollback(
            row.pk, request.user.get_username(), chosen["reason"], expected_primary=chosen["expected_primary"] or None
        )
    except DocumentError as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"Taken back: {made.after_id} is in force again.")
    return _to_versions(file_id)


def _to_versions(file_id: str) -> HttpResponse:
    return redirect(f"{reverse('document', args=[file_id])}?tab=extractions")
