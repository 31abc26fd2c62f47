"""Large conversations that are trees of nodes: only where each node stands is kept in memory, and it is read when asked for."""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from .jsontext import BrokenText, JsonText, MalformedValue, fields, parse
from .spill import Spill

NODES = "mapping"
"""The field of a conversation that holds its nodes by id."""


class Nodes(Mapping[str, Any]):
    """The object at the cursor of a spilled text. Each value is parsed anew whenever it is asked for; all of them were
    once, so that what is not valid has shown.

    Raises BrokenText and MalformedValue.
    """

    def __init__(self, spill: Spill, text: JsonText):
        self._spill = spill
        self._numbers: dict[str, int] = {}
        self._starts, self._ends = array("Q"), array("Q")
        for name in fields(text, strict=True):
            text.peek()
            start = text.offset
            parse(text.take())
            self._numbers[name] = len(self._starts)  # of two alike the last one counts, as everywhere in JSON
            self._starts.append(start)
            self._ends.append(text.offset)

    def __getitem__(self, name: str) -> Any:
        number = self._numbers[name]
        return parse(self._spill.read(self._starts[number], self._ends[number]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def parse_spilled(spill: Spill) -> Any:
    """What ``parse`` makes of the text, but for the nodes of a conversation, which become ``Nodes``. Raises MalformedValue."""
    try:
        return _conversation(spill)
    except (BrokenText, MalformedValue):
        return parse(spill.read())  # says what is wrong with it as with any value


def _conversation(spill: Spill) -> Any:
    text = JsonText(spill.open(), spills=False)
    value: dict[str, Any] = {}
    for name in fields(text, strict=True):
        value[name] = Nodes(spill, text) if name == NODES and text.peek() == "{" else parse(text.take())
    return value
