"""Where files come from: archives, gzip, standard input. Bombs, locks, damage and odd paths do no harm."""

import gzip
import io
import json
import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from coverage.importers import archives, streams
from coverage.importers.load import ChatReport, Report, import_paths, total_bytes
from coverage.importers.records import Problem, Skipped
from coverage.importers.sources import Spool, spooled
from coverage.models import Chat, Message
from tests.coverage.import_helpers import said, write
from tests.coverage.test_import_chatgpt import chain, msg
from tests.coverage.test_import_load import chats, export_folder, problems, run, state

pytestmark = pytest.mark.django_db

CHAT = {"id": "c1", "title": "First", "messages": [said("a", "One"), said("b", "Two", "assistant")]}


def zipped(path: Path, files: Mapping[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive with these members: bytes and text as they are, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes | str) else json.dumps(content))
    return path


def patched(path: Path, name: str, **values: int) -> Path:
    """Change fields of one member, in its own header and in the list at the end."""
    data = bytearray(path.read_bytes())
    places = {"flags": (6, 8, "<H"), "method": (8, 10, "<H"), "size": (22, 24, "<L")}
    with zipfile.ZipFile(path) as archive:
        local = archive.getinfo(name).header_offset
    listed = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    for field, value in values.items():
        at_local, at_list, form = places[field]
        struct.pack_into(form, data, local + at_local, value)
        struct.pack_into(form, data, listed + at_list, value)
    path.write_bytes(data)
    return path


def kept_out(reports: list[Report]) -> list[str]:
    return [Path(report.source).name for report in reports if isinstance(report, Skipped)]


# --- zip -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_an_export(tmp_path: Path, method: int) -> None:
    folder = export_folder(tmp_path / "export")
    files = {f"my export/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    path = zipped(tmp_path / "export.zip", files, method)
    reports = run(path)
    assert problems(reports) == []
    assert [(report.state, report.where) for report in chats(reports)] == [("new", "conversation 1 ('Talk')")] * 2
    assert chats(reports)[0].source == f"{path}/my export/conversations-000.json"
    assert "chat.html" in kept_out(reports)
    assert ".DS_Store" not in kept_out(reports)


def test_an_archive_and_its_unpacked_folder_are_the_same_chats(tmp_path: Path) -> None:
    without_ids = [said(None, "Hello"), said(None, "Hi", "assistant")]
    files = {"deep/er/c.json": [chain(msg("u1", "Hi"))], "talk.json": without_ids}
    run(zipped(tmp_path / "x.zip", files))
    before = state()
    for name, content in files.items():
        write(tmp_path / "unpacked" / name, content)
    assert [report.state for report in chats(run(tmp_path / "unpacked"))] == ["unchanged", "unchanged"]
    assert state() == before


def test_a_missing_shard_in_an_archive_is_noticed(tmp_path: Path) -> None:
    folder = export_folder(tmp_path / "export", shards=1, listed=2)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    (problem,) = problems(run(zipped(tmp_path / "a.zip", files)))
    assert "export_manifest.json: it names conversations-001.json, which is missing" in problem


def test_archives_lie_in_folders_too(tmp_path: Path) -> None:
    zipped(tmp_path / "x" / "one.zip", {"a.json": CHAT, "cover.png": b"\x89PNG"})
    zipped(tmp_path / "x" / "letter.docx", {"word/document.xml": "<w/>"})
    reports = run(tmp_path)
    assert problems(reports) == []
    assert [report.state for report in chats(reports)] == ["new"]


def test_an_archive_is_found_by_content(tmp_path: Path) -> None:
    assert len(chats(run(zipped(tmp_path / "export.dat", {"a": CHAT})))) == 1


def test_paths_that_lead_out_of_the_archive_touch_nothing(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    names = ["../../outside.json", "/etc/absolute.json", "..\\windows.json", "a\x1b[31m.json", "C:\\drive.json"]
    path = zipped(inner / "a.zip", {name: {**CHAT, "id": f"c{number}"} for number, name in enumerate(names)})
    reports = chats(run(path))
    assert len(reports) == 5
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == ["a.zip"]
    assert all(report.source.startswith(f"{path}/") and report.source.isprintable() for report in reports)


def test_two_members_of_one_name_are_both_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("a.json", json.dumps(CHAT))
        archive.writestr("a.json", json.dumps({**CHAT, "id": "c2"}))
    assert {report.state for report in chats(run(path))} == {"new"}
    assert Chat.objects.count() == 2


def test_encrypted_members_are_refused_and_the_others_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"open.json": CHAT, "shut.json": {**CHAT, "id": "c2"}})
    reports = run(patched(path, "shut.json", flags=0x1))
    assert [report.state for report in chats(reports)] == ["new"]
    assert problems(reports) == [
        f"{path}: 1 of its 2 files are encrypted (unpack it with its password, and import the folder)"
    ]


def test_a_method_that_is_not_known(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.json": CHAT, "b.json": {**CHAT, "id": "c2"}})
    reports = run(patched(path, "b.json", method=9))
    assert len(chats(reports)) == 1
    assert "b.json: it cannot be unpacked: " in problems(reports)[0]


@pytest.mark.parametrize("small", [True, False])
def test_a_bomb_is_refused_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    monkeypatch.setattr(streams, "RATIO_COUNTS_FROM", 10_000_000 if small else 100_000)
    path = zipped(tmp_path / "a.zip", {"a.json": CHAT, "bomb.json": "[" + " " * 1_000_000 + "]"})
    reports = run(path)
    if small:  # a million spaces hurt nobody
        assert problems(reports) == []
    else:
        assert problems(reports) == [
            f"{path}: it expands more than 200-fold, as chats never do (unpack it yourself if you trust it)"
        ]
        assert not Chat.objects.exists()


def test_an_archive_is_bounded_in_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", {"a.json": CHAT, "b.json": CHAT, "c.json": CHAT})
    monkeypatch.setattr(streams, "MAX_UNPACKED", 2 * len(json.dumps(CHAT)))
    (problem,) = problems(run(path))
    assert "it unpacks to more than" in problem


def test_sizes_that_lie_do_not_help_a_bomb(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"bomb.json": json.dumps([CHAT]) + " " * 1_000_000})
    reports = run(patched(path, "bomb.json", size=len(json.dumps([CHAT]))))
    assert chats(reports) == []
    assert ["damaged" in problem for problem in problems(reports)] == [True]


def test_a_list_of_members_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", {f"{number}": "" for number in range(50)})
    monkeypatch.setattr(archives, "_LONGEST_LIST", 1000)
    assert "it holds more files than an export does" in problems(run(path))[0]
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<L", data, end + 12, 0xFFFFFFFF)
    data[end:end] = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 50, 50, 1 << 40, 0)
    path.write_bytes(data)
    monkeypatch.undo()
    assert "it holds more files than an export does" in problems(run(path))[0]


def test_an_archive_in_an_archive_is_named(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"a.json": CHAT}).read_bytes()
    path = zipped(tmp_path / "outer.zip", {"inner.zip": inner, "file.docx": inner, "b.json": CHAT})
    reports = run(path)
    assert problems(reports) == [
        f"{path}/inner.zip: it is an archive inside another one (unpack the outer one, and import the folder)"
    ]
    assert kept_out(reports) == ["file.docx"]


@pytest.mark.parametrize(
    ("damage", "words", "read"),
    [
        (lambda data: data[: len(data) // 2], "it is a damaged zip archive", 0),
        (lambda data: data[:4], "it is a damaged zip archive", 0),
        (lambda data: data[:60] + b"\xff\x00\xff" + data[63:], "it is damaged or cannot be unpacked|JSON text", 0),
    ],
)
def test_damaged_archives(tmp_path: Path, damage: Any, words: str, read: int) -> None:
    path = zipped(tmp_path / "a.zip", {"a.json": [{**CHAT, "id": str(number)} for number in range(40)]})
    path.write_bytes(damage(path.read_bytes()))
    good = write(tmp_path / "good.json", CHAT)
    reports = run(path, good)
    assert any(word in problems(reports)[0] for word in words.split("|"))
    assert len(chats(reports)) == read + 1


@pytest.mark.parametrize("files", [{}, {"notes.txt": "hello"}])
def test_an_archive_without_chats(tmp_path: Path, files: dict[str, str]) -> None:
    path = zipped(tmp_path / "a.zip", files)
    assert problems(run(path)) == [f"{path}: the archive holds no chats (give the archive of the export)"]


# --- gzip ------------------------------------------------------------------------------------------------------------


def test_gzip_is_found_by_content_and_is_the_same_chat(tmp_path: Path) -> None:
    messages = [said(None, "Hello"), said(None, "Hi", "assistant")]
    run(write(tmp_path / "talk.json", messages))
    before = state()
    packed = write(tmp_path / "packed" / "talk.json.gz", gzip.compress(json.dumps(messages).encode()))
    lines = write(tmp_path / "packed" / "talk.json", gzip.compress(json.dumps(CHAT).encode() + b"\n"))
    assert [report.state for report in chats(run(packed, lines))] == ["unchanged", "new"]
    assert Chat.objects.count() == len(before[1]) + 1


def test_gzip_inside_an_archive(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.json.gz": gzip.compress(json.dumps([CHAT]).encode())})
    assert len(chats(run(path))) == 1


def test_gzip_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    messages = [said(str(number), f"{number} {number * number}") for number in range(3000)]
    whole = gzip.compress("\n".join(map(json.dumps, messages)).encode())
    path = write(tmp_path / "a.jsonl.gz", whole)
    run(path)
    write(path, whole[: len(whole) * 2 // 3])
    reports = run(path)
    (report,) = chats(reports)
    assert (report.state, report.left, report.unchanged > 1000) == ("unchanged", 0, True)
    assert "damaged or cannot be unpacked" in problems(reports)[0]
    assert Message.objects.filter(position__isnull=False).count() == 3000


def test_gzip_bombs_are_stopped_while_they_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RATIO_COUNTS_FROM", 1_000_000)
    content = json.dumps([CHAT, {**CHAT, "id": "c2"}])[:-1].encode() + b" " * 30_000_000 + b"]"
    path = write(tmp_path / "a.json", gzip.compress(content))
    reports = run(path)
    assert len(chats(reports)) == 2
    assert "it expands more than 200-fold, as chats never do; nothing from here on was read" in problems(reports)[0]


def test_progress_over_packed_files_adds_up(tmp_path: Path) -> None:
    many = [{**CHAT, "id": str(number)} for number in range(30)]
    paths = [
        zipped(tmp_path / "x" / "a.zip", {"a.json": many, "b.png": b"\x89PNG" * 99, "c.jsonl": json.dumps(CHAT)}),
        write(tmp_path / "x" / "b.json.gz", gzip.compress(json.dumps(many).encode())),
        write(tmp_path / "x" / "c.json", many),
    ]
    for given in (paths, [tmp_path / "x"]):
        told: list[int] = []
        run(*given, on_progress=told.append)
        assert sum(told) == total_bytes(given)
        assert min(told) >= 0


# --- standard input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", ["plain", "gzip", "zip"])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    content = json.dumps([CHAT]).encode()
    if pack == "gzip":
        content = gzip.compress(content)
    elif pack == "zip":
        content = zipped(tmp_path / "a.zip", {"a.json": [CHAT]}).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    out = io.StringIO()
    call_command("import_chats", "-", "--json", stdout=out)
    (report,) = json.loads(out.getvalue())["conversations"]
    assert report["file"].startswith("standard input")
    assert (report["state"], report["added"]) == ("new", 2)


def test_standard_input_can_be_given_once() -> None:
    with pytest.raises(CommandError, match="only once"):
        call_command("import_chats", "-", "-")


def test_standard_input_beside_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT)
    with spooled(io.BytesIO(json.dumps([{**CHAT, "id": "c2"}]).encode())) as source:
        reports = list(import_paths([source, path]))
    assert [report.state for report in reports if isinstance(report, ChatReport)] == ["new", "new"]


def test_an_empty_standard_input() -> None:
    with spooled(io.BytesIO(b"")) as source:
        assert isinstance(source, Spool)
        (report,) = import_paths([source])
    assert isinstance(report, Problem)
    assert report.reason == "it is empty"
