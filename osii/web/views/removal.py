"""Removing a document, and old versions of one. Each is a page that says what goes, and then asks."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from coverage.words import counted
from extraction.documents import retention
from extraction.documents.errors import DocumentError
from extraction.documents.services import remove_document, remove_versions
from extraction.models import Document
from osii.library import removing
from osii.permissions import SEE_DOCUMENTS
from osii.web.access import PageRequest, get_document, staff_action
from osii.web.removal_forms import CleanUpForm, OldVersionsForm, RemoveForm

REMOVE = "extraction.delete_document"
CLEAN_UP = "extraction.delete_extractionversion"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(REMOVE, SEE_DOCUMENTS)
def document_remove(request: PageRequest, file_id: str) -> HttpResponse:
    """What erasing the document takes with it; a POST erases it."""
    row = get_document(file_id)
    error = ""
    if request.method == "POST":
        form = RemoveForm(request.POST)
        if form.is_valid():
            try:
                removal = remove_document(row.pk, request.user.get_username(), form.cleaned_data["reason"])
            except DocumentError as problem:
                error = f"Nothing was removed: {problem}."
            else:
                count = removal.counts.get("propositions", 0)
                gone = f", and {counted(count, 'proposition')} that stood on it alone" if count else ""
                messages.success(request, f"{row.filename} is removed for good{gone}.")
                return redirect("documents")
        else:
            error = "Nothing was removed: the reason may have 500 characters at most, and no control characters."
    context = {"document": row, "effect": removing.preview(row), "error": error}
    return render(request, "documents/remove_page.html", context, status=400 if error else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(CLEAN_UP, SEE_DOCUMENTS)
def document_clean_up(request: PageRequest, file_id: str) -> HttpResponse:
    """Which old versions would go and which stay and why; a POST removes those that are ticked."""
    row = get_document(file_id)
    error = ""
    if request.method == "POST":
        chosen = CleanUpForm(row, request.POST)
        if not chosen.is_valid():
            error = "Nothing was removed: choose versions that are still there."
        elif not (error := _clean_up(request, row, chosen)):
            return redirect(f"{reverse('document', args=[row.pk])}?tab=extractions")
    form = OldVersionsForm(request.GET)
    rows = list(retention.plan(form.rule(row))) if form.is_valid() else []
    context = {
        "document": row,
        "form": form,
        "rows": rows,
        "going": [one for one in rows if not one.kept],
        "size": sum(one.size_bytes for one in rows if not one.kept),
        "error": error,
    }
    return render(request, "documents/clean_up_page.html", context, status=400 if error else 200)


def _clean_up(request: PageRequest, row: Document, chosen: CleanUpForm) -> str:
    """Remove the versions; returns what kept it from being done."""
    asked = chosen.cleaned_data
    try:
        removal = remove_versions(
            row.pk,
            asked["versions"],
            request.user.get_username(),
            asked["reason"],
            even_needed=asked["even_needed"],
        )
    except DocumentError as problem:
        return f"Nothing was removed: {problem}."
    outputs = counted(removal.counts.get("outputs", 0), "output")
    them = "it" if len(removal.versions) == 1 else "them"
    messages.success(request, f"{counted(len(removal.versions), 'version')} removed, and {outputs} made from {them}.")
    return ""
