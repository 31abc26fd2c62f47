"""Django admin of collections, and of processing runs, the plans they were made by, their items and steps: rows that only
the product writes.
"""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from coverage.admin_base import ReadOnlyAdmin, page_link

from .library.run_models import Collection, ProcessingItem, ProcessingRun, ProcessingStep

COUNTS = ("eligible", "stale", "current", "blocked")


@admin.register(ProcessingRun)
class ProcessingRunAdmin(ReadOnlyAdmin):
    list_display = (
        "__str__", "workflow", "status", "eligible", "blocked", "actor", "page", "items", "created_at", "finished_at",
    )  # fmt: skip
    list_filter = ("status", "workflow", "created_at")
    search_fields = ("=id", "actor", "error")
    date_hierarchy = "created_at"
    fields = (
        "id", "workflow", "status", "page", "items", "actor", "learner", "planned", "error", "request", "operations",
        "submission", "created_at", "queued_at", "started_at", "finished_at", "cancel_requested_at",
        "acknowledged_at", "acknowledged_by",
    )  # fmt: skip
    readonly_fields = ("page", "items", "planned")

    def view_on_site(self, run: ProcessingRun) -> str:
        return reverse("processing", args=[run.pk])

    @admin.display(description="dashboard")
    def page(self, run: ProcessingRun) -> SafeString:
        return page_link("processing", run.pk, "open")

    @admin.display(description="items")
    def items(self, run: ProcessingRun) -> SafeString:
        url = reverse("admin:osii_processingitem_changelist")
        return format_html('<a href="{}?run__id__exact={}">list</a>', url, run.pk)

    @admin.display(description="eligible in its plan")
    def eligible(self, run: ProcessingRun) -> int | None:
        return _plan(run).get("eligible_count")

    @admin.display(description="blocked in its plan")
    def blocked(self, run: ProcessingRun) -> int | None:
        return _plan(run).get("blocked_count")

    @admin.display(description="plan, as it was")
    def planned(self, run: ProcessingRun) -> SafeString:
        """One row per step, as the plan counted when the run was made; a run made without one has none."""
        if not _plan(run).get("steps"):
            return SafeString("–")
        rows = format_html_join(
            "",
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            (
                (step.get("label", step.get("id", "")), *(step.get(f"{name}_count", "") for name in COUNTS))
                for step in _plan(run).get("steps", [])
            ),
        )
        heads = format_html_join("", "<th>{}</th>", ((name,) for name in ("step", *COUNTS)))
        return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", heads, rows)


def _plan(run: ProcessingRun) -> dict:
    return run.plan.get("processing_plan", {}) if isinstance(run.plan, dict) else {}


@admin.register(ProcessingItem)
class ProcessingItemAdmin(ReadOnlyAdmin):
    list_display = ("named", "status", "steps", "error", "attempt", "recoveries", "held_by", "page", "finished_at")
    list_filter = ("status", "run__workflow", "run__status")
    list_select_related = ("document",)
    search_fields = ("=run__id", "=document__file_id", "document__filename", "path", "error")
    ordering = ("-pk",)
    exclude = ("attempt_token",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProcessingItem]:
        return super().get_queryset(request).defer("blocked")

    def view_on_site(self, item: ProcessingItem) -> str:
        return reverse("processing", args=[item.run_id])

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup == "run__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="document")
    def named(self, item: ProcessingItem) -> str:
        return item.document.filename if item.document else item.path

    @admin.display(description="run")
    def page(self, item: ProcessingItem) -> SafeString:
        return page_link("processing", item.run_id, "open")


@admin.register(ProcessingStep)
class ProcessingStepAdmin(ReadOnlyAdmin):
    list_display = ("step", "status", "document", "error", "attempt", "began_at", "finished_at")
    list_filter = ("step", "status")
    list_select_related = ("item__document",)
    search_fields = ("=item__run__id", "=item__document__file_id", "=extraction__id", "error")
    ordering = ("-pk",)

    def view_on_site(self, step: ProcessingStep) -> str:
        return reverse("processing", args=[step.item.run_id])

    @admin.display(description="document")
    def document(self, step: ProcessingStep) -> SafeString | str:
        item = step.item
        return page_link("document", item.document_id, item.document.filename) if item.document else item.path


@admin.register(Collection)
class CollectionAdmin(ReadOnlyAdmin):
    """Made, filled and deleted in the dashboard."""

    list_display = ("name", "page", "created_by", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("created_by",)
    search_fields = ("=id", "name")

    def view_on_site(self, collection: Collection) -> str:
        return f"{reverse('documents')}?collection={collection.pk}"

    @admin.display(description="documents")
    def page(self, collection: Collection) -> SafeString:
        return format_html('<a href="{}">list</a>', self.view_on_site(collection))
