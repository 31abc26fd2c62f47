"""Django admin of learners, chats, messages and the ledger. What the product writes is shown, not edited."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from .admin_base import ListAdmin, ReadOnlyAdmin, page_link
from .models import Chat, ChatSummary, CoverageEntry, Learner, Message


class LearnerAdmin(ListAdmin):
    """A learner is named here; ``extraction.admin.review`` registers it and adds the review mode.

    Deleting a learner would delete their graph: that is not a click in a list.
    """

    list_display = ("name", "chats", "graph_revision", "created_at")
    search_fields = ("name",)
    readonly_fields = ("id", "graph_revision", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Learner | None = None) -> Any:
        """None while a learner is added: the database sets them with the row."""
        return super().get_readonly_fields(request, obj) if obj else ()

    def get_fields(self, request: HttpRequest, obj: Learner | None = None) -> Any:
        return super().get_fields(request, obj) if obj else ("name",)

    def view_on_site(self, learner: Learner) -> str:
        return f"{reverse('chats')}?learner={learner.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Learner]:
        return super().get_queryset(request).annotate(chat_count=Count("chats"))

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @admin.display(ordering="chat_count")
    def chats(self, learner: Learner) -> SafeString:
        return format_html('<a href="{}?learner={}">{}</a>', reverse("chats"), learner.pk, learner.chat_count)


class ChatAdmin(ListAdmin):
    """Registered by ``extraction.admin``, which adds the actions of its services."""

    list_display = ("__str__", "learner", "source", "page", "started_at", "updated_at")
    list_filter = ("source", ("learner", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("learner",)
    search_fields = ("title", "external_id", "learner__name")
    date_hierarchy = "updated_at"
    # The title is a label; everything else is what a client or an import said.
    fields = (
        "id", "title", "learner", "source", "external_id", "graph_context_tokens", "settings",
        "started_at", "finished_at", "created_at", "updated_at",
    )  # fmt: skip
    readonly_fields = tuple(name for name in fields if name != "title")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def view_on_site(self, chat: Chat) -> str:
        return reverse("chat", args=[chat.pk])

    @admin.display(description="dashboard")
    def page(self, chat: Chat) -> SafeString:
        return page_link("chat", chat.pk, "open")


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("message_id", "chat", "position", "role", "tokens", "streaming", "said_at", "changed_at")
    list_filter = ("role", "streaming", ("position", admin.EmptyFieldListFilter))
    list_select_related = ("chat",)
    search_fields = ("=message_id", "=fingerprint", "chat__title")
    ordering = ("-pk",)

    def view_on_site(self, message: Message) -> str:
        return reverse("chat", args=[message.chat_id])


@admin.register(CoverageEntry)
class CoverageEntryAdmin(ReadOnlyAdmin):
    list_display = ("fingerprint", "kind", "tokens", "chat", "folded_at", "read_by")
    list_filter = ("kind", "folded_at")
    list_select_related = ("chat",)
    search_fields = ("=fingerprint", "=batch", "chat__title")
    ordering = ("-pk",)

    def view_on_site(self, entry: CoverageEntry) -> str:
        return reverse("chat", args=[entry.chat_id])

    @admin.display(description="batch")
    def read_by(self, entry: CoverageEntry) -> SafeString | str:
        return page_link("batch", entry.batch, str(entry.batch)) if entry.batch else "–"


@admin.register(ChatSummary)
class ChatSummaryAdmin(ReadOnlyAdmin):
    """The memos of the chats list, for whoever wonders why a figure is as it is."""

    list_display = ("chat", "fresh", "message_count", "tokens", "covered_tokens", "uncovered_tokens", "last_said_at")
    list_filter = ("fresh",)
    list_select_related = ("chat",)
    search_fields = ("=chat__id", "chat__title")
    ordering = ("-pk",)

    def view_on_site(self, summary: ChatSummary) -> str:
        return reverse("chat", args=[summary.chat_id])
