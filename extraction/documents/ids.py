"""Ids of documents and extraction versions. Every path inside the store is built from ids that passed these checks."""

import re
import secrets
from datetime import UTC, datetime

from .errors import UnknownDocument, UnknownVersion

FILE_ID = re.compile(r"sha256-[0-9a-f]{64}")
EXTRACTION_ID = re.compile(
    r"(?P<slug>[a-z0-9][a-z0-9-]{0,79})-(?P<at>\d{14})-[0-9a-f]{8}|legacy-[a-z0-9][a-z0-9-]{0,79}-[0-9a-f]{8}"
)
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


def is_file_id(value: str) -> bool:
    return FILE_ID.fullmatch(value) is not None


def is_extraction_id(value: str) -> bool:
    return EXTRACTION_ID.fullmatch(value) is not None


def check_file_id(value: str) -> str:
    """The value itself. Raises UnknownDocument unless it has the form of a document id."""
    if not is_file_id(value):
        raise UnknownDocument(value)
    return value


def check_extraction_id(value: str) -> str:
    """The value itself. Raises UnknownVersion unless it has the form of an extraction id."""
    if not is_extraction_id(value):
        raise UnknownVersion("unknown_version", f"there is no extraction version {value!r}")
    return value


def file_id_of(sha256: str) -> str:
    return check_file_id(f"sha256-{sha256}")


def slug(name: str) -> str:
    """The name in the letters that an id may have; "unknown" when nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80].strip("-") or "unknown"


def new_extraction_id(extractor: str, at: datetime | None = None) -> str:
    """A fresh ``<slug>-<YYYYMMDDHHMMSS>-<8 hex>``, UTC."""
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return f"{slug(extractor)}-{moment:%Y%m%d%H%M%S}-{secrets.token_hex(4)}"


def legacy_extraction_id(extractor: str, text_sha256: str) -> str:
    """The id under which an object from before versions is registered: the same at every attempt."""
    return f"legacy-{slug(extractor)}-{text_sha256[:8]}"


def is_legacy(extraction_id: str) -> bool:
    """Whether the version was registered from an object from before versions."""
    return extraction_id.startswith("legacy-") and time_of(extraction_id) is None


def time_of(extraction_id: str) -> datetime | None:
    """When the version was made, read from its id; None for a legacy id or an impossible time."""
    match = EXTRACTION_ID.fullmatch(extraction_id)
    if match is None or match["at"] is None:
        return None
    try:
        return datetime.strptime(match["at"], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
