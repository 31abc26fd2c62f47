"""Django admin of the records of care: to be read only, by whoever has the view permission."""

import json

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.utils.text import Truncator

from coverage.admin_base import ReadOnlyAdmin

from .models import Erasure, StaffAction

SHOWN_CHARACTERS = 160


@admin.register(StaffAction)
class StaffActionAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "username", "action", "on", "status", "address")
    list_filter = ("action", "created_at")
    search_fields = ("username", "action", "about")

    @admin.display(description="about")
    def on(self, row: StaffAction) -> str:
        """An action on many rows names them all on its own page."""
        return Truncator(json.dumps(row.about, ensure_ascii=False)).chars(SHOWN_CHARACTERS)


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "learner", "counts", "actor")
    search_fields = ("=learner", "actor")
    date_hierarchy = "created_at"


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyAdmin):
    """What was done in the admin, by whom: of one row it is that row's history, here it is all."""

    list_display = ("action_time", "user", "content_type", "object_repr", "action_flag", "said")
    list_filter = ("action_flag", "action_time", ("user", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "=object_id", "=user__username", "change_message")
    ordering = ("-action_time", "-pk")

    @admin.display(description="what")
    def said(self, entry: LogEntry) -> str:
        return entry.get_change_message()
