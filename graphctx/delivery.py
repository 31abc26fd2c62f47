"""Handing a steer to a chat's client: offered with a turn, acknowledged by it, else offered again.

An offer is a lease. A client that repeats the request of the same turn gets the same offer; any other turn gets nothing
until the lease has run out, so two clients of one chat do not both inject the block. Nothing here waits.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now

from coverage.models import Chat, Message

from . import questions
from .models import Steer

OPEN = (Steer.Status.READY, Steer.Status.OFFERED)


class NotOffered(Exception):
    """A steer that no turn was given yet cannot be acknowledged."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A delivered steer; ``first`` is False when it had been acknowledged before."""

    steer: Steer
    first: bool


def turn(chat: Chat, turn_id: str = "") -> Steer | None:
    """The steer that rides this turn, now offered; None when there is none, or not yet.

    ``turn_id`` is the client's own name of the turn: asking again under the same one gives the same answer.
    """
    steer = Steer.objects.filter(chat=chat, status__in=OPEN).first()
    if steer is None:
        return None
    if steer.status == Steer.Status.OFFERED and turn_id and steer.offered_turn == turn_id:
        return steer
    last = Message.objects.filter(chat=chat, position__isnull=False).order_by("-position").first()
    if questions.pending(chat, last):
        return None
    return _offer(steer, turn_id, last.message_id if last else "")


def _offer(steer: Steer, turn_id: str, after: str) -> Steer | None:
    # An offer is a lease, so its times are the database's: the clocks of several machines may differ, or jump.
    free = Q(status=Steer.Status.READY) | Q(status=Steer.Status.OFFERED, offered_at__lt=Now() - _lease())
    # Conditional: of two turns that ask at once, one is given the steer.
    given = Steer.objects.filter(free, pk=steer.pk).update(
        status=Steer.Status.OFFERED, offered_at=Now(), offered_turn=turn_id, offered_after=after, offers=F("offers") + 1
    )
    if not given:
        return None
    steer.refresh_from_db()
    return steer


def _lease() -> timedelta:
    return timedelta(seconds=settings.OSII_STEER_OFFER_SECONDS)


def acknowledge(chat_id: UUID, steer_id: UUID, now: datetime | None = None) -> Acknowledged:
    """Record that the chat's model was given the steer. Idempotent; the first acknowledgement counts.

    Raises Steer.DoesNotExist when it is not this chat's, and NotOffered.
    """
    mine = Steer.objects.filter(pk=steer_id, chat=chat_id)
    first = mine.filter(status=Steer.Status.OFFERED).update(status=Steer.Status.DELIVERED, delivered_at=now or Now())
    steer = mine.get()
    if steer.status != Steer.Status.DELIVERED:
        raise NotOffered(f"the steer is {steer.get_status_display()}; no turn has been given it")
    return Acknowledged(steer, bool(first))
