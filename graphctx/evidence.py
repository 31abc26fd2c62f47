"""Live evidence: an instance is live while its quote still stands in its source.

Evaluated inside the transaction that changes the source, so a reader never sees a claim whose evidence is gone.
"""

from typing import Any
from uuid import UUID

from django.db.models import F
from django.dispatch import receiver

from coverage.models import Learner, Message
from coverage.signals import transcript_changed
from coverage.view import part_text, transcript_view

from .models import Instance


@receiver(transcript_changed)
def refresh_messages(chat_id: UUID, message_ids: list[str], **_kwargs: Any) -> int:
    """Re-evaluate the instances that stand on these messages; returns how many changed."""
    instances = list(Instance.objects.filter(chat=chat_id, message_id__in=message_ids))
    if not instances:
        return 0
    messages = Message.objects.filter(chat=chat_id, message_id__in=message_ids, position__isnull=False)
    texts = {message.message_id: _texts(message) for message in messages}
    changed = [
        instance
        for instance in instances
        if instance.live != any(instance.quote in text for text in texts.get(instance.message_id, ()))
    ]
    for instance in changed:
        instance.live = not instance.live
    Instance.objects.bulk_update(changed, ["live"], batch_size=500)
    if changed:
        Learner.objects.filter(chats=chat_id).update(graph_revision=F("graph_revision") + 1)
    return len(changed)


def _texts(message: Message) -> list[str]:
    return [part_text(part) for part in transcript_view(message.role, message.parts)["parts"]]
