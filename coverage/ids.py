"""Identifiers: time-ordered (UUIDv7), so that index order is creation order."""

import uuid

import uuid6


def new_id() -> uuid.UUID:
    """A fresh UUIDv7 as a plain ``uuid.UUID``."""
    return uuid.UUID(bytes=uuid6.uuid7().bytes)
