"""What may become a document, and what is found under a path."""

import os
import socket
from pathlib import Path

import pytest

from extraction.documents import sources
from extraction.documents.errors import SourceRefused
from extraction.documents.media import media_type
from extraction.documents.sources import opened, shown, walk


def refusal(path, store_root=Path("/nowhere")) -> str:
    with pytest.raises(SourceRefused) as refused, opened(path, store_root):
        pass
    return refused.value.reason


def test_each_refusal_has_a_name(tmp_path, monkeypatch):
    (tmp_path / "empty").touch()
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    monkeypatch.setattr(sources, "MAX_SOURCE_BYTES", 3)
    assert refusal(tmp_path / "missing") == "missing"
    assert refusal(tmp_path / "file" / "below") == "missing"
    assert refusal(tmp_path) == "folder"
    assert refusal(tmp_path / "empty") == "empty"
    assert refusal(tmp_path / "link") == "symlink"
    assert refusal(tmp_path / "pipe") == "special_file"
    assert refusal(tmp_path / "socket") == "special_file"
    assert refusal("/dev/null") == "special_file"
    assert refusal(tmp_path / "file") == "too_large"
    assert refusal("a\0b") == "bad_path"
    assert refusal(os.fsdecode(b"\xff.txt")) == "bad_name"


def test_a_file_that_turns_into_something_else_before_it_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_checked_path", lambda path, _root: str(path))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/hostname")
    assert refusal(tmp_path / "pipe") == "special_file"  # and opening it waits for no writer
    assert refusal(tmp_path / "link") == "symlink"


def test_an_unreadable_file(tmp_path, monkeypatch):
    path = tmp_path / "secret.txt"
    path.write_text("text")

    def deny(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", deny)  # the tests may run as root, who may read everything
    assert refusal(path) == "unreadable"


def test_the_store_is_not_its_own_source(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "text.txt").write_text("text")
    assert refusal(tmp_path / "store" / "text.txt", tmp_path / "store") == "inside_store"
    assert [found.path for found in walk([str(tmp_path)], tmp_path / "store")] == []
    (given,) = walk([str(tmp_path / "store")], tmp_path / "store")
    assert (given.problem.reason, given.given) == ("inside_store", True)


def test_a_walk_is_in_order_each_file_once_and_follows_no_link(tmp_path):
    for name in ("b.txt", "a.txt", ".hidden", "sub/c.txt", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    found = list(walk([str(tmp_path), str(tmp_path / "a.txt"), str(tmp_path / ".hidden")], tmp_path / "store"))
    names = [Path(entry.path).relative_to(tmp_path).as_posix() for entry in found]
    assert names == ["a.txt", "b.txt", "link.txt", "loop", "sub/c.txt", ".hidden"]
    assert [entry.given for entry in found] == [False] * 5 + [True]
    linked = list(walk([str(tmp_path / "link.txt")], tmp_path / "store"))
    assert linked == [sources.Found(str(tmp_path / "a.txt"), given=True)]


def test_a_folder_that_cannot_be_read_is_reported(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.txt").write_text("text")
    scandir = os.scandir

    def deny(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    found = {
        Path(entry.path).name: entry.problem and entry.problem.reason for entry in walk([str(tmp_path)], tmp_path / "s")
    }
    assert found == {"open.txt": None, "closed": "unreadable"}


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("notes.MD", b"# x", "text/markdown"),
        ("notes.txt", b"%PDF-1.7\n", "application/pdf"),
        ("README", b"plain words", "text/plain"),
        ("README", "\ufeffword".encode("utf-16"), "text/plain"),
        ("blob", b"\0\1\2\3", "application/octet-stream"),
        ("a.docx", b"PK\x03\x04..", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.txt", b"PK\x03\x04..", "application/zip"),
        ("page.html", b"<p>", "text/html"),
    ],
)
def test_type_by_content_and_name(name, head, expected):
    assert media_type(name, head) == expected


def test_a_name_is_shown_in_one_line():
    assert shown("/a/two\nlines é 漢") == "/a/two\\nlines é 漢"
    assert shown(os.fsdecode(b"/a/\xff")) == "/a/\\xff"
