"""One turn of the tutor: take the steer if it rides this turn, answer, store the answer, finish the turn.

The steer is offered and acknowledged by ``graphctx.delivery``, as for any client. One turn of a chat is played at a time, and
a turn that failed or was cut off is simply still owed.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection

from coverage.models import Chat
from extraction import services
from graphctx import delivery
from graphctx.models import Steer

from . import scripted, writing
from .events import Busy, Done, Event, Failed, Playing, Said, TurnFailed
from .state import LLM, Talk, read

AT_ONCE = 4
"""Turns that one web process plays at a time: each holds one of its threads, and the pages need some too."""
BUSY_HERE = "as many turns as this server plays at a time are under way; try again in a moment"

_playing = threading.BoundedSemaphore(AT_ONCE)


def play(chat_id: UUID) -> Iterator[Event]:
    """Play the turn that is owed, if one is; the last event is never a Said."""
    if not _playing.acquire(blocking=False):
        yield Failed(BUSY_HERE)
        return
    try:
        with _alone(chat_id) as mine:
            if mine:
                yield from _play(chat_id)
            else:
                yield Busy()
    finally:
        _playing.release()


def _play(chat_id: UUID) -> Iterator[Event]:
    chat = Chat.objects.select_related("learner").filter(pk=chat_id).first()
    if chat is None:
        yield Failed("the chat was erased meanwhile")
        return
    talk = read(chat)
    if talk.owed:
        # The turn is called by its reply's id, so that a repeated turn is given the steer again.
        steer = delivery.turn(chat, talk.owed)
        try:
            reply = yield from _reply(talk, steer)
        except TurnFailed as failed:
            yield Failed(str(failed))
            return
        if writing.store_reply(chat_id, talk.owed, reply, steer):
            services.finish_chat(chat_id)
    yield Done()


def _reply(talk: Talk, steer: Steer | None) -> Playing:
    if talk.tutor == LLM:
        from . import model  # pydantic-ai takes a second to import, and the scripted tutor needs none of it

        return (yield from model.reply(talk, steer))
    made = scripted.reply(talk, steer)
    yield Said(next((part["text"] for part in made.parts if part["type"] == "text"), ""))
    return made


@contextmanager
def _alone(chat_id: UUID) -> Iterator[bool]:
    """Whether this turn of the chat is ours alone, in all processes. The database ends it with the process, however it ends."""
    key = chat_id.int % 2**63
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        mine = cursor.fetchone()[0]
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
