"""What the pages of the built-in chat show: a conversation as its learner sees it, and the latest ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from coverage.models import Chat, Message
from osii.talk import quizzes, state

from .steers import SteerCard, card_among
from .transcript import Block, blocks

RECENT = 8
RECENT_DAYS = 60


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the conversation. ``card`` is the steer that was given after it."""

    message: Message
    blocks: Sequence[Block]
    speaker: str
    card: SteerCard | None


def shown(chat: Chat) -> dict[str, Any]:
    """A fixed number of queries: the chat's messages, its topic, its steer."""
    talk = state.read(chat)
    card = card_among(talk.steer, [message.message_id for message in talk.messages])
    topic = talk.topic if talk.topic and talk.messages[0].pk == talk.topic.pk else None
    turns = [_turn(message, card) for message in talk.messages if topic is None or message.pk != topic.pk]
    return {
        "chat": chat,
        "talk": talk,
        "turns": turns,
        "card": card,
        "topic": talk.topic_text,
        # Given with the first turn: it stands under the topic, which is shown as a header.
        "topic_card": card if card and talk.topic and card.message_id == talk.topic.message_id else None,
        "question": _question(talk),
        "not_known": quizzes.NOT_KNOWN,
        "earlier": max(0, (talk.messages[0].position or 1) - 1) if talk.messages else 0,
    }


def _turn(message: Message, card: SteerCard | None) -> Turn:
    parts = [part for part in message.parts if not quizzes.waits(part)]
    here = card if card and card.message_id == message.message_id else None
    return Turn(message, blocks(message.role, parts), str(message.metadata.get("tutor") or "tutor"), here)


def _question(talk: state.Talk) -> dict[str, Any] | None:
    """The quiz that waits, without its right answer."""
    part = talk.question
    return part and {"text": part["input"]["question"], "options": part["input"].get("options", [])}


def recent_talks() -> list[Chat]:
    """The latest built-in chats of the last weeks: one query."""
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    rows = Chat.objects.filter(settings__has_key=state.SETTING, updated_at__gte=since)
    return list(rows.select_related("learner").order_by("-updated_at", "id")[:RECENT])
