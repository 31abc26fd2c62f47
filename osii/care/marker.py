"""The mark of a restore that has not ended: while it lies in the home, nothing else starts there."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

NAME = "restoring.json"


@dataclass(frozen=True, slots=True)
class Marker:
    """``backup`` is the id of the archive, ``file`` where it lay, ``database`` which database it goes to."""

    backup: str
    file: str
    database: str

    def write(self) -> None:
        place = path()
        fresh = place.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)), encoding="utf-8")
        fresh.replace(place)


def path() -> Path:
    return settings.OSII_HOME / NAME


def read() -> Marker | None:
    """The mark, if there is one; one that cannot be read counts, with nothing in it."""
    try:
        return Marker(**json.loads(path().read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        return Marker("", "", "")


def clear() -> None:
    path().unlink(missing_ok=True)


def refuse_to_start() -> None:
    """Raises ImproperlyConfigured while a restore into this home has not ended."""
    if (found := read()) is not None:
        raise ImproperlyConfigured(
            f"a restore into {settings.OSII_HOME} did not end: "
            f"run manage.py restore {found.file or 'FILE'} again, which begins anew or brings it to its end"
        )
