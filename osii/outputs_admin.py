"""Django admin of outputs, which only the product writes, and of which method each kind of output is made by."""

from typing import Any

from django import forms
from django.contrib import admin
from django.urls import reverse
from django.utils.safestring import SafeString

from coverage.admin_base import ListAdmin, ReadOnlyAdmin, page_link

from .library import methods
from .library.base import MethodRefused
from .library.models import Chunk, Output, OutputSetting


@admin.register(Output)
class OutputAdmin(ReadOnlyAdmin):
    list_display = (
        "kind",
        "method",
        "method_version",
        "status",
        "reason",
        "page",
        "source_extraction_id",
        "created_at",
    )
    list_filter = ("kind", "status", "method", "created_at")
    list_select_related = ("document",)
    search_fields = ("=id", "=document__file_id", "=source_extraction__id", "error")

    def view_on_site(self, output: Output) -> str:
        return f"{reverse('document', args=[output.document_id])}?tab=outputs"

    @admin.display(description="document")
    def page(self, row: Output) -> SafeString:
        return page_link("document", row.document_id, row.document.filename)


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    list_display = ("chunk_id", "char_start", "char_end", "language", "source_extraction_id")
    list_filter = ("language",)
    search_fields = ("=chunk_id", "=document__file_id", "=output__id")

    def view_on_site(self, chunk: Chunk) -> str:
        return reverse("document", args=[chunk.document_id])


class OutputSettingForm(forms.ModelForm):
    class Meta:
        model = OutputSetting
        fields = ("kind", "method", "options", "chosen")

    def clean(self) -> dict[str, Any]:
        """The method exists and takes these options."""
        data = super().clean()
        if "kind" not in data or "method" not in data:
            return data
        try:
            found = methods.find(data["kind"], data["method"])
        except MethodRefused as refused:
            self.add_error("method", str(refused))
            return data
        options = data.get("options") or {}
        if not isinstance(options, dict):
            self.add_error("options", 'Give an object of options, such as {"chunk_size": 800}.')
            return data
        try:
            found.resolve(options)
        except MethodRefused as refused:
            self.add_error("options", str(refused))
        return data


@admin.register(OutputSetting)
class OutputSettingAdmin(ListAdmin):
    """Another method or other options make what was made before stale; nothing is made again until it is asked for."""

    form = OutputSettingForm
    list_display = ("kind", "method", "options", "chosen")
    list_filter = ("kind", "chosen")
    search_fields = ("method",)
