"""Django admin of documents with what the library adds: upgrading the extraction of chosen ones, by a processing run."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from coverage.ids import new_id
from coverage.words import counted
from extraction.admin import DocumentAdmin
from extraction.documents.extractors import registry
from extraction.documents.services import MAKE_PRIMARY, POLICY_LABELS, UPGRADE_LABEL
from extraction.models import Document

from .library import runs
from .library.plan import Plan
from .library.requests import REPROCESS, BadRequest, Conflict, Request, Scope

MOST_DOCUMENTS = 500
"""Each is a field of the form that asks for confirmation; the planner takes any number."""


class UpgradeForm(forms.Form):
    """By which extractor, and what becomes of the text in force."""

    extractor = forms.ChoiceField(required=False)
    policy = forms.ChoiceField(
        choices=list(POLICY_LABELS.items()),
        widget=forms.RadioSelect,
        initial=MAKE_PRIMARY,
        label="When it has succeeded",
    )
    force = forms.BooleanField(required=False, label="Also what this extractor has made already")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(name, f"{name} {one.version}") for name, one in registry.extractors().items()]
        self.fields["extractor"].choices = [("", "by the table of extractor rules"), *names]

    def request_for(self, file_ids: list[str]) -> Request:
        return Request(
            scope=Scope(file_ids=tuple(file_ids)),
            run_extraction=True,
            extract_mode=REPROCESS,
            extraction_policy=self.cleaned_data["policy"],
            extractor_name=self.cleaned_data["extractor"] or registry.AUTO,
            force=self.cleaned_data["force"],
        )


admin.site.unregister(Document)


@admin.register(Document)
class LibraryDocumentAdmin(DocumentAdmin):
    actions = ("upgrade_extraction",)

    def has_process_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("osii.add_processingrun")

    @admin.action(description=f"{UPGRADE_LABEL}…", permissions=("process",))
    def upgrade_extraction(self, request: HttpRequest, documents: QuerySet[Document]) -> HttpResponse | None:
        """Ask by which extractor and with which policy, show how many documents that is, and start the run."""
        file_ids = list(documents.order_by().values_list("pk", flat=True)[: MOST_DOCUMENTS + 1])
        if len(file_ids) > MOST_DOCUMENTS:
            text = f"At most {MOST_DOCUMENTS} documents at once; Process library in the dashboard takes any number."
            self.message_user(request, text, messages.ERROR)
            return None
        form = UpgradeForm(request.POST if "policy" in request.POST else None)
        plan = None
        if form.is_bound and form.is_valid():
            try:
                asked = form.request_for(file_ids)
                if "confirmed" in request.POST:
                    return self._start(request, asked)
                plan = runs.preview(asked)
            except (BadRequest, Conflict) as error:
                self.message_user(request, f"Nothing was started: {error}.", messages.ERROR)
        return TemplateResponse(request, "admin/upgrade_confirm.html", self._asking(request, file_ids, form, plan))

    def _start(self, request: HttpRequest, asked: Request) -> HttpResponse:
        try:
            submission = UUID(request.POST.get("submission", ""))
        except ValueError:
            raise BadRequest("submission", "the form was not complete") from None
        run, _ = runs.create(
            asked,
            actor=request.user.get_username(),
            submission=submission,
            plan_id=request.POST.get("plan_id") or None,
        )
        return redirect("processing", run_id=run.pk)

    def _asking(
        self, request: HttpRequest, file_ids: list[str], form: UpgradeForm, plan: Plan | None
    ) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": UPGRADE_LABEL,
            "opts": self.model._meta,
            "file_ids": file_ids,
            "chosen": counted(len(file_ids), "document"),
            "form": form,
            "plan": plan,
            "step": plan.steps[0].to_dict() if plan else None,
            "submission": new_id(),
            "action_checkbox_name": admin.helpers.ACTION_CHECKBOX_NAME,
        }
