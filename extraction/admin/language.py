"""Django admin of language models and of what their use cost.

An address decides where chats and a key are sent: it is a superuser's to set. The key itself has no field anywhere.
"""

import os

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from coverage.admin_base import ListAdmin, ReadOnlyAdmin

from ..models import LanguageModel, ModelUse

CONNECTION = ("provider", "base_url", "key_variable")
"""What only superusers set. The provider is one: without an address it decides where requests go."""


@admin.register(LanguageModel)
class LanguageModelAdmin(ListAdmin):
    """Models that runs may name. Staff with the permission change limits, prices and the default."""

    list_display = (
        "name",
        "model",
        "provider",
        "address",
        "key",
        "default",
        "price_input",
        "price_output",
        "updated_at",
    )
    list_filter = ("provider", "default")
    search_fields = ("name", "model")
    readonly_fields = ("key",)
    fieldsets = (
        (None, {"fields": ("name", "model", "default")}),
        (
            "Where it is",
            {
                "fields": (*CONNECTION, "key"),
                "description": "Only superusers change this. Addresses of this machine and of private networks are allowed; "
                "addresses of the link and of cloud metadata services are refused.",
            },
        ),
        (
            "Limits",
            {"fields": ("timeout_seconds", "max_requests", "max_tool_calls", "max_tokens", "batch_seconds")},
        ),
        ("Prices", {"fields": ("price_input", "price_output", "price_cache_read", "price_cache_write")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def get_actions(self, request: HttpRequest) -> dict:
        """Deleting is done one by one."""
        return {}

    def get_readonly_fields(self, request: HttpRequest, obj: LanguageModel | None = None) -> tuple[str, ...]:
        return self.readonly_fields if request.user.is_superuser else (*self.readonly_fields, *CONNECTION)

    @admin.display(description="address")
    def address(self, model: LanguageModel) -> str:
        return model.base_url or "the provider's own"

    @admin.display(description="key")
    def key(self, model: LanguageModel) -> str:
        """Whether there is one, as this process sees it; never what it is."""
        if not model.key_variable:
            return "none"
        found = "is set" if os.environ.get(model.key_variable, "").strip() else "is not set"
        return f"{model.key_variable} {found}"


@admin.register(ModelUse)
class ModelUseAdmin(ReadOnlyAdmin):
    list_display = ("agent", "named", "batch", "attempt", "usage", "cost", "created_at")
    list_filter = ("agent", "created_at")
    list_select_related = ("batch",)
    search_fields = ("=batch__id", "=run")
    ordering = ("-created_at", "id")

    def view_on_site(self, use: ModelUse) -> str:
        return reverse("batch", args=[use.batch_id])

    @admin.display(description="model")
    def named(self, use: ModelUse) -> str:
        return f"{use.model.get('name', '')} ({use.model.get('model', '')})"
