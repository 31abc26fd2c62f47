"""A run's lease: claimed by one conditional UPDATE, kept alive by a thread, checked before every write.

Times are the database's: the clocks of several machines may differ.
"""

import os
import platform
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from coverage.queueing import stop_requested

from ..models import Run
from .heartbeat import Heartbeat

LEAST_SILENCE_SECONDS = 30
"""A transaction in which a worker says nothing for a lease, and at least for this long, is ended by the database."""
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
"""The connection is gone, or a transaction was undone for a deadlock or for want of room: what was worked on is not to blame.
A session that was ended for its silence is an InternalError."""


class LeaseLost(Exception):
    """This attempt no longer holds the run: another one took it over, or it ended."""


class RunAborted(Exception):
    """Someone asked for this run to stop."""


class WorkerStopping(Exception):
    """This process was told to stop: the run goes back to the queue, and nobody is to blame."""


def claim(run_id: UUID) -> Run | None:
    """Claim a queued run for this process; None when it is not queued (any more)."""
    claimed = Run.objects.filter(pk=run_id, status=Run.Status.QUEUED).update(
        status=Run.Status.RUNNING,
        attempt=F("attempt") + 1,
        attempt_token=uuid.uuid4(),
        lease_expires_at=Now() + lease_length(),
        heartbeat_at=Now(),
        started_at=Coalesce("started_at", Now()),
        held_by=f"{platform.node()}:{os.getpid()}",
    )
    return Run.objects.select_related("chat__learner").get(pk=run_id) if claimed else None


def lease_length() -> timedelta:
    return timedelta(seconds=settings.EXTRACTION_LEASE_SECONDS)


def limit_silence() -> None:
    """Inside a transaction: a worker that freezes in it would keep its locks, and nobody could take its run over. The
    database ends the session then, and what the worker did in the transaction with it.
    """
    silence = max(settings.EXTRACTION_LEASE_SECONDS, LEAST_SILENCE_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{silence}s"])


class Lease(Heartbeat):
    """Keeps a claimed run's lease alive while its holder works."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"run {run.pk}")
        self._run_id = run.pk
        self._token = run.attempt_token

    def renew(self) -> int:
        held = Run.objects.filter(pk=self._run_id, attempt_token=self._token, status=Run.Status.RUNNING)
        return held.update(heartbeat_at=Now(), lease_expires_at=Now() + lease_length())

    def checkpoint(self) -> None:
        """Between steps: raise when the run was aborted or is no longer ours, or this process is to stop."""
        if stop_requested.is_set():
            raise WorkerStopping(f"run {self._run_id} goes back to the queue")
        if self._lost.is_set():
            raise LeaseLost(f"run {self._run_id} is no longer ours")
        row = Run.objects.filter(pk=self._run_id).values("attempt_token", "status", "abort_requested_at").first()
        self._judge(row)

    def guard(self) -> Run:
        """Inside a transaction: lock the run and prove that this attempt still holds it (see ``limit_silence``)."""
        limit_silence()
        run = Run.objects.select_for_update(no_key=True).filter(pk=self._run_id).first()
        row: Mapping[str, Any] | None = run and {
            "attempt_token": run.attempt_token,
            "status": run.status,
            "abort_requested_at": run.abort_requested_at,
        }
        self._judge(row)
        assert run is not None
        return run

    def guard_success(self) -> Run:
        """``guard``, where a batch was read to its end: what was lost before is made good, and counts no more."""
        run = self.guard()
        if run.fruitless:
            run.fruitless = 0
            run.save(update_fields=("fruitless",))
        return run

    def _judge(self, row: Mapping[str, Any] | None) -> None:
        if row is None or row["attempt_token"] != self._token or row["status"] != Run.Status.RUNNING:
            raise LeaseLost(f"run {self._run_id} is no longer ours")
        if row["abort_requested_at"] is not None:
            raise RunAborted(f"run {self._run_id} was aborted")
