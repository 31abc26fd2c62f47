"""The steer: one block of prior knowledge per chat, prepared once, when its first user message is there.

Its id follows from the chat's, and each change of state is one conditional UPDATE, so retries, reloads, regenerated
answers and a second worker all find the same row and change it once.
"""

import logging
import unicodedata
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import transaction
from django.utils import timezone

from coverage.models import Chat, Message
from coverage.queueing import STEERS, enqueue_now, enqueue_on_commit
from coverage.services import lock_chat
from coverage.view import transcript_view

from .embedding import EmbeddingError
from .models import Steer
from .selection import Selection, select

logger = logging.getLogger(__name__)

NAMESPACE = uuid5(NAMESPACE_URL, "osii:steer")
PREPARE = "graphctx.jobs.prepare_steer"
TOPIC_CHARACTERS = 8000
"""As much of a first message as an embedder reads; a pasted book is still a topic."""

OFF = "graph context is off for this chat"
NO_TOPIC = "no topic: the first message has no text"


class CannotRepeat(Exception):
    """This steer cannot be prepared once more; the text says why."""


def steer_id(chat_id: UUID) -> UUID:
    """The id of the one steer this chat can ever have."""
    return uuid5(NAMESPACE, str(chat_id))


def begin(chat_id: UUID) -> Steer | None:
    """Record the chat's steer and enqueue its preparation on commit. Idempotent.

    None when the chat gets no steer: it was imported, has no user message yet, or was under way before one was
    recorded. Raises Chat.DoesNotExist.
    """
    with transaction.atomic():
        chat = lock_chat(chat_id)
        known = Steer.objects.filter(pk=steer_id(chat_id)).first()
        if known is not None:
            return known
        topic = _topic(chat)
        if topic is None:
            return None
        steer = Steer(pk=steer_id(chat_id), chat=chat, topic=topic, budget=chat.graph_context_tokens)
        reason = OFF if steer.budget == 0 else "" if topic else NO_TOPIC
        if reason:
            steer.status, steer.reason = Steer.Status.EMPTY, reason
        steer.save(force_insert=True)
        if not reason:
            _enqueue(enqueue_on_commit, steer.pk)
    return steer


def again(chat_id: UUID, actor: str) -> Steer:
    """Have the steer prepared once more, on the word of staff: after an error, an empty graph, or with what is known since.

    Raises Steer.DoesNotExist, and CannotRepeat when it was offered already or there is nothing that could change.
    """
    with transaction.atomic():
        steer = Steer.objects.select_for_update().get(chat=chat_id)
        if steer.status == Steer.Status.PREPARING:
            return steer
        if steer.status in (Steer.Status.OFFERED, Steer.Status.DELIVERED):
            raise CannotRepeat(f"the steer is {steer.get_status_display()}: what a client was given does not change")
        if not steer.topic or not steer.budget:
            raise CannotRepeat(steer.reason)
        steer.status, steer.reason, steer.requested_by = Steer.Status.PREPARING, "", actor
        steer.text, steer.tokens, steer.count, steer.items, steer.ready_at = "", 0, 0, [], None
        steer.save()
        _enqueue(enqueue_on_commit, steer.pk)
    return steer


def _topic(chat: Chat) -> str | None:
    """The text of the chat's first message, "" when it has none; None when no steer may begin."""
    if chat.imported:
        return None
    said = list(Message.objects.filter(chat=chat, position__isnull=False, role=Message.Role.USER)[:2])
    if len(said) != 1:
        return None
    parts = transcript_view(said[0].role, said[0].parts)["parts"]
    text = "\n\n".join(part["text"] for part in parts if part["type"] == "text").strip()
    return text[:TOPIC_CHARACTERS] if any(map(_shows, text)) else ""


def _shows(char: str) -> bool:
    """Whether a character can be seen: blanks, controls and characters without a width say nothing."""
    return unicodedata.category(char)[0] not in "ZC"


def prepare(steer_id: UUID) -> Steer:
    """Select the block of a steer that is still being prepared; any other is returned as it is.

    An error is final: the steer is ``failed`` with its reason; one that is not about the model or the space is
    raised as well. Raises Steer.DoesNotExist.
    """
    steer = Steer.objects.select_related("chat__learner").get(pk=steer_id)
    if steer.status == Steer.Status.PREPARING:
        try:
            outcome = _outcome(select(steer.chat.learner, steer.topic, steer.budget))
        except EmbeddingError as error:
            logger.warning("The steer of chat %s failed: %s", steer.chat_id, error)
            outcome = _failure(str(error))
        except Exception as error:
            _finish(steer, _failure(f"{type(error).__name__}: {error}"))
            raise
        _finish(steer, outcome)
        steer.refresh_from_db()
    return steer


def _finish(steer: Steer, outcome: dict[str, Any]) -> None:
    # Conditional: of two workers that prepared the same steer, one writes.
    Steer.objects.filter(pk=steer.pk, status=Steer.Status.PREPARING).update(**outcome)


def _failure(reason: str) -> dict[str, Any]:
    return {"status": Steer.Status.FAILED, "reason": reason}


def _outcome(selection: Selection) -> dict[str, Any]:
    """The columns that a finished preparation sets."""
    return {
        "status": Steer.Status.READY if selection.count else Steer.Status.EMPTY,
        "space": selection.space,
        "text": selection.block,
        "tokens": selection.tokens,
        "count": selection.count,
        "items": [line.to_dict() for line in selection.items],
        "reason": selection.reason,
        "ready_at": timezone.now(),
    }


def enqueue_waiting() -> int:
    """Enqueue every steer that is still being prepared, for the reconciler; returns how many jobs were missing."""
    waiting = Steer.objects.filter(status=Steer.Status.PREPARING).order_by("created_at").values_list("pk", flat=True)
    return sum(bool(_enqueue(enqueue_now, pk)) for pk in waiting)


def _enqueue(enqueue: Any, pk: UUID) -> bool | None:
    return enqueue(STEERS, PREPARE, str(pk), job_id=f"steer-{pk}")
