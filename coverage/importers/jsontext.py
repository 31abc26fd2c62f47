"""Cuts a JSON text of any length into its values, one in memory at a time.

Only brackets and strings are followed here; each value's own text then goes to the standard library's parser. So text
arrives exactly as it was written (lone surrogates and NUL included, for the message checks to see), numbers of any
size are read, and a value that is not valid JSON spoils itself alone.
"""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from . import spill
from .spill import Spill

# A value larger than this, in bytes, is refused: its brackets hardly ever belong together.
MAX_VALUE = 512 * 1024 * 1024
_FIRST_READ = 256 * 1024
_LARGEST_READ = 8 * 1024 * 1024

# Everything up to the next bracket outside a string, or up to a string that this piece of the text does not close.
# No possessive repeat here stands around a group that can backtrack: Python 3.11.0 to 3.11.4 match those wrongly.
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# Inside a string: up to its closing quote, or to where this piece of the text ends.
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:"{}\[\]]++')
_SPACE = re.compile(rb"[ \t\r\n]*+")
_PARTNER = {ord("}"): ord("{"), ord("]"): ord("[")}


class BrokenText(ValueError):
    """From ``offset`` (bytes) on the text cannot be followed; what came before is good."""

    def __init__(self, reason: str, offset: int):
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class MalformedValue(ValueError):
    """One value that is not valid JSON; its neighbours are not touched by it."""


class JsonText:
    """A cursor over a JSON text. Every method that reads raises BrokenText where it cannot go on.

    The text of an object or array from ``spill.FROM`` bytes on is not kept in memory, unless told otherwise by ``spills``.
    """

    def __init__(self, stream: BinaryIO, *, spills: bool = True):
        # Of a stream that fails in its middle, ``read`` would lose what came before.
        self._read = stream.read1 if isinstance(stream, io.BufferedReader) else stream.read
        self._failure: OSError | None = None
        self._buffer = bytearray()
        self._at = 0
        self._dropped = 0
        self._spills = spills
        # Bytes of the value at the cursor that lie in a file by now.
        self._spilled = 0
        if self._more() and self._buffer.startswith(b"\xef\xbb\xbf"):
            self._at = 3

    @property
    def offset(self) -> int:
        """Bytes from the start of the text to the cursor."""
        return self._dropped + self._at

    def _more(self) -> bool:
        """Read on, twice as much each time one value needs it; False at the end of the text."""
        if self._failure:
            raise self._failure
        size = min(max(_FIRST_READ, len(self._buffer) - self._at), _LARGEST_READ)
        if self._at > _FIRST_READ:
            self._drop()
        end = len(self._buffer) + size
        before = len(self._buffer)
        try:
            while len(self._buffer) < end and (piece := self._read(end - len(self._buffer))):
                self._buffer += piece
        except OSError as error:
            if len(self._buffer) == before:
                raise
            # What came before the failure is read first.
            self._failure = error
        return len(self._buffer) > before

    def _drop(self) -> None:
        del self._buffer[: self._at]
        self._dropped += self._at
        self._at = 0

    def peek(self) -> str:
        """The next character that is not white space, ``""`` at the end. The cursor moves to it."""
        while True:
            self._at = _SPACE.match(self._buffer, self._at).end()
            if self._at < len(self._buffer):
                return chr(self._buffer[self._at])
            if not self._more():
                return ""

    def skip(self, expected: str) -> None:
        """Step over one character."""
        found = self.peek()
        if found != expected:
            what = f"{found!r}" if found else "the end of the file"
            raise BrokenText(f"{expected!r} expected, found {what}", self.offset)
        self._at += 1

    def take(self) -> bytes | Spill:
        """The text of the value at the cursor, whatever it is; the cursor moves behind it. Raises PackedFileError where
        there is no room for a large one.
        """
        first = self.peek()
        if first in ("{", "["):
            return self._take_container()
        return self._take_scalar(_STRING if first == '"' else _SCALAR)

    def _take_container(self) -> bytes | Spill:
        if self._at:
            self._drop()
        open_brackets = bytearray()
        at = self._spilled = 0
        spilled: Spill | None = None
        while True:
            if at > spill.FROM and self._spills:
                spilled = spilled or Spill()
                self._move_to(spilled, at)
                at = 0
            at = _TO_BRACKET.match(self._buffer, at).end()
            if at == len(self._buffer):
                self._need_more()
                continue
            if self._buffer[at] == ord('"'):
                at = self._string_end(at)
                continue
            bracket = self._buffer[at]
            if bracket not in _PARTNER:
                open_brackets.append(bracket)
            elif open_brackets.pop() != _PARTNER[bracket]:
                raise BrokenText(f"the brackets do not match: unexpected {chr(bracket)!r}", self._dropped + at)
            at += 1
            if not open_brackets:
                if spilled is None:
                    return self._taken(at)
                self._move_to(spilled, at)
                self._spilled = 0
                return spilled

    def _move_to(self, spilled: Spill, end: int) -> None:
        """The buffer up to ``end`` goes into the file."""
        with memoryview(self._buffer) as view:
            spilled.write(view[:end])
        self._spilled += end
        self._at = end
        self._drop()

    def _take_scalar(self, pattern: re.Pattern[bytes]) -> bytes:
        while True:
            found = pattern.match(self._buffer, self._at)
            # A number or word may go on in the next piece; a closed string may not.
            if found and (pattern is _STRING or found.end() < len(self._buffer)):
                break
            if pattern is _STRING:
                return self._take_long_string()
            if not self._more():
                if found:
                    break
                rest = chr(self._buffer[self._at]) if self._at < len(self._buffer) else ""
                if not rest:
                    raise BrokenText("the file ends in the middle of it", self.offset)
                raise BrokenText(f"a value expected, found {rest!r}", self.offset)
            self._check_size()
        self._at = found.end()
        return found.group()

    def _take_long_string(self) -> bytes:
        """A string at the cursor that this piece of the text does not close."""
        self._drop()
        return self._taken(self._string_end(0, self.offset))

    def _taken(self, end: int) -> bytes:
        """The buffer up to ``end``; a large value is not kept in it a second time."""
        with memoryview(self._buffer) as view:
            value = bytes(view[:end])
        self._at = end
        if end > _FIRST_READ:
            self._drop()
        return value

    def _string_end(self, at: int, broken_at: int | None = None) -> int:
        """Where the string that opens at ``at`` is over; no byte of it is looked at twice. Nothing may be left to drop."""
        at += 1
        while True:
            at = _IN_STRING.match(self._buffer, at).end()
            if at < len(self._buffer) and self._buffer[at] == ord('"'):
                return at + 1
            self._need_more(broken_at)

    def _need_more(self, broken_at: int | None = None) -> None:
        """Read on inside a value. Raises BrokenText, at the end of the text unless told where, or for too large a value."""
        if not self._more():
            end = self._dropped + len(self._buffer)
            raise BrokenText("the file ends in the middle of it", end if broken_at is None else broken_at)
        self._check_size()

    def _check_size(self) -> None:
        if self._spilled + len(self._buffer) > MAX_VALUE:
            raise BrokenText(f"it is larger than {MAX_VALUE // 2**20} MB", self.offset - self._spilled)


def elements(text: JsonText) -> Iterator[bytes | Spill]:
    """The texts of the elements of the array at the cursor."""
    text.skip("[")
    while text.peek() != "]":
        yield text.take()
        if text.peek() != "]":
            text.skip(",")
    text.skip("]")


def fields(text: JsonText, *, strict: bool = False) -> Iterator[str]:
    """The names of the fields of the object at the cursor; after each, the caller must read its value.

    A comma behind the last one is passed over, unless this is to be as strict as JSON.
    """
    text.skip("{")
    after_comma = False
    while text.peek() != "}" or (strict and after_comma):
        offset = text.offset
        if text.peek() != '"':
            raise BrokenText(f"a field name expected, found {text.peek()!r}", offset)
        name = parse(text.take())
        text.skip(":")
        yield name
        after_comma = text.peek() != "}"
        if after_comma:
            text.skip(",")
    text.skip("}")


def parse(raw: bytes | Spill) -> Any:
    """The value of one JSON text, all of it in memory. Raises MalformedValue.

    Surrogates that were written as bytes pass, as escaped ones do: the check of each message refuses them there.
    """
    raw = raw if isinstance(raw, bytes) else raw.read()
    try:
        return json.loads(raw.decode("utf-8", "surrogatepass"), strict=False)
    except UnicodeDecodeError as error:
        raise MalformedValue(f"it is not UTF-8 text (byte {error.start:,} of it)") from None
    except json.JSONDecodeError as error:
        where = (
            f"line {error.lineno} of it, column {error.colno}" if error.lineno > 1 else f"column {error.colno} of it"
        )
        raise MalformedValue(f"it is not valid JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise MalformedValue("it is nested too deeply") from None
    except ValueError:  # integers beyond Python's limit of digits
        raise MalformedValue("it cannot be read: a number in it has too many digits") from None
