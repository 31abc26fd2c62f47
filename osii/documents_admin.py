"""Django admin of documents with what the library adds: upgrading the extraction of chosen ones, by a processing run, and
what a move of the primary does to outputs.
"""

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
from extraction.admin import DocumentAdmin, ExtractionVersionAdmin
from extraction.documents.errors import DocumentError
from extraction.documents.extractors import registry
from extraction.documents.promotion import foresee
from extraction.documents.services import MAKE_PRIMARY, POLICY_LABELS, UPGRADE_LABEL, rollback
from extraction.models import Document, ExtractionVersion

from .library import runs
from .library.plan import Plan
from .library.requests import REPROCESS, BadRequest, Conflict, Request, Scope
from .models import Output

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
    actions = ("upgrade_extraction", "roll_back")

    def has_promote_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("extraction.add_promotion")

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
        self.note(request, Document.objects.filter(pk__in=asked.scope.file_ids), f"{UPGRADE_LABEL}: run {run.pk}.")
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

    @admin.action(description="Roll back the last promotion…", permissions=("promote",))
    def roll_back(self, request: HttpRequest, documents: QuerySet[Document]) -> HttpResponse | None:
        """Name what comes back into force and what becomes stale; then take the last move of the primary back."""
        chosen = list(documents[:2])
        if len(chosen) != 1:
            self.message_user(request, "Choose exactly one document to roll back.", messages.ERROR)
            return None
        document = chosen[0]
        try:
            if "confirmed" not in request.POST:
                return self._before_rollback(request, document)
            made = rollback(
                document.pk,
                request.user.get_username(),
                request.POST.get("reason", "")[:500],
                expected_primary=request.POST.get("expected_primary") or None,
            )
        except DocumentError as error:
            self.message_user(request, f"Nothing was changed: {error}.", messages.ERROR)
        else:
            self.note(request, chosen, f"Rolled back to {made.after_id}.")
            self.message_user(request, f"Taken back: {made.after_id} is in force again.", messages.SUCCESS)
        return None

    def _before_rollback(self, request: HttpRequest, document: Document) -> HttpResponse:
        now, then = foresee(document.pk)
        stale, again = outputs_of(now), outputs_of(then)
        says = (
            f"{then} is in force again in the place of {now}.",
            f"{counted(stale, 'output')} made from {now} {'becomes' if stale == 1 else 'become'} stale; "
            f"{counted(again, 'output')} made from {then} {'is' if again == 1 else 'are'} used again.",
            "Nothing is deleted, and the move is kept in the record.",
        )
        hidden = {"expected_primary": now}
        return self.ask(request, "roll_back", "Roll back", [document], says, reason=True, hidden=hidden)


def outputs_of(extraction_id: str | None) -> int:
    """How many outputs there are of a version."""
    return Output.objects.filter(source_extraction=extraction_id, status=Output.Status.SUCCEEDED).count()


admin.site.unregister(ExtractionVersion)


@admin.register(ExtractionVersion)
class LibraryExtractionVersionAdmin(ExtractionVersionAdmin):
    def consequences(self, version: ExtractionVersion) -> dict[str, Any]:
        before = version.document.primary_id
        return {"stale_outputs": outputs_of(before) if before else 0, "current_again": outputs_of(version.pk)}
