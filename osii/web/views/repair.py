"""Reading a chat again and purging what was learned from it. Each is a page that names the numbers, and then asks."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from coverage.words import counted
from extraction.repair import RESET, Purge, Reread, preview_purge, preview_reread, purge_chat, request_reread
from osii.permissions import SEE_CHATS, Needs
from osii.web.access import PageRequest, get_chat, staff_action
from osii.web.forms import PurgeForm, RereadForm

RELEASE = "coverage.add_coverageentry"
"""Releases are lines of the ledger: who may have something read again may add one."""

PURGE = "graphctx.delete_instance"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(RELEASE, SEE_CHATS)
def chat_reread(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """What would be read again of the positions ``first`` to ``last``, or of the whole chat; a POST releases it."""
    row = get_chat(chat_id)
    form = RereadForm(request.POST if request.method == "POST" else request.GET)
    effect, error = None, ""
    if form.is_valid():
        try:
            if request.method == "POST":
                _say_reread(request, request_reread(row.pk, form.scope()))
                return redirect("chat", chat_id=chat_id)
            effect = preview_reread(row.pk, form.scope())
        except ValueError as problem:
            error = str(problem)
    context = {"chat": row, "form": form, "effect": effect, "error": error}
    return render(request, "chats/reread_page.html", context, status=400 if request.method == "POST" else 200)


def _say_reread(request: PageRequest, effect: Reread) -> None:
    if effect.releases:
        messages.success(
            request,
            f"{counted(effect.messages, 'message')}, {effect.tokens:,} tokens, will be read again by the next run.",
        )
    else:
        messages.info(request, "Nothing was released: none of these messages is covered.")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_action(PURGE, SEE_CHATS)
def chat_purge(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """What a purge would remove; a POST with a choice for coverage removes it."""
    row = get_chat(chat_id)
    error = ""
    if request.method == "POST":
        form = PurgeForm(request.POST)
        if not form.is_valid():
            error = "Choose what becomes of coverage."
        else:
            coverage = form.cleaned_data["coverage"]
            if coverage == RESET:
                Needs((RELEASE,)).require(request.user)
            try:
                _say_purge(request, purge_chat(row.pk, coverage), coverage)
                return redirect("chat", chat_id=chat_id)
            except ValueError as problem:
                error = f"Nothing was removed: {problem}."
    context = {
        "chat": row,
        "effect": preview_purge(row.pk),
        "error": error,
        "may_reset": request.user.has_perm(RELEASE),
    }
    return render(request, "chats/purge_page.html", context, status=400 if error else 200)


def _say_purge(request: PageRequest, effect: Purge, coverage: str) -> None:
    removed = (
        f"Removed {counted(effect.instances, 'piece')} of evidence and {counted(effect.fate.removed, 'proposition')}."
    )
    if coverage == RESET:
        then = f"Coverage is reset: the next run reads {counted(effect.reread.messages, 'message')} again."
    else:
        then = "Coverage is kept: nothing of this chat is read again until it changes or you ask for it."
    messages.success(request, f"{removed} {then}")
