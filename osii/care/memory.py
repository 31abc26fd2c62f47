"""What processes hold in memory of people's texts, and its end once somebody was erased.

Whoever erases a learner cannot reach into other processes. Each looks every half a minute, when it works, whether there was
an erasure since it looked last, and then drops all its matrices and remembered texts; they are read anew when needed.
"""

import fnmatch
import logging
import re
import threading
import time
import urllib.parse

from django.db import DatabaseError, InterfaceError

from extraction.auditing import reading
from extraction.exploring import admission
from graphctx import scan
from graphctx.embedders import hashing

from .models import Erasure

logger = logging.getLogger(__name__)

EVERY_SECONDS = 30.0
TEXTS = (admission._instruction, admission._audible, reading.read, hashing._direction)


class Watch:
    """The last erasure that this process knows of, and when it looked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: object = None
        self._due = 0.0

    def look(self, **_signal: object) -> None:
        """Forget if there was an erasure since the last look; asks the database at most once in EVERY_SECONDS."""
        now = time.monotonic()
        with self._lock:
            if now < self._due:
                return
            self._due = now + EVERY_SECONDS
        try:
            latest = Erasure.objects.order_by("-created_at", "-id").values_list("pk", flat=True).first()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Whether somebody was erased cannot be asked just now (%s)", error)
            return
        with self._lock:
            changed, self._known = latest != self._known, latest
        if changed:
            forget()


def forget() -> None:
    """Drop every matrix and remembered text of this process."""
    scan.cache.clear()
    for remembered in TEXTS:
        remembered.cache_clear()
    # Addresses hold what was searched for, patterns the names of files.
    urllib.parse.clear_cache()  # type: ignore[attr-defined]  # its types leave it out
    fnmatch._compile_pattern.cache_clear()  # type: ignore[attr-defined]  # the same
    re.purge()


watch = Watch()
