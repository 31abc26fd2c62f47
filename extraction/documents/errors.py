"""What can go wrong with documents, each with a short name that pages, commands and rows show.

No Django here: extractors in the child process raise these too.
"""


class DocumentError(Exception):
    """Base of every refusal. ``reason`` is a stable short name; the message says what happened and what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class SourceRefused(DocumentError):
    """A path cannot become a document: missing, empty, too large, a folder, a special file, unreadable, …"""


class ExtractionFailed(DocumentError):
    """An extractor did not produce a usable bundle."""


class ExtractorRefused(DocumentError):
    """No extractor reads this type of file, the named one is unknown, or its options are wrong."""


class UnknownDocument(DocumentError):
    def __init__(self, file_id: str) -> None:
        super().__init__("unknown_document", f"there is no document {file_id!r}")


class UnknownVersion(DocumentError):
    """There is no such extraction version, or it belongs to another document."""


class PromotionRefused(DocumentError):
    """The version may not become primary."""


class RemovalRefused(DocumentError):
    """The versions named may not be removed."""


class PrimaryMoved(DocumentError):
    """The primary is no longer the one the caller saw. ``current`` is its id now, or None."""

    def __init__(self, expected: str | None, current: str | None) -> None:
        super().__init__(
            "primary_moved",
            f"the primary is {current or 'not set'} now, not {expected or 'unset'}: look at it and decide again",
        )
        self.current = current


class StoreError(DocumentError):
    """The store directory cannot be used, is busy, or lacks a file it should have."""
