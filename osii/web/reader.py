"""Reading a window of an extraction version's text, without holding all of a large one."""

from dataclasses import dataclass

from extraction.documents.bundle import TEXT
from extraction.documents.errors import DocumentError
from extraction.documents.store import library_store
from extraction.models import ExtractionVersion

WINDOW = 20_000
"""Characters on one page of the preview."""


@dataclass(frozen=True, slots=True)
class Window:
    """Characters ``start`` to ``end`` of a text; ``error`` says why there is none."""

    start: int = 0
    end: int = 0
    text: str = ""
    error: str = ""


def read_window(version: ExtractionVersion, start: int) -> Window:
    """The window that holds the character ``start``; a start beyond the end gives the last window."""
    last = max(0, (version.text_chars - 1) // WINDOW * WINDOW)
    start = min(max(0, start) // WINDOW * WINDOW, last)
    try:
        path = library_store().version_dir(version.document_id, version.pk) / TEXT
        with path.open(encoding="utf-8", newline="") as file:
            skipped = 0
            while skipped < start and (chunk := file.read(min(WINDOW, start - skipped))):
                skipped += len(chunk)
            text = file.read(WINDOW)
    except (OSError, UnicodeDecodeError, DocumentError) as error:
        return Window(error=f"The text of {version.pk} cannot be read ({error}). `manage.py reconcile` may repair it.")
    return Window(start, start + len(text), text)
