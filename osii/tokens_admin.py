"""Django admin of API tokens: made here and shown once, then only looked at and revoked."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from coverage.admin_base import ListAdmin
from coverage.words import counted

from . import tokens
from .models import ApiToken

SHOWN = (
    "prefix",
    "name",
    "learner",
    "staff",
    "account",
    "created_at",
    "created_by",
    "expires_at",
    "last_used_at",
    "revoked_at",
)


class ApiTokenForm(forms.ModelForm):
    """Whose data it opens, and for how long."""

    days = forms.IntegerField(
        label="Valid for (days)",
        initial=tokens.DEFAULT_DAYS,
        min_value=0,
        max_value=tokens.MAX_DAYS,
        help_text="0 means that it does not expire.",
    )

    class Meta:
        model = ApiToken
        fields = ("name", "learner", "staff")

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if not self.errors and not given["learner"] and not given["staff"]:
            self.add_error("learner", "Choose a learner or staff.")
        return given


@admin.register(ApiToken)
class ApiTokenAdmin(ListAdmin):
    form = ApiTokenForm
    list_display = ("prefix", "name", "scope", "valid", "created_at", "expires_at", "last_used_at")
    list_filter = ("staff", ("learner", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("learner", "account")
    search_fields = ("prefix", "name", "learner__name")
    autocomplete_fields = ("learner",)
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> tuple[str, ...]:
        return SHOWN if obj else ("name", "learner", "staff", "days")

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("osii.change_apitoken")

    def save_model(self, request: HttpRequest, obj: ApiToken, form: ModelForm, change: bool) -> None:  # noqa: FBT001 - Django's signature
        obj.created_by = request.user
        obj.account = request.user if obj.staff else None
        # For the one page that shows it; neither a message nor a session may keep it.
        request.issued_token = tokens.seal(obj, form.cleaned_data["days"])
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": "Token made",
            "row": obj,
            "token": request.issued_token,
            "opts": self.opts,
        }
        response = TemplateResponse(request, "admin/osii/apitoken/issued.html", context)
        add_never_cache_headers(response)
        return response

    @admin.display(description="opens", ordering="learner__name")
    def scope(self, token: ApiToken) -> str:
        return token.scope

    @admin.display(boolean=True)
    def valid(self, token: ApiToken) -> bool:
        return not token.refusal()

    @admin.action(description="Revoke…", permissions=("revoke",))
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> HttpResponse | None:
        """Say that it is for good, then revoke."""
        chosen = self.chosen(request, rows.filter(revoked_at=None))
        if chosen is None:
            return None
        if chosen and "confirmed" not in request.POST:
            says = ("Whoever uses one is refused from now on. This cannot be undone: make another token instead.",)
            return self.ask(request, "revoke", "Revoke tokens", chosen, says)
        revoked = [token for token in chosen if tokens.revoke(token)]
        self.note(request, revoked, "Revoked.")
        count = len(revoked)
        text = f"{counted(count, 'token')} revoked." if count else "Nothing to revoke: they were already."
        self.message_user(request, text, messages.SUCCESS if count else messages.INFO)
        return None
