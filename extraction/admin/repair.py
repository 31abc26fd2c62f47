"""Admin actions that repair chats: reset coverage, purge knowledge. Each asks first and names the numbers."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from coverage.admin_base import ListAdmin
from coverage.models import Chat
from coverage.words import counted

from ..repair import (
    COVERAGE_CHOICES,
    RESET,
    BeingRead,
    Scope,
    preview_purge,
    preview_reread,
    purge_chat,
    request_reread,
)

MOST_CHATS = 100
"""One confirmation names each chat's numbers, so it does not name thousands."""

RELEASE, PURGE = "coverage.add_coverageentry", "graphctx.delete_instance"


class RepairActions(ListAdmin):
    """Mixed into the admin of chats."""

    actions = ("reset_coverage", "purge_knowledge")

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(RELEASE)

    def has_purge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PURGE)

    @admin.action(description="Reset coverage…", permissions=("release",))
    def reset_coverage(self, request: HttpRequest, chats: QuerySet[Chat]) -> HttpResponse | None:
        """Have whole chats read again."""
        chosen = self.chosen(request, chats.select_related("learner"), most=MOST_CHATS)
        if not chosen:
            return None
        if "confirmed" not in request.POST:
            effects = _effects(chosen, lambda chat: {"reread": preview_reread(chat.pk, Scope())})
            return self._ask(request, "reset_coverage", "Reset coverage", effects)
        read = sum(request_reread(chat.pk, Scope()).messages for chat in chosen)
        self.note(request, chosen, "Coverage reset.")
        self.message_user(
            request,
            f"Coverage of {counted(len(chosen), 'chat')} is reset: {counted(read, 'message')} will be read again.",
            messages.SUCCESS,
        )
        return None

    @admin.action(description="Purge knowledge…", permissions=("purge",))
    def purge_knowledge(self, request: HttpRequest, chats: QuerySet[Chat]) -> HttpResponse | None:
        """Remove what was learned from chats; whether coverage is kept or reset is asked."""
        chosen = self.chosen(request, chats.select_related("learner"), most=MOST_CHATS)
        if not chosen:
            return None
        coverage = request.POST.get("coverage", "")
        allowed = coverage in COVERAGE_CHOICES and (coverage != RESET or self.has_release_permission(request))
        if "confirmed" not in request.POST or not allowed:
            effects = _effects(chosen, lambda chat: {"purge": preview_purge(chat.pk)})
            return self._ask(request, "purge_knowledge", "Purge knowledge", effects)
        self._purge(request, chosen, coverage)
        return None

    def _purge(self, request: HttpRequest, chosen: Sequence[Chat], coverage: str) -> None:
        evidence = propositions = 0
        purged: list[Chat] = []
        for chat in chosen:
            try:
                effect = purge_chat(chat.pk, coverage)
            except BeingRead as error:
                self.message_user(request, f"{chat}: nothing was removed; {error}.", messages.ERROR)
                continue
            purged.append(chat)
            evidence += effect.instances
            propositions += effect.fate.removed
        self.note(request, purged, f"Knowledge purged, coverage {'reset' if coverage == RESET else 'kept'}.")
        if purged:
            self.message_user(
                request,
                f"Purged {counted(len(purged), 'chat')}: {counted(evidence, 'piece')} of evidence and {counted(propositions, 'proposition')} removed; "
                f"coverage is {'reset' if coverage == RESET else 'kept'}.",
                messages.SUCCESS,
            )

    def _ask(self, request: HttpRequest, action: str, title: str, effects: list[dict[str, Any]]) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.model._meta,
            "action": action,
            "effects": effects,
            "may_reset": self.has_release_permission(request),
            "unchosen": "confirmed" in request.POST,
            "action_checkbox_name": admin.helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/repair_confirm.html", context)


def _effects(chosen: Sequence[Chat], of: Callable[[Chat], dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"chat": chat, **of(chat)} for chat in chosen]
