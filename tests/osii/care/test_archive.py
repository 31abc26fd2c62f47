"""The file of a backup: what was changed, cut off or never was one is refused by name."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osii.care import archive

BODY = b"dump of the database " * 40


def written(*more: tuple[str, bytes], head: dict | None = None) -> bytes:
    file = io.BytesIO()
    writer = archive.Writer(file, {"backup": "one"} | (head or {}))
    writer.add(archive.DATABASE, io.BytesIO(BODY))
    for name, content in more:
        writer.add(name, io.BytesIO(content))
    writer.finish({"gaps": []})
    return file.getvalue()


FILES = (("store/root.toml", b"x"), (f"store/objects/{'a' * 150}/source/Zürich 語.md", b"tea " * 300))
WHOLE = written(*FILES)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives") / "b.tar"


def refusal(place: Path, data: bytes) -> str:
    place.write_bytes(data)
    with pytest.raises(archive.ArchiveError) as error:
        archive.verify(place)
    return str(error.value)


def test_what_was_written_is_read_back_by_any_tar(place: Path) -> None:
    place.write_bytes(WHOLE)
    contents = archive.verify(place)
    assert list(contents.members) == [archive.DATABASE, *(name for name, _content in FILES)]
    assert contents.head["backup"] == "one"
    with tarfile.open(place) as tar:
        assert tar.extractfile(FILES[1][0]).read() == FILES[1][1]


END = WHOLE.index(b'"members"')  # within the manifest, which is the last member


@settings(deadline=None, max_examples=50)
@given(st.integers(0, END))
def test_a_file_that_is_cut_off_anywhere_is_refused(place: Path, length: int) -> None:
    assert str(place) in refusal(place, WHOLE[:length])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_a_changed_byte_of_the_database_is_found(place: Path, at: int, change: int) -> None:
    data = bytearray(WHOLE)
    data[WHOLE.index(BODY) + at] ^= change
    assert "differs from its manifest ('database.dump')" in refusal(place, bytes(data))


@pytest.mark.parametrize(
    "name", ["store/../../etc/passwd", "/etc/passwd", "store//x", "secret_key", "store", "uploads/."]
)
def test_a_name_that_leaves_its_place_is_refused(place: Path, name: str) -> None:
    assert "which no backup has" in refusal(place, written((name, b"x")))


def test_a_member_that_is_no_file_is_refused(place: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        link = tarfile.TarInfo("store/root.toml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert "not a plain file" in refusal(place, file.getvalue())


def test_other_files_are_named_as_what_they_are_not(place: Path) -> None:
    assert "not a backup of OSII" in refusal(place, b"PK\x03\x04 a zip" * 100)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("holiday.jpg"))
    assert "not a backup of OSII" in refusal(place, file.getvalue())
    assert "version 2 of the format" in refusal(place, written(head={"version": 2}))
    assert "twice" in refusal(place, written(FILES[0], FILES[0]))
    with pytest.raises(archive.ArchiveError, match="cannot be read"):
        archive.verify(place.parent / "nothing.tar")
