"""Django admin of imports: rows that only the product writes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.urls import reverse
from django.utils.safestring import SafeString

from coverage.admin_base import ReadOnlyAdmin, page_link

from .models import ChatImport, ImportedChat

if TYPE_CHECKING:
    from django.contrib.admin.filters import _ListFilterChoices


@admin.register(ChatImport)
class ChatImportAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "status", "dry_run", "learner", "problem_count", "page", "created_by", "created_at")
    list_filter = ("status", "dry_run", "created_at")
    list_select_related = ("created_by",)
    search_fields = ("=id", "learner", "error")
    date_hierarchy = "created_at"

    def view_on_site(self, row: ChatImport) -> str:
        return reverse("import", args=[row.pk])

    @admin.display(description="dashboard")
    def page(self, row: ChatImport) -> SafeString:
        return page_link("import", row.pk, "open")


class NamedValues(admin.AllValuesFieldListFilter):
    """The empty value has a word too: a link without one cannot be read out, nor well be clicked."""

    def choices(self, changelist: ChangeList) -> "Iterator[_ListFilterChoices]":
        for choice in super().choices(changelist):
            choice["display"] = choice["display"] or "none"
            yield choice


@admin.register(ImportedChat)
class ImportedChatAdmin(ReadOnlyAdmin):
    list_display = ("title", "state", "kind", "format", "learner", "added", "changed", "unchanged", "file", "position")
    list_filter = ("state", "kind", ("format", NamedValues))
    search_fields = ("=chat_import__id", "=chat__id", "title", "learner")
    ordering = ("-chat_import", "number")

    def view_on_site(self, row: ImportedChat) -> str:
        return reverse("import", args=[row.chat_import_id])
