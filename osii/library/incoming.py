"""Where uploaded documents wait until they are added."""

from pathlib import Path

from django.conf import settings

KEPT_DAYS = 7
"""So long an upload waits for a decision, and one of which something failed for another try."""


def uploads_root() -> Path:
    return settings.OSII_HOME / "uploads" / "documents"
