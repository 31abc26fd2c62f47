"""A chat's steer as its page shows it: a card with its lines, in the transcript where it was given, else above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coverage.models import Chat
from graphctx import markers
from graphctx.models import Steer


@dataclass(frozen=True, slots=True)
class SteerCard:
    """``message_id`` is the message at whose end it stands, None above the transcript."""

    steer: Steer
    message_id: str | None

    @property
    def repeatable(self) -> bool:
        """May be prepared once more: not given to a client yet, and with a topic and a budget."""
        over = (Steer.Status.READY, Steer.Status.EMPTY, Steer.Status.FAILED)
        return self.steer.status in over and bool(self.steer.topic and self.steer.budget)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The propositions that were offered, as they were: text, level, similarity, and the id to look them up by."""
        return self.steer.items


def steer_card(chat: Chat, message_ids: Sequence[str]) -> SteerCard | None:
    """The card of a chat whose transcript holds these messages, in order; one query. None when it has no steer."""
    steer = Steer.objects.filter(chat=chat).first()
    if steer is None:
        return None
    at = markers.place(message_ids, steer)
    return SteerCard(steer, None if at is None else message_ids[at])
