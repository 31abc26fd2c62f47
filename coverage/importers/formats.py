"""The registry of formats, and how a file's format is found: by what its first items hold, never by its name."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from . import chatgpt, uimessage
from .documents import Document, UnreadableFile
from .records import ParsedChat, Problem

# So many items may be broken at the start of a file before its format is given up.
_LOOK_AT = 20


class Format(Protocol):
    """One module per format satisfies this. ``NAME`` becomes the chat's ``source``."""

    NAME: str
    LABEL: str

    def recognises(self, value: Any) -> bool:
        """Whether one item of a document is of this format."""

    def read(self, document: Document) -> Iterator[ParsedChat | Problem]:
        """The conversations, one at a time."""


FORMATS: dict[str, Format] = {module.NAME: module for module in (uimessage, chatgpt)}
NAMES = ("auto", *FORMATS)


class UnknownFormat(UnreadableFile):
    """Valid JSON that is not chats."""


def detect(document: Document) -> Format:
    """The format of a document. Raises UnreadableFile when none fits, OSError when the file cannot be read."""
    first_error = None
    for item in islice(document.items(), _LOOK_AT):
        if item.error:
            first_error = first_error or item
            continue
        for candidate in FORMATS.values():
            if candidate.recognises(item.value):
                return candidate
    if document.wrapper == "chats":
        return uimessage
    if first_error:
        raise UnreadableFile(f"{document.unit} {first_error.number}: {first_error.error}", first_error.remedy)
    known = ", ".join(candidate.LABEL for candidate in FORMATS.values())
    raise UnknownFormat("it holds JSON, but no chats in a format that can be imported", f"these can: {known}")
