"""What the learner and the tutor of a built-in chat write: each write is one transaction, and repeating it changes nothing."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone

from coverage.models import Chat, Learner, Message
from coverage.services import IncomingMessage, lock_chat, put_messages, update_chat
from graphctx import delivery
from graphctx.models import Steer
from graphctx.questions import SETTING as INTERACTIVE
from osii.api import writes

from . import quizzes
from .state import LLM, SETTING, last_message, owed_after, question_of, text_of

TITLE_CHARACTERS = 80
TEXT_CHARACTERS = 8000
"""As much as a learner writes at once."""


class WentOn(Exception):
    """The chat is not where the writer saw it; the text says what that means."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tutor answered: UIMessage parts, and what is kept about how it came about."""

    parts: list[dict[str, Any]]
    metadata: dict[str, Any]


def begin(learner: Learner, chat_id: UUID, topic: str, budget: int, tutor: str, model: str) -> Chat:
    """Begin a chat under this id with its topic, the first message; the same form twice begins it once.

    Raises WentOn when the id has begun another chat.
    """
    title = " ".join(topic.split())
    title = title if len(title) <= TITLE_CHARACTERS else f"{title[: TITLE_CHARACTERS - 1]}…"
    chosen = {"graph_context_tokens": budget, INTERACTIVE: [quizzes.TOOL]}
    if tutor == LLM:
        chosen["model"] = model
    begun = WentOn("This form has begun a chat already. Press Start again to begin another one.")
    with transaction.atomic():
        try:
            chat, made = writes.begin_chat(learner, chat_id, title, chosen)
        except Chat.DoesNotExist:
            raise begun from None
        if made:
            update_chat(chat, {"settings": chat.settings | {SETTING: tutor}})
            say(chat.pk, "", topic)
        else:
            first = Message.objects.filter(chat=chat, message_id=_message_id(chat.pk, "")).first()
            if first is None or text_of(first) != topic:
                raise begun
    return chat


def say(chat_id: UUID, after: str, text: str) -> None:
    """The learner writes after the message ``after`` ("" before the first). Raises WentOn, and ValueError for a text that
    cannot be stored.
    """
    with transaction.atomic():
        lock_chat(chat_id)
        message_id = _message_id(chat_id, after)
        known = Message.objects.filter(chat=chat_id, message_id=message_id).first()
        if known is not None:
            if text_of(known) == text:
                return
            raise WentOn("Something else was said here meanwhile, perhaps in another tab.")
        _check_place(chat_id, after)
        said = IncomingMessage(message_id, Message.Role.USER, [{"type": "text", "text": text}], said_at=timezone.now())
        writes.store_messages(chat_id, [said])


def answer(chat_id: UUID, after: str, given: str) -> None:
    """The learner answers the quiz of the message ``after``. Raises WentOn, and ValueError as ``say``."""
    with transaction.atomic():
        lock_chat(chat_id)
        message = Message.objects.filter(chat=chat_id, message_id=after, position__isnull=False).first()
        if message is None:
            raise WentOn("This question is not there any more.")
        question = question_of(message)
        if question is None:
            if any(quizzes.same(part["output"].get("answer", ""), given) for part in quizzes.done(message.parts)):
                return
            raise WentOn("This question was answered already, perhaps in another tab.")
        _check_place(chat_id, after)
        parts = [quizzes.answered(part, given) if part is question else part for part in message.parts]
        changed = IncomingMessage(after, message.role, parts, message.metadata, message.said_at)
        put_messages(chat_id, [changed])


def _check_place(chat_id: UUID, after: str) -> None:
    last = last_message(chat_id)
    if (last.message_id if last else "") != after:
        raise WentOn(
            "The chat went on meanwhile, perhaps in another tab. Here is how it stands; send it again if it fits."
        )
    if owed_after(last):
        raise WentOn("The tutor has not answered yet: let it answer first.")


def store_reply(chat_id: UUID, reply_id: str, reply: Reply, steer: Steer | None) -> bool:
    """Store the tutor's reply, and that its model was given the steer; False when the chat went on without it."""
    with transaction.atomic():
        lock_chat(chat_id)
        if owed_after(last_message(chat_id)) != reply_id:
            return False
        said = IncomingMessage(reply_id, Message.Role.ASSISTANT, reply.parts, reply.metadata, timezone.now())
        put_messages(chat_id, [said])
        if steer is not None:
            delivery.acknowledge(chat_id, steer.pk)
    return True


def _message_id(chat_id: UUID, after: str) -> str:
    # One message can be said after each other one, so a form that is sent twice says it once.
    return f"l-{uuid5(chat_id, f'after {after}').hex}"
