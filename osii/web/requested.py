"""What is said when runs were requested for chats: how many, and the way to where they are seen."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html

from coverage.words import counted
from extraction.models import Run

from .access import needs_of


def requested(user: User, chats: Sequence[Any] | QuerySet[Any], made: int, joined: int, more: str = "") -> str:
    """``made`` runs requested and ``joined`` active already, of these chats (their keys); ``more`` ends the sentence.

    It links to the chat's own page where it is one, else to Activity; to neither for an account that may not open it.
    """
    active = (
        f" {joined:,}{' more' if made else ''} {'was' if joined == 1 else 'were'} active already." if joined else ""
    )
    said = f"{counted(made, 'run') if made else 'No new run'} requested.{active}{more}"
    if not made + joined:
        return said
    one = made + joined == 1
    run = Run.objects.filter(status__in=Run.ACTIVE, chat__in=chats).first() if one else None
    page = "chat" if run else "activity"
    if not needs_of(page).allow(user):
        return said
    to = reverse("chat", args=[run.chat_id]) if run else f"{reverse('activity')}?view=progress&kind=chat"
    return format_html('{} <a href="{}">See {}</a>', said, to, "it" if one else "them")
