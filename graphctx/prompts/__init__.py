"""Texts that models read. Each is a file with a version in its name; a changed text is a new file."""

from functools import cache
from pathlib import Path

CONTEXT_VERSION = "context_v1"
LINES = "{lines}"


@cache
def context_frame(version: str = CONTEXT_VERSION) -> tuple[str, str]:
    """What stands before and after the lines of a context block; each line ends with its own newline."""
    text = (Path(__file__).parent / f"{version}.txt").read_text(encoding="utf-8").strip()
    before, _lines, after = text.partition(LINES)
    return before, after.lstrip("\n")
