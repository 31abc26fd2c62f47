"""Import chats: the upload, the list of imports, one import with its live progress and its report."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from coverage.ids import new_id
from extraction.models import Run
from osii.imports import services, uploads
from osii.models import ChatImport
from osii.permissions import IMPORT
from osii.web.access import PageRequest, staff_action
from osii.web.import_forms import ImportFilter, ImportForm
from osii.web.import_state import state_context
from osii.web.listing import render_list
from osii.web.paging import page_of
from osii.web.requested import requested
from osii.web.uploading import NO_ROOM, receive

CONVERSATIONS_PER_PAGE = 100
NOTHING = "Nothing was imported."
TOO_MANY = "More than 1,000 files at once. Zip the folder and upload the archive."


@require_safe
@staff_action(IMPORT)
def imports(request: PageRequest) -> HttpResponse:
    return _imports_page(request, ImportForm(initial={"submission": new_id()}))


def _imports_page(request: PageRequest, form: ImportForm, status: int = 200) -> HttpResponse:
    chosen = ImportFilter(request.GET, ChatImport.objects.select_related("created_by").defer("problems", "skipped"))
    context = {
        "upload": form,
        "page": page_of(request, chosen.qs),
        **chosen.context(),
        "list_path": reverse("imports"),
        "max_bytes": uploads.max_bytes(),
        "uploading": request.user.has_perm(IMPORT),
    }
    return render_list(request, "imports/imports_page.html", "imports/import_table.html", context, status)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(IMPORT)
def import_create(request: PageRequest) -> HttpResponse:
    """Take an upload. Who may send one is known before its body is read; its token is checked as soon as it is."""
    if request.method != "POST":
        return redirect("imports")
    if refusal := receive(request, nothing=NOTHING, too_many=TOO_MANY):
        return _refused(request, refusal.reason, refusal.status)
    return _create(request)


@csrf_protect
def _create(request: PageRequest) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _imports_page(request, form, 422)
    values = form.cleaned_data
    try:
        row, made = services.create(
            values["files"],
            learner=form.learner_name(),
            dry_run=values["dry_run"],
            by=request.user,
            submission=values["submission"],
        )
    except OSError:
        return _refused(request, f"{NO_ROOM} {NOTHING}", 507)
    if not made:
        messages.info(request, "These files were already uploaded with this form; this is their import.")
    return redirect("import", import_id=row.pk)


def _refused(request: PageRequest, reason: str, status: int) -> HttpResponse:
    messages.error(request, reason)
    return _imports_page(request, ImportForm(initial={"submission": new_id()}), status)


@require_safe
@staff_action(IMPORT)
def import_page(request: PageRequest, import_id: UUID) -> HttpResponse:
    row = _get_import(import_id)
    return render(request, "imports/import_page.html", _page_context(request, row))


def _get_import(import_id: UUID) -> ChatImport:
    return get_object_or_404(ChatImport.objects.select_related("created_by"), pk=import_id)


def _page_context(request: PageRequest, row: ChatImport) -> dict[str, Any]:
    page = page_of(request, row.conversations.select_related("chat"), CONVERSATIONS_PER_PAGE)
    return {"page": page, "list_path": reverse("import", args=[row.pk]), **state_context(row)}


@require_safe
@staff_action(IMPORT)
def import_live(request: PageRequest, import_id: UUID) -> HttpResponse:
    """The state's fragments for htmx; 204 while nothing changed since ``seen``. Without htmx: the page itself."""
    row = _get_import(import_id)
    if not request.htmx:
        return redirect("import", import_id=import_id)
    context = _page_context(request, row)
    if row.active and request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "imports/live_response.html", context | {"is_fragment": True})


@require_POST
@staff_action(IMPORT)
def import_cancel(request: PageRequest, import_id: UUID) -> HttpResponse:
    row = _get_import(import_id)
    if services.cancel(row.pk):
        messages.success(request, "Cancelled. Conversations that were imported already are kept.")
    else:
        messages.info(request, f"This import is over: it is {row.get_status_display().lower()}.")
    return redirect("import", import_id=row.pk)


@require_POST
@staff_action(IMPORT)
def import_repeat(request: PageRequest, import_id: UUID) -> HttpResponse:
    """Import the kept files again: after a dry run, a failure or a cancel."""
    row = _get_import(import_id)
    try:
        again = services.repeat(row, dry_run="dry_run" in request.POST, by=request.user)
    except services.FilesGone:
        messages.error(request, "The files of this import are not kept any more. Upload them again.")
        return redirect("import", import_id=row.pk)
    except OSError:
        messages.error(request, f"{NO_ROOM} {NOTHING}")
        return redirect("import", import_id=row.pk)
    return redirect("import", import_id=again.pk)


@require_POST
@staff_action("extraction.add_run", IMPORT)
def import_extract(request: PageRequest, import_id: UUID) -> HttpResponse:
    """Start runs for the chats of an import: ``mode`` due or rest."""
    row = _get_import(import_id)
    mode = request.POST.get("mode", "")
    if mode not in Run.Mode.values:
        messages.error(request, f"Choose what to extract: {' or '.join(Run.Mode.labels)}.")
        return redirect("import", import_id=row.pk)
    made, joined = services.request_reading(row, mode)
    if made or joined:
        messages.success(request, requested(request.user, row.conversations.order_by().values("chat"), made, joined))
    elif mode == Run.Mode.DUE:
        messages.info(
            request, "None of these chats has enough unread text yet. “Extract all of it” reads what there is."
        )
    else:
        messages.info(request, "Nothing is uncovered: every message with content has been read.")
    return redirect("import", import_id=row.pk)
