"""What the admin of every app builds on: lists that do not count big tables, read-only rows, and actions that ask first."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.paginator import Paginator
from django.db import DataError, connections
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from .words import counted

MOST_COUNTED = 10_000
"""Rows that a list counts; further ones cost a scan of the table for a figure that nobody reads."""

MOST_CHOSEN = 500
"""Rows of one action: each is a field of the form that asks for confirmation."""

ROWS_NAMED = 20


class EstimatingPaginator(Paginator):
    """Counts up to MOST_COUNTED rows. A whole table beyond that is as long as PostgreSQL estimates; of a longer selection
    the first MOST_COUNTED rows can be paged through, and a narrower filter finds the rest.
    """

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        # Keys alone: an annotation of the list would be worked out for each row that is counted.
        found = rows.order_by().values("pk")[: MOST_COUNTED + 1].count()
        if found <= MOST_COUNTED:
            return found
        return MOST_COUNTED if rows.query.where else max(found, self._estimated())

    def _estimated(self) -> int:
        with connections[self.object_list.db].cursor() as cursor:
            table = connections[self.object_list.db].ops.quote_name(self.object_list.model._meta.db_table)
            cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [table])
            return cursor.fetchone()[0]


class ListAdmin(admin.ModelAdmin):
    """A list that stays quick however long the table is, and the page on which an action asks before it acts."""

    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the table
    paginator = EstimatingPaginator

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """A value that the database cannot be asked for (a NUL, a year of thirty digits) is answered as Django answers every
        other wrong filter of an address: by the list without it.
        """
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, OverflowError):
            return redirect(f"{request.path}?{ERROR_FLAG}=1")

    def chosen(self, request: HttpRequest, rows: QuerySet, *, most: int = MOST_CHOSEN) -> list[Any] | None:
        """The rows that an action is for. None, and the reason is said, when there are more than ``most``."""
        found = list(rows.order_by("pk")[: most + 1])
        if len(found) > most:
            self.message_user(
                request, f"Choose at most {most} {self.opts.verbose_name_plural} at a time.", messages.ERROR
            )
            return None
        return found

    def ask(
        self, request: HttpRequest, action: str, title: str, rows: Sequence[Model], says: Iterable[str], **more: Any
    ) -> TemplateResponse:
        """The page that names the rows and, line by line, what will become of them. Confirmed, it posts the action again with
        ``confirmed``. ``more`` goes to the template: ``reason=True`` asks for one, ``hidden`` holds further fields.
        """
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "action": action,
            "rows": rows,
            "named": rows[:ROWS_NAMED],
            "unnamed": len(rows[ROWS_NAMED:]),
            "chosen": counted(len(rows), str(self.opts.verbose_name)),
            "says": list(says),
            "action_checkbox_name": admin.helpers.ACTION_CHECKBOX_NAME,
            **more,
        }
        return TemplateResponse(request, "admin/action_confirm.html", context)

    def note(self, request: HttpRequest, rows: Iterable[Model], text: str) -> None:
        """Put what an action did to rows into their history."""
        LogEntry.objects.log_actions(request.user.pk, list(rows), CHANGE, text)


class ReadOnlyAdmin(ListAdmin):
    """Rows that only the product writes: staff with the view permission look at them, nobody edits them here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


def page_link(name: str, key: object, text: str) -> SafeString:
    """A link to a page of the dashboard."""
    return format_html('<a href="{}">{}</a>', reverse(name, args=[key]), text)
