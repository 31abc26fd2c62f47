"""Django admin of runs, batches and documents: read-only rows, and the actions of the services on them."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from coverage.admin import ChatAdmin
from coverage.admin_base import ReadOnlyAdmin, page_link
from coverage.models import Chat
from coverage.words import counted

from .. import services
from ..documents.errors import DocumentError
from ..documents.services import promote
from ..models import (
    Batch,
    BatchMessage,
    Candidate,
    Document,
    DocumentSource,
    ExtractionVersion,
    Promotion,
    ReferenceEnvironment,
    Removal,
    Resolution,
    Run,
    WorkerConversation,
)
from ..selectors import coverage_of_chats
from . import language, routing  # noqa: F401 - they register their models
from .repair import RepairActions
from .review import MarksFilter, ReviewActions, StandingFilter


@admin.register(Chat)
class ChatWithRunsAdmin(RepairActions, ChatAdmin):
    actions = ("extract_rest", "abort", *RepairActions.actions)

    def has_extract_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("extraction.add_run")

    def has_abort_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("extraction.change_run")

    @admin.action(description="Extract the rest…", permissions=("extract",))
    def extract_rest(self, request: HttpRequest, chats: QuerySet[Chat]) -> HttpResponse | None:
        """Name how much would be read and by whom, then request a run for each chat."""
        chosen = self.chosen(request, chats)
        if not chosen:
            return None
        if "confirmed" not in request.POST:
            unread = sum(row["uncovered_tokens"] for row in coverage_of_chats(chat.pk for chat in chosen))
            says = (
                f"What is unread of them, {counted(unread, 'token')}, will be read by the worker {settings.EXTRACTION_WORKER}.",
                "A chat that has a run already keeps it: it reads to the end.",
            )
            return self.ask(request, "extract_rest", "Extract the rest", chosen, says)
        for chat in chosen:
            services.request_run(chat.pk, Run.Mode.REST)
        self.note(request, chosen, "Asked to extract the rest.")
        text = (
            f"{counted(len(chosen), 'chat')}: a run for the rest is queued, running or about to follow one that stops."
        )
        self.message_user(request, text, messages.SUCCESS)
        return None

    @admin.action(description="Abort run…", permissions=("abort",))
    def abort(self, request: HttpRequest, chats: QuerySet[Chat]) -> HttpResponse | None:
        """Say what is lost, then stop the active runs."""
        chosen = self.chosen(request, chats.filter(runs__status__in=Run.ACTIVE).distinct())
        if chosen is None:
            return None
        if chosen and "confirmed" not in request.POST:
            says = ("The batch in flight is lost and will be read again; what was read before it stays.",)
            return self.ask(request, "abort", "Abort runs", chosen, says)
        stopped = [chat for chat in chosen if services.abort_run(chat.pk)]
        self.note(request, stopped, "Asked to abort the run.")
        if stopped:
            self.message_user(request, f"Abort requested for {counted(len(stopped), 'run')}.", messages.SUCCESS)
        else:
            self.message_user(request, "None of these chats has an active run.", messages.INFO)
        return None


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "chat", "mode", "status", "worker", "attempt", "recoveries", "queued_at", "finished_at", "retry_at",
    )  # fmt: skip
    list_filter = ("status", "mode", "worker", "queued_at")
    list_select_related = ("chat",)
    search_fields = ("=id", "chat__title", "error")

    def view_on_site(self, run: Run) -> str:
        return reverse("chat", args=[run.chat_id])


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "chat", "status", "failures", "tokens", "staged_count", "worker", "page", "created_at")
    list_filter = ("status", "worker", "created_at")
    list_select_related = ("chat",)
    search_fields = ("=id", "chat__title", "error", "reason")
    ordering = ("-created_at", "id")
    actions = ("retry_parked", "split_parked")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("extraction.change_batch")

    def view_on_site(self, batch: Batch) -> str:
        return reverse("batch", args=[batch.pk])

    @admin.display(description="dashboard")
    def page(self, batch: Batch) -> SafeString:
        return page_link("batch", batch.pk, "open")

    @admin.action(description="Retry parked…", permissions=("retry",))
    def retry_parked(self, request: HttpRequest, batches: QuerySet[Batch]) -> HttpResponse | None:
        """Say which are parked, then have them read again."""
        chosen = self.chosen(request, batches.filter(status=Batch.Status.PARKED))
        if chosen is None:
            return None
        if chosen and "confirmed" not in request.POST:
            tokens = counted(sum(batch.tokens for batch in chosen), "token")
            says = (f"Each is read again as it is, {tokens} in all, and parked again if it fails as often as before.",)
            return self.ask(request, "retry_parked", "Retry parked batches", chosen, says)
        if chosen and (retried := services.retry_parked(batch.pk for batch in chosen)):
            self.note(request, chosen, "Retried.")
            self.message_user(request, f"{retried} parked batch(es) will be read again.", messages.SUCCESS)
        else:
            self.message_user(request, "None of these batches is parked.", messages.INFO)
        return None

    @admin.action(description="Split and retry…", permissions=("retry",))
    def split_parked(self, request: HttpRequest, batches: QuerySet[Batch]) -> HttpResponse | None:
        """Say which are parked, then put two smaller ones in the place of each."""
        chosen = self.chosen(request, batches.filter(status=Batch.Status.PARKED))
        if chosen is None:
            return None
        if chosen and "confirmed" not in request.POST:
            says = (
                "Two smaller ones take the place of each and are read again; one with a single message stays as it is.",
            )
            return self.ask(request, "split_parked", "Split and retry parked batches", chosen, says)
        if chosen and (made := services.split_parked(batch.pk for batch in chosen)):
            self.note(request, chosen, "Split and retried, where it had more than one message.")
            self.message_user(request, f"{made} parked batch(es) will be read as two smaller ones.", messages.SUCCESS)
        else:
            self.message_user(request, "None of these batches is parked with more than one message.", messages.INFO)
        return None


@admin.register(BatchMessage)
class BatchMessageAdmin(ReadOnlyAdmin):
    list_display = ("message_id", "position", "tokens", "fingerprint", "batch")
    list_select_related = ("batch",)
    search_fields = ("=batch__id", "=message_id", "=fingerprint")
    ordering = ("-pk",)

    def view_on_site(self, message: BatchMessage) -> str:
        return reverse("batch", args=[message.batch_id])


@admin.register(ReferenceEnvironment)
class ReferenceEnvironmentAdmin(ReadOnlyAdmin):
    list_display = ("batch", "content_hash", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("batch",)
    search_fields = ("=batch__id", "=content_hash")
    ordering = ("-created_at",)

    def view_on_site(self, environment: ReferenceEnvironment) -> str:
        return reverse("batch", args=[environment.batch_id])

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReferenceEnvironment]:
        # A list must not load every snapshot; a single one fetches its content when it is shown.
        return super().get_queryset(request).defer("content")


@admin.register(WorkerConversation)
class WorkerConversationAdmin(ReadOnlyAdmin):
    list_display = ("batch", "attempt", "worker_version", "usage", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("batch",)
    search_fields = ("=batch__id", "worker_version")
    ordering = ("-created_at", "-pk")

    def view_on_site(self, conversation: WorkerConversation) -> str:
        return reverse("batch", args=[conversation.batch_id])

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerConversation]:
        return super().get_queryset(request).defer("entries")


@admin.register(Candidate)
class CandidateAdmin(ReviewActions):
    list_display = ("claim", "standing_word", "kind", "understanding", "batch", "created_at")
    list_filter = (StandingFilter, MarksFilter, "kind", "understanding")
    list_select_related = ("batch",)
    search_fields = ("claim", "=content_hash")
    ordering = ("-created_at", "id")

    def view_on_site(self, candidate: Candidate) -> str:
        return reverse("batch", args=[candidate.batch_id])


@admin.register(Resolution)
class ResolutionAdmin(ReadOnlyAdmin):
    list_display = ("candidate", "outcome", "proposition", "actor", "created_at")
    list_filter = ("outcome", "created_at")
    list_select_related = ("candidate", "proposition")
    search_fields = ("candidate__claim", "proposition__text", "actor")
    ordering = ("-created_at", "id")

    def view_on_site(self, resolution: Resolution) -> str:
        return reverse("batch", args=[resolution.candidate.batch_id])


class SourceInline(admin.TabularInline):
    model = DocumentSource
    fk_name = "document"
    fields = ("path", "replaces", "modified_at", "seen_at")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ("filename", "mime", "size_bytes", "primary", "learner", "page", "added_at")
    list_filter = ("mime", ("primary", admin.EmptyFieldListFilter), "added_at")
    list_select_related = ("primary", "learner")
    search_fields = ("filename", "=file_id", "sources__path")
    inlines = (SourceInline,)

    def view_on_site(self, document: Document) -> str:
        return reverse("document", args=[document.pk])

    @admin.display(description="dashboard")
    def page(self, document: Document) -> SafeString:
        return page_link("document", document.pk, "open")


@admin.register(DocumentSource)
class DocumentSourceAdmin(ReadOnlyAdmin):
    list_display = ("path", "document", "replaces", "seen_at")
    list_filter = ("seen_at",)
    list_select_related = ("document", "replaces")
    search_fields = ("path", "=document__file_id")
    ordering = ("-seen_at", "-pk")

    def view_on_site(self, source: DocumentSource) -> str:
        return reverse("document", args=[source.document_id])


@admin.register(ExtractionVersion)
class ExtractionVersionAdmin(ReadOnlyAdmin):
    list_display = ("id", "document", "in_force", "extractor", "status", "text_chars", "created_at")
    list_filter = ("status", "extractor", "created_at")
    list_select_related = ("document",)
    search_fields = ("=id", "document__filename", "=text_sha256")
    actions = ("promote_to_primary",)

    def has_promote_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("extraction.add_promotion")

    def view_on_site(self, version: ExtractionVersion) -> str:
        return f"{reverse('document', args=[version.document_id])}?tab=extractions"

    @admin.display(description="in force")
    def in_force(self, version: ExtractionVersion) -> str:
        return "primary" if version.document.primary_id == version.pk else ""

    @admin.action(description="Promote to primary…", permissions=("promote",))
    def promote_to_primary(self, request: HttpRequest, versions: QuerySet[ExtractionVersion]) -> HttpResponse | None:
        """Ask first, naming the effect; then move the pointer if the primary is still the one that was shown."""
        chosen = list(versions.select_related("document__primary")[:2])
        if len(chosen) != 1:
            self.message_user(request, "Choose exactly one version to promote.", messages.ERROR)
            return None
        version = chosen[0]
        if version.status != ExtractionVersion.Status.SUCCEEDED:
            self.message_user(request, f"Version {version.pk} failed and has no text to promote.", messages.ERROR)
        elif version.document.primary_id == version.pk:
            self.message_user(request, f"Version {version.pk} is the primary already.", messages.INFO)
        elif "confirmed" not in request.POST:
            return TemplateResponse(request, "admin/promote_confirm.html", self._confirmation(request, version))
        else:
            self._promote(request, version)
        return None

    def _confirmation(self, request: HttpRequest, version: ExtractionVersion) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": "Promote to primary",
            "opts": self.model._meta,
            "version": version,
            "document": version.document,
            **self.consequences(version),
            "action_checkbox_name": admin.helpers.ACTION_CHECKBOX_NAME,
        }

    def consequences(self, version: ExtractionVersion) -> dict[str, Any]:
        """What higher apps know of the move: ``stale_outputs`` and ``current_again``, numbers of outputs."""
        return {}

    def _promote(self, request: HttpRequest, version: ExtractionVersion) -> None:
        try:
            promote(
                version.document_id,
                version.pk,
                actor=request.user.get_username(),
                reason=request.POST.get("reason", "")[:500],
                expected_primary=request.POST.get("expected_primary") or None,
            )
        except DocumentError as error:
            self.message_user(request, f"Nothing was changed: {error}.", messages.ERROR)
        else:
            self.note(request, [version], "Promoted to primary.")
            self.message_user(request, f"Version {version.pk} is in force now.", messages.SUCCESS)


@admin.register(Promotion)
class PromotionAdmin(ReadOnlyAdmin):
    # By id: retention may have removed the versions since.
    list_display = ("document", "before_id", "after_id", "takes_back_id", "actor", "reason", "created_at")
    list_select_related = ("document",)
    search_fields = ("document__filename", "=document__file_id", "actor", "reason")
    date_hierarchy = "created_at"

    def view_on_site(self, promotion: Promotion) -> str:
        return f"{reverse('document', args=[promotion.document_id])}?tab=extractions"


@admin.register(Removal)
class RemovalAdmin(ReadOnlyAdmin):
    list_display = ("what", "filename", "file_id", "actor", "reason", "created_at")
    list_filter = ("what",)
    search_fields = ("file_id", "filename", "actor", "reason")
    date_hierarchy = "created_at"
