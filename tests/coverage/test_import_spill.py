"""What is read of a text that lies in a file is what was written, wherever it is read, and by however many at once."""

import io
import os
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from coverage.importers.spill import FileView, Spill

texts = st.binary(max_size=300).map(lambda data: data * 100)  # longer than a reader's buffer
steps = st.lists(
    st.tuples(st.just("read"), st.integers(0, 9_000), st.none())
    | st.tuples(st.just("seek"), st.integers(-500, 40_000), st.sampled_from([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END])),
    max_size=12,
)


def work(reader: io.IOBase, step: tuple[str, int, int | None]) -> object:
    name, number, whence = step
    if name == "read":
        return reader.read(number)
    at = {os.SEEK_SET: 0, os.SEEK_CUR: reader.tell(), os.SEEK_END: None}[whence]
    return reader.seek(max(number, -at), whence) if at is not None else reader.seek(min(number, 0), whence)


@given(texts.filter(lambda data: len(data) > 500), steps, steps)
def test_a_view_reads_as_the_file_does_and_two_do_not_meet(data: bytes, first: list, second: list) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        views = [io.BufferedReader(FileView(file.fileno()), 256) for _ in range(2)]
        files = [io.BytesIO(data) for _ in range(2)]
        longest = max(len(first), len(second))
        for turn in range(longest):
            for number, mine in enumerate((first, second)):
                if turn < len(mine):
                    assert work(views[number], mine[turn]) == work(files[number], mine[turn])


@given(texts, st.integers(1, 5_000), st.integers(0, 31_000), st.integers(0, 31_000))
def test_a_spilled_text_is_what_was_written_in_pieces(data: bytes, size: int, start: int, end: int) -> None:
    spilled = Spill()
    for at in range(0, len(data), size):
        spilled.write(memoryview(data)[at : at + size])
    assert spilled.size == len(data)
    assert spilled.read() == spilled.open().read() == data
    assert spilled.read(start, end) == data[start:end]
