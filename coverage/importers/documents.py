"""One file as a stream of items: the elements of an array, the lines of a JSONL file, or single objects.

The layout comes from the content. Formats read items; what could not be read arrives as an item with an error.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO

from .jsontext import MAX_VALUE, BrokenText, JsonText, MalformedValue, elements, fields, parse
from .sources import Source
from .spill import Spill
from .streams import PackedFileError, position
from .trees import parse_spilled

# Fields of a top-level object whose array holds the conversations.
WRAPPERS = ("chats", "conversations")
# An element of such an array with these fields is a turn: then the object is one conversation, and wraps nothing.
_TURN = {"from", "value"}
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
                yield from self._values(stream)

    def _values(self, stream: BinaryIO) -> Iterator[Item]:
        number = 0
        try:
            text = JsonText(stream)
            for raw in self._raw_values(text):
                number += 1
                self.bytes_read = position(stream, text.offset)
                item = _item(number, raw)
                # While a conversation is stored, its text is not needed.
                del raw
                yield item
                del item
            if self.layout is not Layout.OBJECTS and text.peek():
                raise BrokenText("there is more text behind the end of the JSON", text.offset)
        except BrokenText as error:
            yield _last_item(number + 1, f"{error.reason} (byte {error.offset:,})", _CUT_OFF)
        except PackedFileError as error:
            yield _last_item(number + 1, error.strerror, error.remedy)

    def _raw_values(self, text: JsonText) -> Iterator[bytes | Spill]:
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
        number = offset = 0
        try:
            while line := stream.readline(MAX_VALUE):
                number += 1
                offset += len(line)
                self.bytes_read = position(stream, offset)
                line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if line.strip():
                    yield _item(number, line)
        except PackedFileError as error:
            yield _last_item(number + 1, error.strerror, error.remedy)


def _item(number: int, raw: bytes | Spill) -> Item:
    try:
        return Item(number, parse_spilled(raw) if isinstance(raw, Spill) else parse(raw))
    except MalformedValue as error:
        return Item(number, error=str(error), remedy="correct it, or remove it")


def _last_item(number: int, reason: str, remedy: str) -> Item:
    return Item(number, error=f"{reason}; nothing from here on was read", remedy=remedy, last=True)


def open_document(source: Source) -> Document:
    """Find the layout of a file. Raises UnreadableFile with a reason for people, or OSError."""
    with source.open() as stream:
        head = stream.peek(4)[:4]
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UnreadableFile("it is UTF-16 text", "save it as UTF-8")
        if source.looks_like_zip and head.startswith(b"PK"):
            raise UnreadableFile("it is an archive inside another one", "unpack the outer one, and import the folder")
        first = JsonText(stream).peek()
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
        lines: list[bytes] = []
        while len(lines) < 2 and (line := stream.readline(_FIRST_LINE)):
            if line.strip():
                lines.append(line.removeprefix(b"\xef\xbb\xbf"))
    if len(lines[0]) >= _FIRST_LINE:
        return False
    first = _object(lines[0])
    if first is not None:
        return not any(_wraps_conversations(first.get(name)) for name in WRAPPERS)
    return len(lines) > 1 and _object(lines[1]) is not None


def _object(line: bytes) -> dict[str, Any] | None:
    value = _value(line)
    return value if isinstance(value, dict) else None


def _wraps_conversations(value: Any) -> bool:
    return isinstance(value, list) and not (value and _is_turn(value[0]))


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= _TURN


def _wrapper(source: Source) -> str:
    """The field of the top-level object whose array holds the conversations; ``""`` when it is one conversation."""
    with source.open() as stream, suppress(BrokenText, MalformedValue):
        text = JsonText(stream)
        for name in fields(text):
            if name in WRAPPERS and text.peek() == "[":
                return "" if _begins_with_turn(text) else name
            text.take()
    return ""


def _begins_with_turn(text: JsonText) -> bool:
    with suppress(BrokenText):
        return any(_is_turn(_value(raw)) for raw in islice(elements(text), 1))
    return False


def _value(raw: bytes | Spill) -> Any:
    with suppress(MalformedValue):
        return parse(raw)
    return None
