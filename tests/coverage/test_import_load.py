"""Imports into the database: idempotent, one transaction per chat, everything good taken and the rest told."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, OperationalError
from psycopg.errors import ProgramLimitExceeded

from coverage import invariants, services
from coverage.ids import new_id
from coverage.importers.load import ChatReport, Report, import_paths, total_bytes
from coverage.importers.records import Problem, Skipped
from coverage.models import Chat, Learner, Message, MessageCoverage
from coverage.services import append_entries
from tests.coverage.import_helpers import said, write
from tests.coverage.test_import_chatgpt import T0, call, chain, msg, result

pytestmark = pytest.mark.django_db


def run(*paths: Path, **options: Any) -> list[Report]:
    return list(import_paths(paths, **options))


def chats(reports: list[Report]) -> list[ChatReport]:
    return [report for report in reports if isinstance(report, ChatReport)]


def problems(reports: list[Report]) -> list[str]:
    """Every problem as a text, without the folder of the test."""
    found: list[Problem] = []
    for report in reports:
        if isinstance(report, Problem):
            found.append(report)
        elif isinstance(report, ChatReport):
            found += report.problems
    return [str(problem) for problem in found]


def transcript(chat: Chat) -> list[str]:
    """The ids along the transcript, after checking every invariant of coverage."""
    assert list(invariants.check()) == []
    rows = Message.objects.filter(chat=chat, position__isnull=False).order_by("position")
    return list(rows.values_list("message_id", flat=True))


def state() -> list[Any]:
    """Everything an import writes, but for the time of the last write."""
    return [
        list(Learner.objects.order_by("pk").values()),
        [{**row, "updated_at": None} for row in Chat.objects.order_by("pk").values()],
        list(Message.objects.order_by("pk").values()),
    ]


CHAT = {"id": "c1", "title": "First", "messages": [said("a", "One"), said("b", "Two", "assistant"), said("c", "Three")]}


# --- what is written -------------------------------------------------------------------------------------------------


def test_a_chat_is_stored_as_its_file_says(tmp_path: Path) -> None:
    conversation = chain(
        msg("u1", "Mean?", create_time=T0 + 5),
        call("c1", "python", "mean()"),
        result("r1", "python", "1.5"),
        msg("a1", "It is 1.5.", "assistant"),
        create_time=T0,
    )
    (report,) = run(write(tmp_path / "c.json", [conversation]))
    chat = Chat.objects.get()
    assert (chat.source, chat.external_id, chat.title, chat.learner.name) == ("chatgpt", "conv-1", "Talk", "me")
    assert chat.started_at == datetime(2026, 5, 1, 10, 0, 0, 250_000, tzinfo=UTC)
    assert chat.imported
    assert transcript(chat) == ["u1", "c1", "a1"]
    assert report == ChatReport(
        report.source, "conversation 1 ('Talk')", "chatgpt", "me", "Talk", "new", chat.pk, added=3
    )


def test_missing_times_stay_empty(tmp_path: Path) -> None:
    run(write(tmp_path / "a.json", CHAT))
    assert Chat.objects.get().started_at is None
    assert set(Message.objects.values_list("said_at", flat=True)) == {None}


def test_whose_chats_they_are(tmp_path: Path) -> None:
    owned = {**CHAT, "id": "c2", "learner": "Ada"}
    path = write(tmp_path / "a.json", {"chats": [CHAT, owned]})
    assert [report.learner for report in chats(run(path))] == ["me", "Ada"]
    assert [report.learner for report in chats(run(path, learner=" Grace "))] == ["Grace", "Grace"]
    assert Learner.objects.count() == 3
    assert Chat.objects.count() == 4


def test_a_chat_without_title_is_called_by_its_first_words(tmp_path: Path) -> None:
    long = "How do I " + "really " * 30 + "do it?"
    run(write(tmp_path / "a.json", [said("s", "Sys", "system"), said("a", f"  {long}")]))
    assert Chat.objects.get().title == "How do I" + " really" * 10 + "…"


# --- importing again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again_by", ["path", "copy"])
def test_importing_again_changes_nothing(tmp_path: Path, again_by: str) -> None:
    content = [chain(msg("u1", "One", create_time=T0), msg("a1", "Two", "assistant"), create_time=T0)]
    run(write(tmp_path / "c.json", content), write(tmp_path / "m.json", CHAT))
    before = state()
    folder = tmp_path if again_by == "path" else tmp_path / "copy"
    write(folder / "c.json", content)
    write(folder / "m.json", json.dumps(CHAT, indent=3))
    reports = chats(run(folder / "c.json", folder / "m.json"))
    assert [(report.state, report.added, report.changed) for report in reports] == [("unchanged", 0, 0)] * 2
    assert state() == before


def test_importing_again_takes_what_changed(tmp_path: Path) -> None:
    run(write(tmp_path / "a.json", CHAT))
    chat = Chat.objects.get()
    append_entries(chat, Message.objects.filter(chat=chat), batch_id=new_id())
    grown = {**CHAT, "title": "Renamed", "messages": [*CHAT["messages"], said("d", "Four")]}
    grown["messages"][1] = said("b", "Changed", "assistant")
    (report,) = chats(run(write(tmp_path / "a.json", grown)))
    assert (report.state, report.added, report.changed, report.unchanged) == ("changed", 1, 1, 2)
    chat.refresh_from_db()
    assert chat.title == "Renamed"
    assert transcript(chat) == ["a", "b", "c", "d"]
    uncovered = MessageCoverage.objects.filter(chat=chat, covered=False).order_by("position")
    assert [row.message_id for row in uncovered] == ["b", "d"]


def test_a_new_title_alone_is_a_change(tmp_path: Path) -> None:
    run(write(tmp_path / "a.json", CHAT))
    (report,) = chats(run(write(tmp_path / "a.json", {**CHAT, "title": "New"})))
    assert (report.state, report.title, report.unchanged) == ("changed", "New", 3)


def test_switching_the_branch_reopens_only_what_differs(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "Q"), msg("a1", "First", "assistant"), msg("u2", "Thanks"))
    mapping = conversation["mapping"]
    mapping["a2"] = {"id": "a2", "parent": "u1", "children": [], "message": msg("a2", "Second", "assistant")}
    path = write(tmp_path / "c.json", [conversation])
    run(path)
    chat = Chat.objects.get()
    append_entries(chat, Message.objects.filter(chat=chat), batch_id=new_id())
    (report,) = chats(run(write(path, [{**conversation, "current_node": "a2"}])))
    assert (report.added, report.unchanged, report.left) == (1, 1, 2)
    assert transcript(chat) == ["u1", "a2"]
    assert [row.message_id for row in MessageCoverage.objects.filter(chat=chat, covered=False)] == ["a2"]
    (report,) = chats(run(write(path, [conversation])))
    assert (report.added, report.moved, report.left) == (0, 2, 1)
    assert transcript(chat) == ["u1", "a1", "u2"]
    assert not MessageCoverage.objects.filter(chat=chat, covered=False).exists()


def test_a_refused_message_keeps_its_stored_version(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT)
    run(path)
    broken = json.loads(json.dumps(CHAT))
    broken["messages"][1]["parts"] = None
    broken["messages"].append(said("d", "Four"))
    (report,) = chats(run(write(path, broken)))
    assert len(report.problems) == 1
    chat = Chat.objects.get()
    assert transcript(chat) == ["a", "b", "c", "d"]
    assert Message.objects.get(message_id="b").parts == CHAT["messages"][1]["parts"]


@pytest.mark.parametrize("flaw", ["\x00", "\ud800"])
def test_an_id_that_cannot_be_stored_spoils_its_message_alone(tmp_path: Path, flaw: str) -> None:
    talks = [{"id": "c", "messages": [said(f"a{flaw}", "One"), said("b", "Two")]}, CHAT]
    # A role that nobody knows is refused before the id is looked at.
    listed = [{"id": f"a{flaw}", "role": "nobody", "content": "One"}, {"id": "b", "role": "user", "content": "Two"}]
    reports = run(write(tmp_path / "a.json", {"chats": talks}), write(tmp_path / "b.json", listed))
    assert [(report.state, report.added) for report in chats(reports)] == [("new", 1), ("new", 3), ("new", 1)]
    assert len(problems(reports)) == 2
    assert [transcript(chat) for chat in Chat.objects.order_by("pk")] == [["b"], ["a", "b", "c"], ["b"]]


def test_a_file_that_broke_off_takes_nothing_away(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT["messages"])
    run(path)
    reports = run(write(path, path.read_bytes()[:-30]))
    assert [(report.unchanged, report.left) for report in chats(reports)] == [(2, 0)]
    assert len(problems(reports)) == 1
    assert transcript(Chat.objects.get()) == ["a", "b", "c"]


def test_a_chat_of_which_nothing_can_be_read_stays_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT)
    run(path)
    before = state()
    (report,) = chats(run(write(path, {**CHAT, "title": "New", "messages": [{"id": "a", "role": "user"}]})))
    assert report.state == "failed"
    (empty,) = chats(run(write(path, {**CHAT, "messages": []})))
    assert (empty.state, empty.problems) == ("empty", [])
    assert state() == before


# --- nothing half written --------------------------------------------------------------------------------------------


def test_each_chat_is_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation that the database refuses half way leaves no trace; those around it are imported."""
    copy_rows = services.copy_rows

    def fail_on_second(rows: list[Message]) -> None:
        copy_rows(rows)
        if rows and rows[0].chat.external_id == "c2":
            raise DataError("invalid something\nDETAIL: more")

    monkeypatch.setattr(services, "copy_rows", fail_on_second)
    content = [{**CHAT, "id": f"c{number}", "learner": f"L{number}"} for number in (1, 2, 3)]
    reports = run(write(tmp_path / "a.json", content))
    assert [report.state for report in chats(reports)] == ["new", "failed", "new"]
    assert "the database refused it: invalid something (nothing of it was imported)" in problems(reports)[0]
    assert sorted(Chat.objects.values_list("external_id", flat=True)) == ["c1", "c3"]
    assert sorted(Learner.objects.values_list("name", flat=True)) == ["L1", "L3"]


def test_a_value_beyond_what_the_database_holds_spoils_its_conversation_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL refuses a jsonb text of more than 256 MB with an error of its operational kind."""
    copy_rows = services.copy_rows

    def refuse_second(rows: list[Message]) -> None:
        if rows and rows[0].chat.external_id == "c2":
            raise OperationalError("string too long to represent as jsonb string") from ProgramLimitExceeded()
        copy_rows(rows)

    monkeypatch.setattr(services, "copy_rows", refuse_second)
    reports = run(write(tmp_path / "a.json", [{**CHAT, "id": f"c{number}"} for number in (1, 2, 3)]))
    assert [report.state for report in chats(reports)] == ["new", "failed", "new"]
    assert "string too long to represent" in problems(reports)[0]


def test_a_lost_database_is_not_blamed_on_a_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(rows: list[Message]) -> None:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(services, "copy_rows", lose)
    with pytest.raises(OperationalError):
        run(write(tmp_path / "a.json", [CHAT]))


def test_a_dry_run_reports_and_writes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT)
    (report,) = chats(run(path, dry_run=True))
    assert (report.state, report.added, report.chat_id) == ("new", 3, None)
    assert state() == [[], [], []]
    run(path)
    before = state()
    write(path, {**CHAT, "messages": [*CHAT["messages"][1:], said("d", "Four")]})
    (report,) = chats(run(path, dry_run=True))
    assert (report.state, report.added, report.moved, report.left) == ("changed", 1, 2, 1)
    assert state() == before


# --- the same chat twice ---------------------------------------------------------------------------------------------


def test_one_id_used_twice_keeps_the_first(tmp_path: Path) -> None:
    twin = {**CHAT, "messages": [said("z", "Other")]}
    reports = run(write(tmp_path / "a.json", [CHAT, twin]))
    assert [report.state for report in chats(reports)] == ["new", "failed"]
    assert "the id 'c1' was already used by" in problems(reports)[0]
    assert transcript(Chat.objects.get()) == ["a", "b", "c"]


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_exports_the_newer_copy_counts(tmp_path: Path, newer_first: bool) -> None:
    old = [chain(msg("u1", "One"), update_time=T0)]
    new = [chain(msg("u1", "One"), msg("a1", "Two", "assistant"), update_time=T0 + 9)]
    write(tmp_path / "1" / "conversations.json", new if newer_first else old)
    write(tmp_path / "2" / "conversations.json", old if newer_first else new)
    reports = run(tmp_path)
    assert problems(reports) == []
    assert [report.state for report in chats(reports)] == (["new", "older"] if newer_first else ["new", "changed"])
    assert transcript(Chat.objects.get()) == ["u1", "a1"]


def test_the_same_id_of_two_learners_or_formats_is_two_chats(tmp_path: Path) -> None:
    other = {**CHAT, "learner": "Ada"}
    export = chain(msg("u1", "Hi"), conversation_id="c1")
    reports = run(write(tmp_path / "a.json", [CHAT, other]), write(tmp_path / "b.json", [export]))
    assert problems(reports) == []
    assert Chat.objects.count() == 3


# --- files and folders -----------------------------------------------------------------------------------------------


def export_folder(folder: Path, *, shards: int = 2, listed: int = 2) -> Path:
    """A sharded export as it is unpacked, with the files that lie beside the conversations."""
    for number in range(shards):
        conversation = chain(msg("u1", f"Hello {number}"), conversation_id=f"conv-{number}")
        write(folder / f"conversations-{number:03}.json", [conversation])
    files = [{"path": f"conversations-{number:03}.json", "size": 1} for number in range(listed)]
    write(folder / "export_manifest.json", {"version": 2, "files": files})
    write(folder / "user.json", {"id": "user-1", "email": "a@example.org"})
    write(folder / "shared_conversations.json", [{"id": "s", "conversation_id": "conv-0", "title": "x"}])
    write(folder / "message_feedback.json", [])
    write(folder / "chat.html", "<html></html>")
    write(folder / "file-1-picture.png", b"\x89PNG\r\n\x1a\n")
    write(folder / ".DS_Store", b"\x00")
    write(folder / "__MACOSX" / "conversations-000.json", b"\x00\x05")
    return folder


def test_an_unpacked_export(tmp_path: Path) -> None:
    reports = run(export_folder(tmp_path / "export"))
    assert problems(reports) == []
    assert [report.state for report in chats(reports)] == ["new", "new"]
    skipped = {Path(report.source).name for report in reports if isinstance(report, Skipped)}
    assert skipped == {
        "export_manifest.json",
        "user.json",
        "shared_conversations.json",
        "message_feedback.json",
        "chat.html",
        "file-1-picture.png",
    }


def test_a_missing_shard_is_noticed(tmp_path: Path) -> None:
    reports = run(export_folder(tmp_path / "export", shards=1, listed=2))
    (problem,) = problems(reports)
    assert "export_manifest.json: it names conversations-001.json, which is missing" in problem
    assert len(chats(reports)) == 1


@pytest.mark.parametrize("manifest", ["", "[[[[", {"files": {"conversations-000.json": None}}, ["x"], b"\xff"])
def test_any_manifest_is_survived(tmp_path: Path, manifest: Any) -> None:
    folder = export_folder(tmp_path / "export", shards=1)
    write(folder / "export_manifest.json", manifest)
    assert len(chats(run(folder))) == 1


def test_folders_are_walked_and_files_taken_once(tmp_path: Path) -> None:
    deep = write(tmp_path / "x" / "y" / "z.jsonl", [CHAT], lines=True)
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(chats(run(tmp_path, deep, tmp_path / "x"))) == 1
    assert total_bytes([tmp_path, deep]) == deep.stat().st_size


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ["{folder}: the folder holds no chats"]),
        ({"notes.txt": "hello", "picture.png": b"\x89PNG"}, ["{folder}: the folder holds no chats"]),
        ({"user.json": {"id": 1}}, ["{folder}: the folder holds no chats"]),
        ({"empty.json": ""}, ["{folder}/empty.json: it is empty"]),
        ({"empty.dat": ""}, ["{folder}: the folder holds no chats"]),
        ({"a.json": "not json"}, ["{folder}/a.json: it is not a JSON text"]),
        ({"a.json": '{"chats": ['}, ["{folder}/a.json, conversation 1: the file ends|{folder}/a.json, conversation 1"]),
        ({"a.json": [CHAT], "b.json": "[{"}, ["{folder}/b.json: conversation 1: the file ends in the middle"]),
    ],
)
def test_what_a_folder_complains_of(tmp_path: Path, files: dict[str, Any], expected: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in files.items():
        write(folder / name, content)
    found = problems(run(folder))
    assert len(found) == len(expected)
    for problem, start in zip(found, expected, strict=True):
        assert problem.startswith(tuple(start.format(folder=folder).split("|")))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("missing.json", None, "missing.json: does not exist"),
        ("a.json", "", "a.json: it is empty"),
        ("a.json", "\n", "a.json: it is empty"),
        ("a.txt", "hello", "a.txt: it is not a JSON text"),
        ("a.json", {"user": 1}, "a.json: it holds JSON, but no chats in a format that can be imported"),
        ("a.json", "[1, 2", "a.json: conversation 3|a.json: conversation"),
        ("a\x00b", None, "embedded null"),
    ],
)
def test_a_named_file_must_hold_chats(tmp_path: Path, name: str, content: Any, expected: str) -> None:
    if content is not None:
        write(tmp_path / name, content)
    good = write(tmp_path / "good.json", CHAT)
    reports = run(Path(str(tmp_path) + "/" + name), good)
    (problem,) = problems(reports)
    assert any(text in problem for text in expected.split("|"))
    assert [report.state for report in chats(reports)] == ["new"]


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.json", CHAT)

    def refuse(*_: Any, **__: Any) -> Iterator[bytes]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert problems(run(path)) == [f"{path}: it cannot be read: Permission denied (check the file)"]


def test_the_format_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [CHAT])
    assert 'no "mapping"' in problems(run(path, format="chatgpt"))[0]
    assert [report.format for report in chats(run(path, format="uimessage"))] == ["uimessage"]
    with pytest.raises(ValueError, match="auto, uimessage, chatgpt"):
        run(path, format="telegram")


def test_progress_adds_up_to_every_byte(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.json", {"chats": [CHAT, {**CHAT, "id": "c2"}]}),
        write(tmp_path / "b.json", "broken"),
        write(tmp_path / "c.jsonl", [CHAT], lines=True),
    ]
    told: list[int] = []
    run(*paths, on_progress=told.append)
    assert sum(told) == total_bytes(paths)
    assert min(told) >= 0


def test_import_starts_no_extraction(tmp_path: Path, django_capture_on_commit_callbacks: Any) -> None:
    long = [said(str(number), "A fact worth reading. " * 400) for number in range(20)]
    with django_capture_on_commit_callbacks() as callbacks:
        run(write(tmp_path / "a.json", long))
    assert callbacks == []
    assert Chat.objects.get().finished_at is None
