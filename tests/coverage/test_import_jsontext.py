"""Cutting JSON into values: exact for every text, at every chunk size, and clear where a text breaks."""

import contextlib
import io
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coverage.importers import jsontext, spill
from coverage.importers.jsontext import BrokenText, JsonText, MalformedValue, elements, fields, parse
from coverage.importers.spill import Spill
from coverage.importers.streams import PackedFileError
from coverage.importers.trees import Nodes, parse_spilled

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
spaces = st.sampled_from(["", " ", "\n", "\t \r\n"])


class Dribble(io.BytesIO):
    """A stream that gives a few bytes at a time, whatever is asked for."""

    def __init__(self, data: bytes, size: int):
        super().__init__(data)
        self.size = size

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(self.size, size) if size and size > 0 else self.size)


def cut(data: bytes, size: int = 1 << 20) -> list[Any]:
    return [parse(raw) for raw in elements(JsonText(Dribble(data, size)))]


@settings(deadline=None)
@given(st.lists(values, max_size=6), spaces, st.booleans(), st.sampled_from([1, 2, 3, 7, 1000]))
def test_arrays_come_back_as_they_were(items: list[Any], space: str, ascii_only: bool, size: int) -> None:
    body = f"{space},{space}".join(json.dumps(item, ensure_ascii=ascii_only) for item in items)
    data = f"{space}[{space}{body}{space}]{space}".encode("utf-8", "surrogatepass")
    assert cut(data, size) == items


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), values, max_size=5), st.sampled_from([1, 3, 1000]))
def test_fields_of_an_object(value: dict[str, Any], size: int) -> None:
    text = JsonText(Dribble(json.dumps(value).encode(), size))
    assert {name: parse(text.take()) for name in fields(text)} == value


@settings(deadline=None)
@given(values.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_a_cut_off_text_is_broken_and_what_came_before_is_good(value: Any, data: st.DataObject) -> None:
    whole = json.dumps([value, value]).encode()
    end = data.draw(st.integers(1, len(whole) - 1))
    got = []
    with pytest.raises(BrokenText):
        for raw in elements(JsonText(io.BytesIO(whole[:end]))):
            got.append(parse(raw))
    assert got == [value, value][: len(got)]


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=60) | st.text('[]{}",:\\ab1 ', max_size=40).map(str.encode), st.sampled_from([1, 5, 100]))
def test_garbage_is_read_or_refused_and_never_crashes(data: bytes, size: int) -> None:
    with contextlib.suppress(BrokenText, MalformedValue):
        assert isinstance(cut(data, size), list)


@settings(deadline=None, max_examples=50)
@given(st.lists(values, max_size=6), st.sampled_from([1, 3, 1000]), st.data())
def test_large_values_lie_in_a_file(items: list[Any], size: int, data: st.DataObject) -> None:
    whole = json.dumps(items).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "FROM", data.draw(st.integers(0, 30)))
        assert cut(whole, size) == items
        assert cut(whole + b"  ", size) == items


TREES = [
    b'{"mapping": {"a": %s, "b": {"c": %s}}, "title": %s}',
    b'{"mapping": {"a": %s, "a": %s}, "mapping": {"b": 1}, "mapping": {"c": %s}}',
    b'{"mapping": {"a": %s,}, "b": %s, "c": %s}',
    b'{"mapping": {"a": %s "b": %s}, "c": %s}',
    b'{"mapping": {"a": %s, "b": %s}, "c": %s,}',
    b'{"mapping": {%s: %s}, "c": %s}',
    b'{"mapping": {"a": %s, "\xff": %s}, "c": %s}',
    b'{"mapping": [%s, %s], "c": %s}',
    b"[%s, %s, %s]",
]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(TREES), st.tuples(values, values, values | st.just("\ud800")))
def test_a_tree_read_node_by_node_is_the_same_and_refused_for_the_same(form: bytes, pieces: tuple[Any, ...]) -> None:
    raw = form % tuple(json.dumps(piece).encode() for piece in pieces)
    spilled = Spill()
    spilled.write(memoryview(raw))
    try:
        expected = parse(raw)
    except MalformedValue as error:
        with pytest.raises(MalformedValue) as refused:
            parse_spilled(spilled)
        assert str(refused.value) == str(error)
        return
    found = parse_spilled(spilled)
    if isinstance(found, dict) and isinstance(expected["mapping"], dict):
        assert isinstance(found["mapping"], Nodes)
        assert list(found["mapping"]) == list(expected["mapping"])
        found["mapping"] = dict(found["mapping"])
    assert found == expected


def test_no_room_for_a_large_value_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_options: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spill, "FROM", 100)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    text = elements(JsonText(io.BytesIO(json.dumps([{"a": 1}, {"b": ["x" * 100, 1]}]).encode())))
    assert parse(next(text)) == {"a": 1}
    with pytest.raises(PackedFileError, match=r"large, and there is no room for it .* No space left on device"):
        next(text)


@pytest.mark.parametrize(
    ("data", "words", "offset"),
    [
        (b'[{"a": 1}, {"b": ', "ends in the middle", 17),
        (b'[{"a": 1}, {"b": "x', "ends in the middle", 19),
        (b'[{"a": [1}]', r"brackets do not match: unexpected '}'", 9),
        (b"[1 2]", r"',' expected, found '2'", 3),
        (b"[1", r"the end of the file", 2),
        (b"[", "ends in the middle", 1),
        (b"[,]", "a value expected, found ','", 1),
        (b'["abc', "ends in the middle", 1),
        (b'{"a": 1}', r"'\[' expected, found '\{'", 0),
    ],
)
def test_breaks_say_where_and_why(data: bytes, words: str, offset: int) -> None:
    with pytest.raises(BrokenText, match=words) as caught:
        cut(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{tru}", "not valid JSON"),
        (b'{"a": 1,, "b": 2}', "column 9"),
        (b'{"a"\n:\n?}', "line 3"),
        (b'"\xff"', "not UTF-8"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b"1" * 5000, "a number in it has too many digits"),
    ],
)
def test_a_malformed_value_says_why(raw: bytes, words: str) -> None:
    with pytest.raises(MalformedValue, match=words):
        parse(raw)


def test_text_is_kept_exactly() -> None:
    raw = rb'"\ud800 \ud83d\ude00 \u0000 ' + "naïve 光合".encode() + b' \xed\xa0\x80 raw\ttab"'
    assert parse(raw) == "\ud800 \N{GRINNING FACE} \x00 naïve 光合 \ud800 raw\ttab"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert cut(b"\xef\xbb\xbf[1]") == [1]


def test_a_long_string_is_read_in_growing_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "_FIRST_READ", 64)
    reads = []

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            reads.append(size)
            return super().read(size)

    long = "x\\" * 200_000
    data = json.dumps([{"a": 1}, {"b": long}, {"c": 2}]).encode()
    assert [parse(raw) for raw in elements(JsonText(Counting(data)))] == [{"a": 1}, {"b": long}, {"c": 2}]
    assert len(reads) < 20


def test_what_came_before_a_failure_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever pieces the stream gives it: a failure loses no value that was whole."""

    class Failing(io.RawIOBase):
        data = json.dumps([{"a": number} for number in range(100)]).encode()[:700]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            if not self.data:
                raise OSError(5, "gone")
            piece, self.data = self.data[:64], self.data[64:]
            buffer[: len(piece)] = piece
            return len(piece)

    got = []
    with pytest.raises(OSError, match="gone"):
        for raw in elements(JsonText(io.BufferedReader(Failing(), 64))):
            got.append(parse(raw))
    assert [value["a"] for value in got] == list(range(len(got)))
    assert len(got) > 60


def test_a_long_value_in_small_pieces_is_not_read_again_and_again() -> None:
    """As gzip gives it: a few kilobytes at a time."""
    data = json.dumps([{"a": "x" * 20_000_000}]).encode()
    started = time.process_time()
    (value,) = cut(data, 8192)
    assert len(value["a"]) == 20_000_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize("wrap", [lambda text: [{"a": text}], lambda text: [text]])
def test_no_byte_of_a_long_string_is_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch, wrap: Callable[[str], Any]
) -> None:
    """However often more of it has to be read."""

    class Counting:
        looked_at = 0

        def match(self, text: bytearray, at: int) -> re.Match[bytes]:
            found = jsontext_in_string.match(text, at)
            Counting.looked_at += found.end() - at
            return found

    jsontext_in_string = jsontext._IN_STRING
    monkeypatch.setattr(jsontext, "_FIRST_READ", 64)
    monkeypatch.setattr(jsontext, "_LARGEST_READ", 64)
    monkeypatch.setattr(jsontext, "_IN_STRING", Counting())
    value = wrap('x\\"' * 10_000)
    data = json.dumps(value).encode()
    assert [parse(raw) for raw in elements(JsonText(io.BytesIO(data)))] == value
    assert len(data) / 2 < Counting.looked_at <= len(data)


def test_brackets_that_never_close_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MAX_VALUE", 1 << 20)

    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            assert self.given < 8 << 20
            return b'[{"a": ' + b"1, " * (size // 3)

    with pytest.raises(BrokenText, match="larger than 1 MB"):
        list(elements(JsonText(Endless())))
