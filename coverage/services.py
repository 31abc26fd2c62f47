"""Writes to chats: put messages, delete them, settle them, append to the ledger.

Each function is one transaction and holds the chat's row lock, so two writers of one chat queue up.
"""

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from . import view as views
from .copying import copy_rows
from .models import Chat, CoverageEntry, Learner, Message
from .places import keeps_order, woven
from .signals import transcript_changed
from .versions import is_stale

MAX_MESSAGE_ID = 200
AT_ONCE = 1000
"""Messages that are held as rows at a time while a transcript is written."""

ROLES = tuple(Message.Role.values)


@dataclass(slots=True)
class IncomingMessage:
    """One message to store; ``position`` follows from its place in the list."""

    message_id: str
    role: str
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] = field(default_factory=dict)
    said_at: datetime | None = None


@dataclass(slots=True)
class PutResult:
    """What a put did, by UIMessage id: ``moved`` only changed their place, ``shelved`` left the transcript, ``stale``
    were older than what is stored and not taken (see ``versions``)."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    shelved: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @property
    def touched(self) -> bool:
        return bool(self.touched_ids)

    @property
    def touched_ids(self) -> list[str]:
        return self.added + self.changed + self.moved + self.shelved


def get_or_create_learner(name: str) -> Learner:
    """The learner of this name, made on first use."""
    return Learner.objects.get_or_create(name=name)[0]


def lock_chat(chat_id: UUID) -> Chat:
    """The chat, locked until the transaction ends. Raises Chat.DoesNotExist."""
    return Chat.objects.select_for_update(no_key=True).get(pk=chat_id)


def put_messages(
    chat_id: UUID, incoming: Sequence[IncomingMessage], *, whole_transcript: bool = False, checked: bool = False
) -> PutResult:
    """Upsert messages by id.

    Known ids are updated in place, unless what is given is older (``stale``). New ones are appended in order; one that
    the list names before a known one was late, and goes there. With ``whole_transcript`` the list is the complete
    active path: positions follow the list, and stored messages that are not in it leave the transcript (they keep
    their rows and their coverage, so switching a branch back re-reads nothing).

    Raises ValueError on a duplicate id, an unknown role or parts that cannot be stored; then nothing is written. Who has
    had each message pass ``check_message``, and no id twice, says ``checked``.
    """
    if not checked:
        _check_incoming(incoming)
    with transaction.atomic():
        chat = lock_chat(chat_id)
        result = _write_messages(chat, incoming, whole_transcript=whole_transcript)
        if result.touched:
            _note_start(chat, incoming)
            transcript_changed.send(sender=Chat, chat_id=chat.pk, message_ids=result.touched_ids)
    return result


def check_message(message: IncomingMessage) -> None:
    """Raises ValueError, naming what is wrong, when a message cannot be stored as it is."""
    if not isinstance(message.message_id, str) or not 1 <= len(message.message_id) <= MAX_MESSAGE_ID:
        raise ValueError(f"the id must be a text of 1 to {MAX_MESSAGE_ID} characters")
    if message.role not in ROLES:
        raise ValueError(f"role {message.role!r} is not one of {', '.join(ROLES)}")
    if not isinstance(message.metadata, dict):
        raise ValueError(f"metadata must be an object, not {type(message.metadata).__name__}")
    views.check_storable(message.message_id, "id")
    views.check_parts(message.parts)
    views.check_storable(message.metadata, "metadata")


def _check_incoming(incoming: Sequence[IncomingMessage]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(incoming):
        where = f"message {index + 1}"
        try:
            check_message(message)
        except ValueError as error:
            raise ValueError(f"{where} ({message.message_id!r}): {error}") from None
        if message.message_id in seen:
            raise ValueError(f"{where}: the id {message.message_id!r} occurs twice")
        seen.add(message.message_id)


def _write_messages(chat: Chat, incoming: Sequence[IncomingMessage], *, whole_transcript: bool) -> PutResult:
    result = PutResult()
    ids = [message.message_id for message in incoming]
    places = dict(zip(ids, itertools.count(1), strict=False)) if whole_transcript else _weave(chat, ids, result)
    now = timezone.now()
    for start in range(0, len(incoming), AT_ONCE):
        _write_some(chat, incoming[start : start + AT_ONCE], places, now, result, whole_transcript=whole_transcript)
    if whole_transcript:
        result.shelved = _shelve(chat, places)
    return result


def _write_some(
    chat: Chat,
    incoming: Sequence[IncomingMessage],
    places: Mapping[str, int],
    now: datetime,
    result: PutResult,
    *,
    whole_transcript: bool,
) -> None:
    """Write a part of what is put: rows take several times the memory of what they are made from."""
    stored = Message.objects.filter(chat=chat, message_id__in=[message.message_id for message in incoming])
    by_id = {message.message_id: message for message in stored}
    fresh: list[Message] = []
    changed: list[Message] = []
    moved: list[Message] = []
    for message in incoming:
        old = by_id.get(message.message_id)
        position = places[message.message_id]
        outcome = _judge(old, message, whole_transcript=whole_transcript)
        if old is None:
            fresh.append(_new_message(chat, message, position, now))
        elif outcome == "changed":
            _update(old, message, position, now)
            changed.append(old)
        elif old.position != position:
            old.position = position
            moved.append(old)
            outcome = "moved" if outcome == "unchanged" else outcome
        getattr(result, outcome).append(message.message_id)
    copy_rows(fresh)
    Message.objects.bulk_update(changed, _UPDATED_FIELDS, batch_size=500)
    Message.objects.bulk_update(moved, ("position",), batch_size=2000)


def _judge(old: Message | None, given: IncomingMessage, *, whole_transcript: bool) -> str:
    """The list of a PutResult that a given content belongs to: added, unchanged, stale or changed."""
    if old is None:
        return "added"
    if _same_content(old, given):
        return "unchanged"
    # A whole transcript is a statement about every message in it; a message by itself may be a late one.
    return "changed" if whole_transcript or not is_stale(old, given) else "stale"


def _weave(chat: Chat, ids: Sequence[str], result: PutResult) -> dict[str, int]:
    """The place of each given message; what must make room for one that came late is moved at once."""
    known = dict(Message.objects.filter(chat=chat, message_id__in=ids).values_list("message_id", "position"))
    held = [known.get(key) for key in ids]
    if keeps_order(held):
        last = _last_position(chat) if None in held else 0
        fresh = itertools.count(last + 1)
        return {key: place or next(fresh) for key, place in zip(ids, held, strict=True)}
    rows = list(
        Message.objects.filter(chat=chat, position__isnull=False).order_by("position").only("message_id", "position")
    )
    order = woven([row.message_id for row in rows], ids)
    places = {key: place for place, key in enumerate(order, start=1)}
    given = set(ids)
    others = [row for row in rows if row.message_id not in given and row.position != places[row.message_id]]
    for row in others:
        row.position = places[row.message_id]
    Message.objects.bulk_update(others, ("position",), batch_size=2000)
    result.moved += [row.message_id for row in others]
    return {key: places[key] for key in ids}


_UPDATED_FIELDS = (
    "position", "role", "parts", "metadata", "said_at", "fingerprint", "tokens", "streaming", "settled_at", "changed_at",
)  # fmt: skip


def _last_position(chat: Chat) -> int:
    return Message.objects.filter(chat=chat).aggregate(last=Max("position"))["last"] or 0


def _new_message(chat: Chat, incoming: IncomingMessage, position: int, now: datetime) -> Message:
    # COPY knows no defaults, so the times that the database would set are given.
    message = Message(chat=chat, message_id=incoming.message_id, position=position, created_at=now, changed_at=now)
    _fill(message, incoming)
    return message


def _fill(message: Message, incoming: IncomingMessage) -> None:
    """Write the content and everything that is derived from it."""
    view = views.transcript_view(incoming.role, incoming.parts)
    message.role = incoming.role
    message.parts = incoming.parts
    message.metadata = incoming.metadata
    message.said_at = incoming.said_at
    message.fingerprint = views.fingerprint(view)
    message.tokens = views.view_tokens(view)
    message.streaming = views.is_streaming(incoming.parts)


def _same_content(old: Message, incoming: IncomingMessage) -> bool:
    return (
        old.role == incoming.role
        and old.said_at == incoming.said_at
        and _same_json(old.parts, incoming.parts)
        and _same_json(old.metadata, incoming.metadata)
    )


def _same_json(stored: Any, given: Any) -> bool:
    # jsonb may give a number back in another notation; only then is the slow comparison needed.
    return stored == given or views.canonical_json(stored) == views.canonical_json(given)


def _update(old: Message, incoming: IncomingMessage, position: int, now: datetime) -> None:
    """Bring ``old`` up to ``incoming`` in memory."""
    before = (old.fingerprint, old.streaming)
    _fill(old, incoming)
    old.position = position
    if before != (old.fingerprint, old.streaming):
        old.settled_at = None
        old.changed_at = now


def _shelve(chat: Chat, given: Container[str]) -> list[str]:
    """Take what is not given out of the transcript; returns its ids."""
    rows = Message.objects.filter(chat=chat, position__isnull=False).values_list("pk", "message_id")
    leaving = {pk: message_id for pk, message_id in rows.iterator(chunk_size=5000) if message_id not in given}
    Message.objects.filter(pk__in=leaving).update(position=None)
    return list(leaving.values())


def _note_start(chat: Chat, incoming: Sequence[IncomingMessage]) -> None:
    if chat.started_at is None and any(message.role == Message.Role.USER for message in incoming):
        # An imported chat was not held now: where its messages tell no time, none is known.
        now = None if chat.imported else timezone.now()
        chat.started_at = min((m.said_at for m in incoming if m.said_at), default=now)
    chat.save(update_fields=("started_at", "updated_at"))


def delete_message(chat_id: UUID, message_id: str) -> None:
    """Delete a message and release its coverage, so that it is read again if it returns.

    Raises Chat.DoesNotExist or Message.DoesNotExist.
    """
    with transaction.atomic():
        chat = lock_chat(chat_id)
        message = Message.objects.get(chat=chat, message_id=message_id)
        if _balance(chat, message.fingerprint) > 0 and _is_counted(chat, message):
            append_entries(chat, [message], kind=CoverageEntry.Kind.RELEASE)
        position = message.position
        message.delete()
        if position is not None:
            Message.objects.filter(chat=chat, position__gt=position).update(position=F("position") - 1)
        chat.save(update_fields=("updated_at",))
        transcript_changed.send(sender=Chat, chat_id=chat.pk, message_ids=[message_id])


def _balance(chat: Chat, fingerprint: str) -> int:
    entries = CoverageEntry.objects.filter(chat=chat, fingerprint=fingerprint)
    covers = entries.filter(kind=CoverageEntry.Kind.COVER).count()
    return covers - (entries.count() - covers)


def _is_counted(chat: Chat, message: Message) -> bool:
    """Whether the ledger's sum covers this message: as many cover lines as messages up to it."""
    if message.position is None:
        others = Message.objects.filter(chat=chat, fingerprint=message.fingerprint).exclude(pk=message.pk)
        return _balance(chat, message.fingerprint) > others.count()
    earlier = Message.objects.filter(chat=chat, fingerprint=message.fingerprint, position__lte=message.position)
    return _balance(chat, message.fingerprint) >= earlier.count()


def settle(chat: Chat) -> int:
    """Take every message that is still streaming as it stands; returns how many. The caller holds the chat's lock."""
    return Message.objects.filter(chat=chat, streaming=True, settled_at=None).update(settled_at=timezone.now())


def append_entries(
    chat: Chat,
    messages: Iterable[Any],
    *,
    kind: str = CoverageEntry.Kind.COVER,
    batch_id: UUID | None = None,
) -> int:
    """Append one ledger line per message (anything with ``fingerprint`` and ``tokens``); returns how many."""
    entries = [
        CoverageEntry(chat=chat, fingerprint=m.fingerprint, tokens=m.tokens, kind=kind, batch=batch_id)
        for m in messages
    ]
    CoverageEntry.objects.bulk_create(entries, batch_size=1000)
    return len(entries)


def update_chat(chat: Chat, values: Mapping[str, Any]) -> bool:
    """Set the given fields where they differ; True when something was written."""
    differing = [name for name, value in values.items() if getattr(chat, name) != value]
    for name in differing:
        setattr(chat, name, values[name])
    if differing:
        chat.save(update_fields=(*differing, "updated_at"))
    return bool(differing)
