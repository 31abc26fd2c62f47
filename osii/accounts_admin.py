"""Django admin of accounts: whoever is added there may log in, and is put into groups at once."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Field, QuerySet
from django.forms import Field as FormField
from django.forms import ModelForm
from django.http import HttpRequest

HELPS = {
    "is_staff": "Whether the account can log in, to the dashboard and to this admin. What it may do there, its groups say.",
    "groups": "viewer sees, reviewer decides, librarian adds and runs, administrator removes and sets up: each may what the "
    "one before it may. An account in none sees no page.",
}

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Learners have no accounts, so each account made here is one of staff."""

    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "usable_password", "password1", "password2", "groups")}),
    )
    list_display = ("username", "in_groups", "is_active", "is_staff", "is_superuser", "last_login")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="groups")
    def in_groups(self, account: User) -> str:
        return ", ".join(sorted(group.name for group in account.groups.all()))

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> FormField | None:
        shown = super().formfield_for_dbfield(db_field, request, **kwargs)
        if shown is not None and db_field.name in HELPS:
            shown.help_text = HELPS[db_field.name]
        return shown

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:  # noqa: FBT001 - Django's
        if not change:
            obj.is_staff = True
        super().save_model(request, obj, form, change)
