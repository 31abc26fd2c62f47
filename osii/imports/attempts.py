"""One attempt at an import: claimed by one conditional UPDATE, kept alive by a thread, proved before every write.

Times are the database's: the clocks of several machines may differ, or jump.
"""

import os
import platform
import uuid
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from coverage.models import Chat
from extraction.running.heartbeat import Heartbeat
from extraction.running.leases import lease_length
from osii.models import ChatImport, ImportedChat


class AttemptLost(Exception):
    """This attempt no longer holds the import: another one took it over, or it ended."""


class ImportCancelled(Exception):
    """Someone asked for this import to stop."""


def claim(import_id: UUID) -> ChatImport | None:
    """Claim a queued import for this process; None when it is not queued (any more)."""
    claimed = ChatImport.objects.filter(pk=import_id, status=ChatImport.Status.QUEUED).update(
        status=ChatImport.Status.RUNNING,
        attempt=F("attempt") + 1,
        attempt_token=uuid.uuid4(),
        lease_expires_at=Now() + lease_length(),
        heartbeat_at=Now(),
        started_at=Now(),
        held_by=f"{platform.node()}:{os.getpid()}"[:200],
        bytes_done=0,
    )
    return ChatImport.objects.get(pk=import_id) if claimed else None


class Attempt(Heartbeat):
    """Keeps a claimed import's lease alive while its holder works, and writes for it."""

    def __init__(self, row: ChatImport) -> None:
        super().__init__(f"import {row.pk}")
        self._id = row.pk
        self._token = row.attempt_token

    def _held(self) -> QuerySet[ChatImport]:
        return ChatImport.objects.filter(pk=self._id, attempt_token=self._token, status=ChatImport.Status.RUNNING)

    def renew(self) -> int:
        return self._held().update(heartbeat_at=Now(), lease_expires_at=Now() + lease_length())

    def write(self, conversations: Sequence[ImportedChat] = (), **values: Any) -> None:
        """Write progress and add to the report, if this attempt still holds the import.

        What an earlier attempt reported of a conversation stands: it was the one that imported it. Raises AttemptLost,
        and ImportCancelled once everything is written.
        """
        with transaction.atomic():
            held = self._held().update(heartbeat_at=Now(), lease_expires_at=Now() + lease_length(), **values)
            if not held:
                raise AttemptLost(f"import {self._id} is no longer ours")
            _forget_erased(conversations)
            ImportedChat.objects.bulk_create(conversations, ignore_conflicts=True, batch_size=500)
        if ChatImport.objects.filter(pk=self._id, cancel_requested_at__isnull=False).exists():
            raise ImportCancelled(f"import {self._id} was cancelled")

    def end(self, status: str, **values: Any) -> bool:
        """Give the lease back and end; False when another attempt holds it."""
        ended = self._held().update(
            status=status, attempt_token=None, lease_expires_at=None, finished_at=Now(), **values
        )
        return bool(ended)

    def hand_back(self) -> None:
        """The import waits again, for the reconciler to enqueue."""
        self._held().update(status=ChatImport.Status.QUEUED, attempt_token=None, lease_expires_at=None, queued_at=Now())


def _forget_erased(conversations: Sequence[ImportedChat]) -> None:
    """A chat that was erased since it was imported is not named."""
    wanted = {row.chat_id for row in conversations if row.chat_id}
    there = set(Chat.objects.filter(pk__in=wanted).values_list("pk", flat=True)) if wanted else set()
    for row in conversations:
        if row.chat_id and row.chat_id not in there:
            row.chat_id, row.title = None, ""
