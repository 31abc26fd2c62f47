"""One file as a stream of items: the elements of an array, the lines of a JSONL file, or single objects.

The layout comes from the content. Formats read items; what could not be read arrives as an item with an error.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO

from .jsontext import MAX_VALUE, BrokenText, JsonText, MalformedValue, elements, fields, parse
from .sources import Source

# Fields of a top-level object whose array holds the conversations.
WRAPPERS = ("chats", "conversations")
# JSON Lines are told apart from one JSON text by their first line; a longer first line means one JSON text.
_FIRST_LINE = 32 * 1024 * 1024
_CUT_OFF = "the file may be cut off: get it again, or repair it"


class Layout(StrEnum):
    ARRAY = "array"
    LINES = "lines"
    OBJECTS = "objects"


@dataclass(slots=True)
class Item:
    """One value of a document. ``error`` says why there is none; ``last`` that nothing after it can be read."""

    number: int
    value: Any = None
    error: str = ""
    remedy: str = ""
    last: bool = False


class UnreadableFile(ValueError):
    """The file as a whole holds nothing that can be imported."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class NotJson(UnreadableFile):
    """The file does not even begin as JSON does."""


class Document:
    """A file and its layout. ``bytes_read`` follows the iteration of ``items``."""

    def __init__(self, source: Source, layout: Layout, wrapper: str = ""):
        self.source = source
        self.layout = layout
        self.wrapper = wrapper
        self.bytes_read = 0

    @property
    def unit(self) -> str:
        """What an item is called in messages when it is a conversation."""
        return "line" if self.layout is Layout.LINES else "conversation"

    def items(self) -> Iterator[Item]:
        """The items from the start; can be called again. Raises OSError."""
        self.bytes_read = 0
        with self.source.open() as stream:
            if self.layout is Layout.LINES:
                yield from self._lines(stream)
            else:
                yield from self._values(JsonText(stream))

    def _values(self, text: JsonText) -> Iterator[Item]:
        number = 0
        try:
            for raw in self._raw_values(text):
                number += 1
                self.bytes_read = text.offset
                yield _item(number, raw)
            if self.layout is not Layout.OBJECTS and text.peek():
                raise BrokenText("there is more text behind the end of the JSON", text.offset)
        except BrokenText as error:
            reason = f"{error.reason} (byte {error.offset:,})"
            yield Item(number + 1, error=f"{reason}; nothing from here on was read", remedy=_CUT_OFF, last=True)

    def _raw_values(self, text: JsonText) -> Iterator[bytes]:
        if self.layout is Layout.ARRAY:
            yield from elements(text)
        elif self.wrapper:
            for name in fields(text):
                if name == self.wrapper and text.peek() == "[":
                    yield from elements(text)
                else:
                    text.take()
        else:
            while text.peek():
                yield text.take()

    def _lines(self, stream: BinaryIO) -> Iterator[Item]:
        number = 0
        while line := stream.readline(MAX_VALUE):
            number += 1
            self.bytes_read += len(line)
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if line.strip():
                yield _item(number, line)


def _item(number: int, raw: bytes) -> Item:
    try:
        return Item(number, parse(raw))
    except MalformedValue as error:
        return Item(number, error=str(error), remedy="correct it, or remove it")


def open_document(source: Source) -> Document:
    """Find the layout of a file. Raises UnreadableFile with a reason for people, or OSError."""
    with source.open() as stream:
        head = stream.read(4)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UnreadableFile("it is UTF-16 text", "save it as UTF-8")
        stream.seek(0)
        text = JsonText(stream)
        first = text.peek()
    if not first:
        raise NotJson("it is empty", "export it again")
    if first == "[":
        return Document(source, Layout.ARRAY)
    if first != "{":
        raise NotJson("it is not a JSON text", "give JSON or JSONL, as the export wrote it")
    if _is_lines(source):
        return Document(source, Layout.LINES)
    return Document(source, Layout.OBJECTS, _wrapper(source))


def _is_lines(source: Source) -> bool:
    """Whether a file that begins with an object holds one object per line.

    The first line decides; where it is broken, the second may show what the file was meant to be.
    """
    with source.open() as stream:
        lines = []
        while len(lines) < 2 and (line := stream.readline(_FIRST_LINE)):
            if line.strip():
                lines.append(line.removeprefix(b"\xef\xbb\xbf"))
    first = _object(lines[0])
    if first is not None:
        return not any(isinstance(first.get(name), list) for name in WRAPPERS)
    return len(lines) > 1 and _object(lines[1]) is not None


def _object(line: bytes) -> dict[str, Any] | None:
    with suppress(MalformedValue):
        value = parse(line)
        return value if isinstance(value, dict) else None
    return None


def _wrapper(source: Source) -> str:
    """The field of the top-level object whose array holds the conversations; ``""`` when it is one conversation."""
    with source.open() as stream, suppress(BrokenText, MalformedValue, json.JSONDecodeError):
        text = JsonText(stream)
        for name in fields(text):
            if name in WRAPPERS and text.peek() == "[":
                return name
            text.take()
    return ""
