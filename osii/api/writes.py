"""Writes that compose the apps below: each is one transaction, whatever a client repeats or delivers late."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from coverage.ids import new_id
from coverage.models import Chat, Learner, Message
from coverage.services import IncomingMessage, PutResult, lock_chat, put_messages, update_chat
from graphctx import questions, steers

STORED = ("model", "thinking", questions.SETTING)
"""Settings kept as they are in the chat's JSON; null takes one away."""


class BudgetFixed(Exception):
    """The graph-context budget of a chat that has messages cannot change any more."""


def begin_chat(learner: Learner, chat_id: UUID | None, title: str, settings: Mapping[str, Any]) -> tuple[Chat, bool]:
    """A new chat, or the one that this learner began under this id, untouched; and whether it is new.

    Raises Chat.DoesNotExist when the id belongs to someone else.
    """
    values = {"learner": learner, "title": title, "settings": {k: settings[k] for k in STORED if k in settings}}
    if "graph_context_tokens" in settings:
        values["graph_context_tokens"] = settings["graph_context_tokens"]
    chat, made = Chat.objects.get_or_create(pk=chat_id or new_id(), defaults=values)
    if chat.learner_id != learner.pk:
        raise Chat.DoesNotExist
    return chat, made


def change_settings(chat_id: UUID, given: Mapping[str, Any]) -> Chat:
    """Set the given settings. Raises Chat.DoesNotExist, and BudgetFixed: then nothing is changed."""
    with transaction.atomic():
        chat = lock_chat(chat_id)
        budget = given.get("graph_context_tokens", chat.graph_context_tokens)
        if budget != chat.graph_context_tokens and Message.objects.filter(chat=chat).exists():
            raise BudgetFixed
        opaque = chat.settings | {name: given[name] for name in STORED if name in given}
        update_chat(chat, {"graph_context_tokens": budget, "settings": opaque})
    return chat


def store_messages(chat_id: UUID, messages: Sequence[IncomingMessage]) -> PutResult:
    """Upsert messages; the first thing that a user says is the topic of the chat's steer.

    Raises what ``put_messages`` raises.
    """
    with transaction.atomic():
        result = put_messages(chat_id, messages)
        added = set(result.added)
        if any(message.role == Message.Role.USER and message.message_id in added for message in messages):
            # Only with a new message: one that was there before is no beginning, even when those before it were deleted.
            steers.begin(chat_id)
    return result
