"""Writes to chats: put messages, delete them, settle them, append to the ledger.

Each function is one transaction and holds the chat's row lock, so two writers of one chat queue up.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from . import view as views
from .models import Chat, CoverageEntry, Learner, Message
from .signals import transcript_changed


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
    """What a put did, by UIMessage id."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    shelved: list[str] = field(default_factory=list)

    @property
    def touched(self) -> bool:
        return bool(self.added or self.changed or self.shelved)


def get_or_create_learner(name: str) -> Learner:
    """The learner of this name, made on first use."""
    return Learner.objects.get_or_create(name=name)[0]


def lock_chat(chat_id: UUID) -> Chat:
    """The chat, locked until the transaction ends. Raises Chat.DoesNotExist."""
    return Chat.objects.select_for_update(no_key=True).get(pk=chat_id)


def put_messages(chat_id: UUID, incoming: Sequence[IncomingMessage], *, whole_transcript: bool = False) -> PutResult:
    """Upsert messages by id.

    Known ids are updated in place, new ones are appended in order. With ``whole_transcript`` the list is the complete
    active path: positions follow the list, and stored messages that are not in it leave the transcript (they keep
    their rows and their coverage, so switching a branch back re-reads nothing).

    Raises ValueError on a duplicate id, an unknown role or parts that cannot be stored; then nothing is written.
    """
    _check_incoming(incoming)
    with transaction.atomic():
        chat = lock_chat(chat_id)
        result = _write_messages(chat, incoming, whole_transcript=whole_transcript)
        if result.touched:
            _note_start(chat, incoming)
            transcript_changed.send(
                sender=Chat, chat_id=chat.pk, message_ids=result.added + result.changed + result.shelved
            )
    return result


def _check_incoming(incoming: Sequence[IncomingMessage]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(incoming):
        where = f"message {index + 1}"
        if not message.message_id or len(message.message_id) > 200:
            raise ValueError(f"{where}: the id must have 1 to 200 characters")
        if message.message_id in seen:
            raise ValueError(f"{where}: the id {message.message_id!r} occurs twice")
        seen.add(message.message_id)
        if message.role not in Message.Role.values:
            raise ValueError(f"{where}: role {message.role!r} is not one of {', '.join(Message.Role.values)}")
        try:
            views.check_storable(message.message_id, "id")
            views.check_parts(message.parts)
            views.check_storable(message.metadata, "metadata")
        except views.MalformedParts as error:
            raise ValueError(f"{where} ({message.message_id!r}): {error}") from None


def _write_messages(chat: Chat, incoming: Sequence[IncomingMessage], *, whole_transcript: bool) -> PutResult:
    result = PutResult()
    stored = Message.objects.filter(chat=chat)
    if not whole_transcript:
        stored = stored.filter(message_id__in=[message.message_id for message in incoming])
    by_id = {message.message_id: message for message in stored}
    next_position = 1 if whole_transcript else _last_position(chat) + 1
    fresh: list[Message] = []
    changed: list[Message] = []
    for message in incoming:
        old = by_id.pop(message.message_id, None)
        new = _derive(chat, message)
        keep_position = old is not None and not whole_transcript and old.position is not None
        new.position = old.position if keep_position else next_position
        next_position += 0 if keep_position else 1
        if old is None:
            fresh.append(new)
            result.added.append(message.message_id)
        elif _update(old, new):
            changed.append(old)
            result.changed.append(message.message_id)
        else:
            result.unchanged.append(message.message_id)
    Message.objects.bulk_create(fresh, batch_size=1000)
    Message.objects.bulk_update(changed, _UPDATED_FIELDS, batch_size=500)
    if whole_transcript:
        result.shelved = _shelve(by_id.values())
    return result


_UPDATED_FIELDS = (
    "position", "role", "parts", "metadata", "said_at", "fingerprint", "tokens", "streaming", "settled_at", "changed_at",
)  # fmt: skip


def _last_position(chat: Chat) -> int:
    return Message.objects.filter(chat=chat).aggregate(last=Max("position"))["last"] or 0


def _derive(chat: Chat, incoming: IncomingMessage) -> Message:
    view = views.transcript_view(incoming.role, incoming.parts)
    return Message(
        chat=chat,
        message_id=incoming.message_id,
        role=incoming.role,
        parts=incoming.parts,
        metadata=incoming.metadata,
        said_at=incoming.said_at,
        fingerprint=views.fingerprint(view),
        tokens=views.view_tokens(view),
        streaming=views.is_streaming(incoming.parts),
    )


def _update(old: Message, new: Message) -> bool:
    """Bring ``old`` up to ``new`` in memory; False when nothing differs."""
    same = all(
        getattr(old, name) == getattr(new, name) for name in ("position", "role", "parts", "metadata", "said_at")
    )
    if same:
        return False
    if old.fingerprint != new.fingerprint or old.streaming != new.streaming:
        old.settled_at = None
        old.changed_at = timezone.now()
    for name in ("position", "role", "parts", "metadata", "said_at", "fingerprint", "tokens", "streaming"):
        setattr(old, name, getattr(new, name))
    return True


def _shelve(leftover: Iterable[Message]) -> list[str]:
    leaving = [message for message in leftover if message.position is not None]
    Message.objects.filter(pk__in=[message.pk for message in leaving]).update(position=None)
    return [message.message_id for message in leaving]


def _note_start(chat: Chat, incoming: Sequence[IncomingMessage]) -> None:
    if chat.started_at is None and any(message.role == Message.Role.USER for message in incoming):
        chat.started_at = min((m.said_at for m in incoming if m.said_at), default=timezone.now())
    chat.save(update_fields=("started_at", "updated_at"))


def delete_message(chat_id: UUID, message_id: str) -> None:
    """Delete a message and release its coverage, so that it is read again if it returns."""
    with transaction.atomic():
        chat = lock_chat(chat_id)
        message = Message.objects.get(chat=chat, message_id=message_id)
        if _balance(chat, message.fingerprint) > 0 and _is_counted(chat, message):
            append_entries(chat, [message], kind=CoverageEntry.Kind.RELEASE)
        position = message.position
        message.delete()
        if position is not None:
            Message.objects.filter(chat=chat, position__gt=position).update(position=F("position") - 1)
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
