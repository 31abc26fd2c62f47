"""Live evidence: an instance is live while its quote still stands in its source, under whatever message id.

Evaluated inside the transaction that changes the source, so a reader never sees a claim whose evidence is gone.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.dispatch import receiver

from coverage.models import Learner, Message
from coverage.signals import transcript_changed
from coverage.view import part_text, transcript_view

from .links import refresh_states
from .models import Instance


@receiver(transcript_changed)
def refresh_messages(chat_id: UUID, message_ids: list[str], **_kwargs: Any) -> int:
    """Re-evaluate the instances that may stand on these messages, or have stood on them; returns how many changed."""
    if not Instance.objects.filter(chat=chat_id).exists():
        return 0  # Nothing was learned from this chat yet, and an import names very many messages.
    instances = list(_concerned(chat_id, message_ids))
    standing = stand(chat_id, instances)
    changed = [instance for instance, stands in zip(instances, standing, strict=True) if instance.live != stands]
    for instance in changed:
        instance.live = not instance.live
    if changed:
        Instance.objects.bulk_update(changed, ["live"], batch_size=500)
        refresh_states({instance.proposition_id for instance in changed})
        Learner.objects.filter(chats=chat_id).update(graph_revision=F("graph_revision") + 1)
    return len(changed)


def _concerned(chat_id: UUID, message_ids: list[str]) -> QuerySet[Instance]:
    """Instances of these messages, of the versions that these messages hold now, and live ones whose own message has
    another version or is gone: what kept them alive may just have changed."""
    messages = Message.objects.filter(chat=chat_id)
    versions = messages.filter(message_id__in=message_ids).values("fingerprint")
    as_read = messages.filter(
        message_id=OuterRef("message_id"), fingerprint=OuterRef("fingerprint"), position__isnull=False
    )
    return Instance.objects.filter(
        Q(message_id__in=message_ids) | Q(fingerprint__in=versions) | Q(~Exists(as_read), live=True), chat=chat_id
    )


def stand(chat_id: UUID, instances: Sequence[Instance]) -> list[bool]:
    """Whether each of a chat's instances (saved or not) stands in the transcript as it is now; a withdrawn one never does.

    The same version under another id counts, as it does for coverage: it is not read again, so its evidence must stand.
    """
    if not instances:
        return []
    by_id, by_version = _standing_texts(chat_id, instances)
    return [
        instance.withdrawn_at is None
        and any(
            instance.quote in text
            for text in (*by_id.get(instance.message_id, ()), *by_version.get(instance.fingerprint, ()))
        )
        for instance in instances
    ]


def _standing_texts(chat_id: UUID, instances: Sequence[Instance]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The texts of the transcript's messages that the instances may stand on, by message id and by fingerprint."""
    ids = {instance.message_id for instance in instances}
    versions = {instance.fingerprint for instance in instances}
    by_id: dict[str, list[str]] = {}
    by_version: dict[str, list[str]] = {}
    messages = Message.objects.filter(chat=chat_id, position__isnull=False)
    for message in messages.filter(Q(message_id__in=ids) | Q(fingerprint__in=versions)):
        by_id[message.message_id] = by_version[message.fingerprint] = _texts(message)
    return by_id, by_version


def _texts(message: Message) -> list[str]:
    return [part_text(part) for part in transcript_view(message.role, message.parts)["parts"]]
