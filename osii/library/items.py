"""One document of a run in somebody's hands: claimed by one conditional UPDATE, kept alive by a thread, proved before
every write. Times are the database's: the clocks of several machines may differ.
"""

import os
import platform
import uuid
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now

from coverage.queueing import stop_requested
from extraction.running.heartbeat import Heartbeat
from extraction.running.leases import WorkerStopping, lease_length, limit_silence

from .run_models import ProcessingItem, ProcessingRun, ProcessingStep


class ItemLost(Exception):
    """This attempt no longer holds the item: another one took it over, or it ended."""


class RunPaused(Exception):
    """The run was paused: the item goes back, and nobody is to blame."""


class RunCancelled(Exception):
    """Someone asked for the run to stop."""


def claim(item_id: int) -> ProcessingItem | None:
    """Claim a queued item of a run that goes on; None when it is not queued (any more), or its run rests or ended."""
    going_on = ProcessingRun.objects.filter(
        status__in=(ProcessingRun.Status.QUEUED, ProcessingRun.Status.RUNNING), cancel_requested_at__isnull=True
    )
    claimed = ProcessingItem.objects.filter(pk=item_id, status=ProcessingItem.Status.QUEUED, run__in=going_on).update(
        status=ProcessingItem.Status.RUNNING,
        attempt=F("attempt") + 1,
        attempt_token=uuid.uuid4(),
        lease_expires_at=Now() + lease_length(),
        heartbeat_at=Now(),
        started_at=Coalesce("started_at", Now()),
        held_by=f"{platform.node()}:{os.getpid()}"[:200],
    )
    if not claimed:
        return None
    item = ProcessingItem.objects.select_related("run", "document").get(pk=item_id)
    # A statement of its own: who cancels locks the run first and its items then.
    ProcessingRun.objects.filter(pk=item.run_id, status=ProcessingRun.Status.QUEUED).update(
        status=ProcessingRun.Status.RUNNING, started_at=Coalesce("started_at", Now())
    )
    return item


class Holding(Heartbeat):
    """Keeps a claimed item's lease alive while its holder works, and writes for it."""

    def __init__(self, item: ProcessingItem) -> None:
        super().__init__(f"item {item.pk}")
        self.item = item

    def _held(self) -> QuerySet[ProcessingItem]:
        return ProcessingItem.objects.filter(
            pk=self.item.pk, attempt_token=self.item.attempt_token, status=ProcessingItem.Status.RUNNING
        )

    def renew(self) -> int:
        return self._held().update(heartbeat_at=Now(), lease_expires_at=Now() + lease_length())

    def checkpoint(self) -> None:
        """Between steps, and within long ones: raise when the run rests or stops, the item is no longer ours, or this
        process is to stop."""
        if stop_requested.is_set():
            raise WorkerStopping(f"item {self.item.pk} goes back to the queue")
        if self._lost.is_set():
            raise ItemLost(f"item {self.item.pk} is no longer ours")
        row = self._held().values("run__status", "run__cancel_requested_at").first()
        if row is None:
            raise ItemLost(f"item {self.item.pk} is no longer ours")
        if row["run__cancel_requested_at"] is not None:
            raise RunCancelled(f"run {self.item.run_id} was cancelled")
        if row["run__status"] == ProcessingRun.Status.PAUSED:
            raise RunPaused(f"run {self.item.run_id} was paused")

    def begin(self, step: str) -> ProcessingStep:
        """The step's row, as begun by this attempt. Raises ItemLost."""
        with transaction.atomic():
            self._prove()
            row, made = ProcessingStep.objects.get_or_create(
                item=self.item, step=step, defaults={"attempt": self.item.attempt}
            )
            if not made:
                ProcessingStep.objects.filter(pk=row.pk).update(
                    status=ProcessingStep.Status.RUNNING, error="", attempt=self.item.attempt, started_at=Now(),
                    finished_at=None, extraction=None, output=None,
                )  # fmt: skip
                row.refresh_from_db()
        return row

    def finish(self, row: ProcessingStep, status: str, **values: Any) -> None:
        """Write how the step ended. Raises ItemLost."""
        with transaction.atomic():
            self._prove()
            ProcessingStep.objects.filter(pk=row.pk).update(status=status, finished_at=Now(), **values)

    def found(self, file_id: str) -> None:
        """The document that the path of an intake's item became. Raises ItemLost."""
        with transaction.atomic():
            self._prove()
            self._held().update(document=file_id)
        self.item.document_id = file_id

    def end(self, status: str, error: str = "") -> bool:
        """Give the lease back and end; False when another attempt holds the item."""
        return bool(
            self._held().update(
                status=status, error=error, attempt_token=None, lease_expires_at=None, finished_at=Now()
            )
        )

    def hand_back(self) -> None:
        """The item waits again. Steps that had begun and not ended begin anew."""
        self._held().update(status=ProcessingItem.Status.QUEUED, attempt_token=None, lease_expires_at=None)

    def _prove(self) -> None:
        """In a transaction: lock the item and prove that this attempt still holds it.

        Of a worker that freezes in it, the database ends the session, so that another can take the item.
        """
        limit_silence()
        if not self._held().select_for_update(no_key=True).exists():
            raise ItemLost(f"item {self.item.pk} is no longer ours")
