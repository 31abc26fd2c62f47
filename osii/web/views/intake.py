"""Intake, Add files: an upload or a path on the server, what adding it would do, and the run that does it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from coverage.ids import new_id
from osii.imports import uploads
from osii.intake import staging
from osii.intake.confirming import Confirmed, confirm
from osii.intake.foreseeing import Foresight, foresee
from osii.library import intake as sources
from osii.library import runs
from osii.library.requests import BadRequest, Conflict, Request
from osii.permissions import PROCESS
from osii.web.access import PageRequest, staff_action
from osii.web.paging import page_of
from osii.web.processing_forms import IntakeForm
from osii.web.uploading import NO_ROOM, receive

NOTHING = "Nothing was added."
TOO_MANY = (
    "More than 1,000 files at once. Upload them in parts, or add a folder by its path or with manage.py add_files."
)
GONE = "These files are not kept any more: they were added, or nobody decided on them for a week. Upload them again."
FILES_PER_PAGE = 200
USUAL = {"chunks": True, "embeddings": True}
"""What search needs."""


@require_safe
@staff_action(PROCESS)
def intake(request: PageRequest) -> HttpResponse:
    return _page(request, IntakeForm(initial=USUAL))


def _page(request: PageRequest, form: IntakeForm, status: int = 200) -> HttpResponse:
    asked_for_path = request.resolver_match is not None and request.resolver_match.url_name == "intake-preview"
    usual = IntakeForm(initial=USUAL)
    # Two forms with the same fields: what was sent is shown again in the one that it came from.
    by_path = form if asked_for_path else IntakeForm(initial=USUAL)
    by_path.auto_id = "path_%s"
    context = {
        "form": usual if asked_for_path else form,
        "by_path": by_path,
        "sent": form,
        "max_bytes": uploads.max_bytes(),
        "roots": settings.OSII_SOURCE_ROOTS,
    }
    return render(request, "intake/add_page.html", context, status=status)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(PROCESS)
def intake_upload(request: PageRequest) -> HttpResponse:
    """Take files. Who may send some is known before the body is read; its token is checked as soon as it is."""
    if request.method != "POST":
        return redirect("intake")
    if refusal := receive(request, nothing=NOTHING, too_many=TOO_MANY):
        return _refused(request, refusal.reason, refusal.status)
    return _keep(request)


@csrf_protect
def _keep(request: PageRequest) -> HttpResponse:
    files = [*request.FILES.getlist("files"), *request.FILES.getlist("folder")]
    form = IntakeForm(request.POST)
    valid = form.is_valid()
    if not files:
        form.add_error(None, "Choose at least one file or a folder.")
        valid = False
    if not valid:
        return _page(request, form, 422)
    staging.sweep()
    try:
        kept = staging.keep(files, by=request.user.get_username(), options=_options(request.POST))
    except OSError:
        return _refused(request, f"{NO_ROOM} {NOTHING}", 507)
    return redirect("intake-uploaded", upload_id=kept.id)


def _options(query: QueryDict) -> str:
    """The form's own fields as a query string."""
    kept = QueryDict(mutable=True)
    for name in IntakeForm.base_fields:
        if query.get(name):
            kept[name] = query[name]
    return kept.urlencode()


def _refused(request: PageRequest, reason: str, status: int) -> HttpResponse:
    messages.error(request, reason)
    return _page(request, IntakeForm(initial=USUAL), status)


@require_safe
@staff_action(PROCESS)
def intake_uploaded(request: PageRequest, upload_id: UUID) -> HttpResponse:
    """What adding an upload would do."""
    try:
        upload = staging.load(upload_id)
    except staging.UploadGone:
        messages.error(request, GONE)
        return redirect("intake")
    return _preview(request, IntakeForm(QueryDict(upload.options)), upload.paths, upload)


@require_safe
@staff_action(PROCESS)
def intake_preview(request: PageRequest) -> HttpResponse:
    """What adding a path on the server would do."""
    form = IntakeForm(request.GET)
    if form.is_valid() and not form.cleaned_data["path"].strip():
        form.add_error("path", "Which file or folder?")
    if not form.is_valid():
        return _page(request, form, 422)
    return _preview(request, form, [form.cleaned_data["path"].strip()])


def _preview(
    request: PageRequest, form: IntakeForm, paths: list[str], upload: staging.Upload | None = None
) -> HttpResponse:
    try:
        found, plan = _look(form, paths)
    except (BadRequest, Conflict) as error:
        form.add_error(None if upload else "path", str(error))
        return _page(request, form, 422)
    page = page_of(request, found.files, FILES_PER_PAGE)
    context = {
        "form": form,
        "foresight": found,
        "page": page,
        "list_path": request.path,
        "upload": upload,
        "path": "" if upload else paths[0],
        "options": _options(request.GET) if upload is None else upload.options,
        # An upload is added once, however often its page is opened.
        "submission": upload.id if upload else new_id(),
        "plan": plan,
        "steps": plan.steps if plan else [],
    }
    return render(request, "intake/preview_page.html", context)


def _look(form: IntakeForm, paths: Sequence[str]) -> tuple[Foresight, Any]:
    """(what would become of each file, the plan of the run). Raises BadRequest, Conflict."""
    if not form.is_valid():
        raise BadRequest("", "the form of this upload is not valid any more: upload the files again")
    request = Request.of(form.intake_fields(list(paths)))
    found = foresee(sources.candidates(request.queue_paths, request.extractor_name), form.learner_name())
    return found, runs.preview(request) if found.to_add else None


@require_POST
@staff_action(PROCESS)
def intake_confirm(request: PageRequest) -> HttpResponse:
    """Start what the preview showed: a run for the documents, an import for the chats. Sent twice, it is done once."""
    form = IntakeForm(QueryDict(request.POST.get("options", "")))
    try:
        submission = UUID(request.POST.get("submission", ""))
        upload = staging.load(UUID(request.POST["upload"])) if request.POST.get("upload") else None
    except ValueError:
        messages.error(request, "The form was not complete; nothing was started.")
        return redirect("intake")
    except staging.UploadGone:
        messages.error(request, GONE)
        return redirect("intake")
    paths = upload.paths if upload else [request.POST.get("path", "")]
    try:
        if not form.is_valid():
            raise BadRequest("", "the form was not complete")
        done = confirm(form.intake_fields(paths), request.user, submission, upload)
    except (BadRequest, Conflict) as error:
        messages.error(request, f"Nothing was started: {error}.")
        return redirect("intake")
    except OSError:
        messages.error(request, f"{NO_ROOM} {NOTHING}")
        return redirect("intake")
    return _started(request, done)


def _started(request: PageRequest, done: Confirmed) -> HttpResponse:
    if done.again:
        messages.info(request, "This was sent before; here is what it started.")
    if done.chats is not None and done.run is not None:
        messages.success(request, "The chats among the files are imported beside this run, under Import chats.")
    if done.run is not None:
        return redirect("processing", run_id=done.run.pk)
    return redirect(reverse("import", args=[done.chats.pk]) if done.chats else "intake")
