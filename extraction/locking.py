"""Taking the locks of a chat in their order where a write may touch its runs; see docs/locks.md."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from coverage.models import Chat
from coverage.services import lock_chat

from .models import Run

Result = TypeVar("Result")


def with_runs_locked(chat_id: UUID, work: Callable[[Chat], Result]) -> Result:
    """Call ``work(chat)`` in one transaction that holds the chat's active runs and then the chat, locked.

    A worker locks its run before the chat; who locked them the other way round would wait for it for ever. Raises
    Chat.DoesNotExist.
    """
    while True:
        with transaction.atomic():
            held = set(_active(chat_id).select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
            chat = lock_chat(chat_id)
            # Runs are made under the chat's lock: one that appeared before we had it is not locked. Begin again.
            if held.issuperset(_active(chat_id).values_list("pk", flat=True)):
                return work(chat)


def _active(chat_id: UUID) -> QuerySet[Run]:
    return Run.objects.filter(chat=chat_id, status__in=Run.ACTIVE)


def with_many_locked(chat_ids: Iterable[UUID], work: Callable[[dict[UUID, Chat]], Result]) -> Result:
    """The same for several chats at once, each kind of lock in the order of ids; ``work`` gets those that exist."""
    ids = list(chat_ids)
    active = Run.objects.filter(chat__in=ids, status__in=Run.ACTIVE)
    while True:
        with transaction.atomic():
            held = set(active.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
            chats = Chat.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
            locked = {chat.pk: chat for chat in chats}
            if held.issuperset(active.values_list("pk", flat=True)):
                return work(locked)
