"""The thread that keeps a lease alive while its holder works: of a run, of an item of a processing run, of an import.

It has a database connection of its own, so a long step does not let the lease expire; a process that is killed stops
renewing, and the reconciler gives the work to another.
"""

import logging
import threading
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import connection
from django.db.utils import Error

logger = logging.getLogger(__name__)


class Heartbeat:
    """A context manager that calls ``renew`` four times per lease. ``what`` names the work in the log and the thread."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_stopped, name=f"lease-{what}", daemon=True)

    def renew(self) -> int:
        """Extend the lease, if this attempt still holds it; returns how many rows that were: 0 when it does not."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _renew_until_stopped(self) -> None:
        try:
            while not self._stop.wait(settings.EXTRACTION_LEASE_SECONDS / 4):
                try:
                    if not self.renew():
                        self._lost.set()
                        return
                except Error as error:
                    logger.warning("Could not renew the lease of %s: %s", self._what, error)
                    connection.close()
        finally:
            connection.close()
