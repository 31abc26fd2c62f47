"""A chat's steer as its page shows it: a card with its lines, in the transcript where it was given, else above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from coverage.models import Chat, Message
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


def steer_card(chat: Chat) -> SteerCard | None:
    """The chat's card; two queries. None when it has no steer."""
    steer = Steer.objects.filter(chat=chat).first()
    if steer is None:
        return None
    # Where it can stand: at the message it was given after, else at the first one.
    placed = Q(position=1) | Q(position__gte=1, message_id=steer.offered_after)
    message_ids = list(
        Message.objects.filter(placed, chat=chat).order_by("position").values_list("message_id", flat=True)
    )
    return card_among(steer, message_ids)


def card_among(steer: Steer | None, message_ids: Sequence[str]) -> SteerCard | None:
    """The card of this steer among these messages of its chat, in order; None where there is none."""
    at = markers.place(message_ids, steer)
    return steer and SteerCard(steer, None if at is None else message_ids[at])
