"""Where a built-in chat stands, read from its transcript: nothing of it is stored twice.

What a turn answers follows from the last message. So a reload, a second tab and a repeated request see the same turn, and its
reply has one id for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID, uuid5

from coverage.models import Chat, Message
from coverage.view import transcript_view
from graphctx.models import Steer

from . import quizzes

SETTING = "tutor"
"""The setting that makes a chat a built-in one: one of TUTORS."""
SCRIPTED, LLM = "scripted", "llm"
TUTORS = (SCRIPTED, LLM)

RECENT = 200
"""Messages that a page shows and a tutor reads; the topic and the steer stay whatever the length."""
PROBES = 2
"""So many answers the prober asks for where no steer comes."""
PROBER, TEACHER = "prober", "teacher"


@dataclass
class Talk:
    """A chat with its last messages in order, its topic and its steer."""

    chat: Chat
    messages: Sequence[Message]
    topic: Message | None
    steer: Steer | None

    @property
    def last(self) -> Message | None:
        return self.messages[-1] if self.messages else None

    @property
    def tutor(self) -> str:
        return self.chat.settings[SETTING]

    @property
    def model(self) -> str:
        """The name of the language model, empty where none is used."""
        return str(self.chat.settings.get("model") or "") if self.tutor == LLM else ""

    @property
    def question(self) -> quizzes.Part | None:
        """The quiz that waits for the learner."""
        return question_of(self.last)

    @property
    def owed(self) -> str:
        """The id of the reply that the tutor owes; empty when it is the learner's turn."""
        return owed_after(self.last)

    @cached_property
    def quizzes(self) -> list[Any]:
        """Every answered quiz, in order."""
        return [part for message in self.messages for part in quizzes.done(message.parts)]

    @property
    def topic_text(self) -> str:
        return text_of(self.topic) if self.topic else ""

    def speaker(self, *, riding: bool) -> str:
        """Who speaks next; ``riding`` is whether the steer comes with this turn, which the prober acknowledges."""
        if riding:
            return PROBER
        delivered = self.steer is not None and self.steer.status == Steer.Status.DELIVERED
        return TEACHER if delivered or len(self.quizzes) >= PROBES else PROBER


def read(chat: Chat) -> Talk:
    """The chat as it stands: three queries."""
    rows = Message.objects.filter(chat=chat, position__isnull=False)
    recent = list(rows.order_by("-position")[:RECENT])[::-1]
    topic = rows.filter(role=Message.Role.USER).order_by("position").first()
    return Talk(chat, recent, topic, Steer.objects.filter(chat=chat).first())


def text_of(message: Message) -> str:
    """What a message says in words, tools apart."""
    parts = transcript_view(message.role, message.parts)["parts"]
    return "\n\n".join(part["text"] for part in parts if part["type"] == "text")


def question_of(message: Message | None) -> quizzes.Part | None:
    if message is None or message.role != Message.Role.ASSISTANT:
        return None
    return next((part for part in message.parts if quizzes.waits(part)), None)


def owed_after(message: Message | None) -> str:
    """The id of the reply to this last message: to what the learner said, or to the answer of the message's quiz."""
    if message is None or question_of(message) is not None:
        return ""
    if message.role == Message.Role.USER or (message.role == Message.Role.ASSISTANT and quizzes.done(message.parts)):
        return f"t-{uuid5(message.chat_id, f'{message.message_id} {message.fingerprint}').hex}"
    return ""


def last_message(chat_id: UUID) -> Message | None:
    return Message.objects.filter(chat=chat_id, position__isnull=False).order_by("-position").first()
