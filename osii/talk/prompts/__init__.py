"""What the prober and the teacher are told. Each text is a file with a version in its name; a changed text is a new file."""

from functools import cache
from pathlib import Path

from osii.talk.state import PROBER, TEACHER

VERSIONS = {PROBER: "prober_v1", TEACHER: "teacher_v1"}


@cache
def instructions(speaker: str) -> str:
    """The instructions of this speaker."""
    return (Path(__file__).parent / f"{VERSIONS[speaker]}.md").read_text(encoding="utf-8").strip()
