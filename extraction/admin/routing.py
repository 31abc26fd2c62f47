"""Django admin of the table that says which extractor reads which files."""

from django import forms
from django.contrib import admin
from django.db.models import Field
from django.http import HttpRequest

from coverage.admin_base import ListAdmin

from ..documents.extractors import registry
from ..models import ExtractorRule


@admin.register(ExtractorRule)
class ExtractorRuleAdmin(ListAdmin):
    """The rows in the order in which they are tried; order and switch are set in the list itself."""

    list_display = ("__str__", "order", "media_type", "name_pattern", "extractor", "enabled", "readiness")
    list_editable = ("order", "enabled")
    list_filter = ("enabled", "extractor")
    search_fields = ("media_type", "name_pattern", "extractor")
    fields = ("order", "media_type", "name_pattern", "extractor", "options", "enabled", "settings")
    readonly_fields = ("settings",)
    list_per_page = 100

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: object) -> forms.Field | None:
        if db_field.name == "extractor":
            choices = [(name, f"{name} ({extractor.label})") for name, extractor in registry.extractors().items()]
            return forms.ChoiceField(choices=choices, help_text="extractors are added by installing packages")
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description="ready")
    def readiness(self, rule: ExtractorRule) -> str:
        extractor = registry.extractors().get(rule.extractor)
        if extractor is None:
            return "not installed: the row is passed over"
        lack = extractor.ready()
        return f"passed over: {lack}" if lack else "ready"

    @admin.display(description="settings it takes")
    def settings(self, rule: ExtractorRule) -> str:
        extractor = registry.extractors().get(rule.extractor)
        options = extractor.options.items() if extractor is not None else ()
        return "; ".join(f"{name} = {option.default!r}: {option.help}" for name, option in options) or "none"
