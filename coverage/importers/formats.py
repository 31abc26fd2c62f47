"""The registry of formats, and how a file's format is found: by what its first items hold, never by its name."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from . import (
    anthropic,
    chatgpt,
    checkpoints,
    claude,
    claude_code,
    langchain,
    openai_chat,
    openai_responses,
    sharegpt,
    uimessage,
)
from .documents import Document, UnreadableFile
from .records import Fit, ParsedChat, Problem, Skipped

# So many items may be broken at the start of a file before its format is given up.
_LOOK_AT = 20


class Format(Protocol):
    """One module per format satisfies this. ``SOURCE`` becomes the chat's source, ``NAME`` names the format."""

    NAME: str
    LABEL: str
    SOURCE: str

    def recognises(self, value: Any) -> Fit:
        """How well one item of a document fits this format."""

    def read(self, document: Document) -> Iterator[ParsedChat | Problem | Skipped | checkpoints.Checkpoint]:
        """The conversations, one at a time; or checkpoints of chats."""


# Where several are sure of an item, the first has it.
_MODULES = (
    uimessage, chatgpt, claude, claude_code, openai_chat, openai_responses, anthropic, langchain, sharegpt,
    checkpoints,
)  # fmt: skip
FORMATS: dict[str, Format] = {module.NAME: module for module in _MODULES}
NAMES = ("auto", *FORMATS)


class UnknownFormat(UnreadableFile):
    """Valid JSON that is not chats."""


def detect(document: Document) -> Format:
    """The format of a document. Raises UnreadableFile when none fits, OSError when the file cannot be read."""
    first_error = None
    best, best_fit = None, Fit.NO
    for item in islice(document.items(), _LOOK_AT):
        if item.error:
            first_error = first_error or item
            continue
        for candidate in FORMATS.values():
            fit = candidate.recognises(item.value)
            if fit is Fit.SURE:
                return candidate
            if fit > best_fit:
                best, best_fit = candidate, fit
    if best:
        return best
    if document.wrapper == "chats":
        return uimessage
    if first_error:
        raise UnreadableFile(f"{document.unit} {first_error.number}: {first_error.error}", first_error.remedy)
    known = ", ".join(candidate.LABEL for candidate in FORMATS.values())
    raise UnknownFormat("it holds JSON, but no chats in a format that can be imported", f"these can: {known}")
