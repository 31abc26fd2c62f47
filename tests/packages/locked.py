"""The packages of requirements.lock."""

from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"


def packages(lock: Path = LOCK) -> dict[str, str]:
    """Name and version of each, in the file's order. Raises ValueError for a line that pins nothing."""
    found = {}
    for line in lock.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, pinned, version = line.partition("==")
        if not pinned:
            raise ValueError(f"{lock.name}: {line!r} pins no version")
        found[name] = version
    return found
