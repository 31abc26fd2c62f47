"""Imports of uploaded files: the files on disk, the background run, what cancels, loses and heals it."""

import gzip
import io
import json
import os
import time
import uuid
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadhandler import SkipFile
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from coverage.models import Chat, Learner, Message
from coverage.queueing import stop_requested
from osii.imports import jobs, reconcile, services, uploads
from osii.imports.attempts import Attempt, AttemptLost, claim
from osii.imports.invariants import check
from osii.intake import staging
from osii.models import UPLOADS_KEPT, ChatImport, ImportedChat

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings, tmp_path: Path, rq_connection) -> Path:
    settings.OSII_HOME = tmp_path
    return tmp_path


def chats(count: int = 3, start: int = 1) -> dict[str, Any]:
    return {
        "chats": [
            {
                "id": f"c{n}",
                "title": f"Chat {n}",
                "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": f"What is {n}?"}]}],
            }
            for n in range(start, start + count)
        ]
    }


def incoming(name: str, content: bytes) -> uploads.IncomingFile:
    file = uploads.IncomingFile(name, "application/json", None, None)
    file.write(content)
    file.size = len(content)
    return file


def upload(*files: tuple[str, bytes], **options: Any) -> ChatImport:
    given = files or (("chats.json", json.dumps(chats()).encode()),)
    options = {"learner": "Ada", "dry_run": False, "by": None, "submission": uuid.uuid4()} | options
    row, made = services.create([incoming(*file) for file in given], **options)
    assert made
    return row


def executed(row: ChatImport) -> ChatImport:
    done = jobs.execute(row.pk)
    assert done is not None
    return done


def stored(row: ChatImport) -> list[str]:
    folder = uploads.folder_of(row.pk)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_an_upload_is_imported_and_its_files_are_deleted():
    row = upload()
    assert stored(row) == ["1"]
    done = executed(row)
    assert done.status == ChatImport.Status.SUCCEEDED
    assert done.counts["conversations"] == 3
    assert done.counts["states"] == {"new": 3}
    assert done.counts["added"] == 3
    assert done.bytes_done == done.bytes_total == row.total_size
    assert [(c.number, c.title, c.state, c.chat.title) for c in done.conversations.select_related("chat")] == [
        (1, "Chat 1", "new", "Chat 1"), (2, "Chat 2", "new", "Chat 2"), (3, "Chat 3", "new", "Chat 3"),
    ]  # fmt: skip
    assert stored(row) == []
    assert done.files_deleted_at is not None
    assert set(Chat.objects.values_list("learner__name", flat=True)) == {"Ada"}
    assert list(check()) == []


def test_a_dry_run_changes_nothing_and_its_files_can_be_imported_afterwards():
    done = executed(upload(dry_run=True, learner="Nobody yet"))
    assert done.status == ChatImport.Status.SUCCEEDED
    assert done.counts["states"] == {"new": 3}
    assert not Chat.objects.exists()
    assert not Learner.objects.filter(name="Nobody yet").exists()
    again = services.repeat(done, dry_run=False, by=None)
    assert stored(done) == stored(again) == ["1"]
    assert executed(again).counts["states"] == {"new": 3}
    assert Chat.objects.count() == 3
    assert stored(done) == ["1"]
    with pytest.raises(services.FilesGone):
        services.repeat(ChatImport.objects.get(pk=again.pk), dry_run=False, by=None)


def test_importing_the_same_again_changes_nothing():
    executed(upload())
    assert executed(upload()).counts["states"] == {"unchanged": 3}
    assert Message.objects.count() == 3


def test_a_form_that_is_sent_twice_makes_one_import():
    submission = uuid.uuid4()
    row = upload(submission=submission)
    same, made = services.create(
        [incoming("chats.json", json.dumps(chats()).encode())],
        learner="",
        dry_run=False,
        by=None,
        submission=submission,
    )
    assert (same, made) == (row, False)
    assert len(list(uploads.stored_imports())) == 1


def test_zip_gzip_and_json_lines_come_together_as_one_folder():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inside/chats.json", json.dumps(chats(1)))
    lines = "\n".join(json.dumps(chat) for chat in chats(1, 2)["chats"]).encode()
    packed = gzip.compress(json.dumps(chats(1, 3)).encode())
    done = executed(upload(("a.zip", buffer.getvalue()), ("b.jsonl", lines), ("c.json.gz", packed), ("d.txt", b"hi")))
    assert done.counts["states"] == {"new": 3}
    assert done.problems == []
    assert [(file["file"], done.skipped_count) for file in done.skipped] == [("d.txt", 1)]
    assert sorted(done.conversations.values_list("file", flat=True)) == [
        "a.zip/inside/chats.json",
        "b.jsonl",
        "c.json.gz",
    ]


@pytest.mark.parametrize("names", [["notes.txt"], ["notes.txt", "more.txt"]])
def test_files_without_chats_fail_with_the_reason(names):
    done = executed(upload(*[(name, b"Dear diary") for name in names]))
    assert done.status == ChatImport.Status.FAILED
    assert done.error == "Nothing could be imported; the problems say why."
    assert done.problem_count == 1
    assert done.problems[0]["remedy"]
    assert stored(done) == [str(number + 1) for number in range(len(names))]


def test_problems_are_told_with_file_and_position_and_the_rest_is_imported():
    data = chats()
    data["chats"][1]["messages"].append({"id": "m2", "role": "robot", "parts": []})
    done = executed(upload(("mine.json", json.dumps(data).encode())))
    assert done.status == ChatImport.Status.SUCCEEDED
    assert done.problem_count == 1
    problem = done.problems[0]
    assert problem["file"] == "mine.json"
    assert "message 2" in problem["position"]
    assert "robot" in problem["reason"]
    assert [row.problem_count for row in done.conversations.all()] == [0, 1, 0]


def test_the_list_of_problems_is_bounded_and_counted(monkeypatch):
    monkeypatch.setattr("osii.imports.report.PROBLEMS_KEPT", 2)
    broken = {"chats": [{"id": f"c{n}", "messages": 5} for n in range(5)] + chats(1)["chats"]}
    done = executed(upload(("mine.json", json.dumps(broken).encode())))
    assert (len(done.problems), done.problem_count) == (2, 5)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\chats.json", "chats.json"),
        ("a\x00b\u202e\ud800.json", "a\\x00b\\u202e\\ud800.json"),
        ("..", "file 7"),
        ("", "file 7"),
        (" \n", "\\n"),
    ],
)
def test_names_of_browsers_are_labels_only(name, label):
    assert uploads.clean_name(name, 7) == label


def test_files_lie_under_our_names(home):
    row = upload(("../../../evil.json", json.dumps(chats()).encode()), ("x" * 500, b"[]"))
    assert stored(row) == ["1", "2"]
    assert len(row.files[1]["name"]) <= uploads.LONGEST_NAME
    assert not list(home.rglob("*evil*"))
    assert (uploads.root() / "incoming").stat().st_mode & 0o077 == 0


def test_two_files_of_one_name_are_told_apart_and_both_imported():
    done = executed(upload(*[("c.json", json.dumps(chats(1, start)).encode()) for start in (1, 2)]))
    assert list(done.conversations.values_list("file", flat=True)) == ["c.json", "c.json (2)"]


def test_progress_is_written_at_most_once_a_beat(monkeypatch):
    written = []
    write = Attempt.write
    monkeypatch.setattr(Attempt, "write", lambda self, *a, **k: (written.append(k), write(self, *a, **k)))
    monkeypatch.setattr(jobs, "BEAT_SECONDS", 3600)
    executed(upload(("c.json", json.dumps(chats(20)).encode())))
    assert len(written) == 2  # the beginning and the end
    written.clear()
    monkeypatch.setattr(jobs, "BEAT_SECONDS", 0)
    done = executed(upload(("c.json", json.dumps(chats(3, 500)).encode())))
    assert len(written) == 5
    assert [step["bytes_done"] for step in written[1:]] == sorted(step["bytes_done"] for step in written[1:])
    assert done.conversations.count() == 3


class Interrupt:
    """Does something when the n-th conversation has been imported."""

    def __init__(self, monkeypatch, after: int, action):
        between = jobs._Progress.between
        self.seen = 0

        def spy(progress) -> None:
            self.seen += 1
            if self.seen == after:
                action()
            between(progress)

        monkeypatch.setattr(jobs, "BEAT_SECONDS", 0)
        monkeypatch.setattr(jobs._Progress, "between", spy)


def test_a_running_import_is_cancelled_between_two_conversations(monkeypatch):
    row = upload()
    Interrupt(monkeypatch, 2, lambda: services.cancel(row.pk))
    done = executed(row)
    assert done.status == ChatImport.Status.CANCELLED
    assert done.counts["states"] == {"new": 2}
    assert Chat.objects.count() == 2
    assert stored(row) == ["1"]
    assert not services.cancel(row.pk)


def test_a_waiting_import_is_cancelled_at_once():
    row = upload()
    assert services.cancel(row.pk)
    assert executed(row).status == ChatImport.Status.CANCELLED
    assert not Chat.objects.exists()


def test_an_attempt_that_lost_its_import_writes_nothing_more(monkeypatch):
    row = upload()

    def lose() -> None:
        ChatImport.objects.filter(pk=row.pk).update(attempt_token=uuid.uuid4())

    Interrupt(monkeypatch, 2, lose)
    left = executed(row)
    assert left.status == ChatImport.Status.RUNNING
    assert left.conversations.count() == 1
    assert left.finished_at is None


def test_only_one_worker_claims_an_import():
    row = upload()
    first, second = claim(row.pk), claim(row.pk)
    assert first is not None
    assert second is None
    with pytest.raises(AttemptLost):
        Attempt(ChatImport(pk=row.pk, attempt_token=uuid.uuid4())).write(bytes_done=1)


def test_a_worker_that_is_to_stop_hands_the_import_back(monkeypatch):
    row = upload()
    Interrupt(monkeypatch, 2, stop_requested.set)
    try:
        waiting = executed(row)
    finally:
        stop_requested.clear()
    assert waiting.status == ChatImport.Status.QUEUED
    assert waiting.recoveries == 0
    done = executed(row)
    assert done.status == ChatImport.Status.SUCCEEDED
    # What the first attempt imported is not called unchanged by the second.
    assert done.counts["states"] == {"new": 3}


def test_a_lost_import_runs_again_and_reports_each_conversation_once(monkeypatch):
    row = upload()

    def die() -> None:
        raise OperationalError("the database went away")

    Interrupt(monkeypatch, 3, die)
    with pytest.raises(OperationalError):
        jobs.execute(row.pk)
    assert ChatImport.objects.get(pk=row.pk).status == ChatImport.Status.RUNNING
    assert reconcile.reconcile_imports() == {}
    ChatImport.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert len(list(check())) == 1
    assert reconcile.reconcile_imports(dry_run=True) == {"recovered": 1}
    assert reconcile.reconcile_imports() == {"recovered": 1}
    done = executed(row)
    assert (done.status, done.attempt, done.recoveries) == (ChatImport.Status.SUCCEEDED, 2, 1)
    assert list(done.conversations.values_list("number", "state")) == [(1, "new"), (2, "new"), (3, "unchanged")]
    assert list(check()) == []


def test_an_import_that_loses_its_worker_too_often_fails():
    row = upload()
    claim(row.pk)
    ChatImport.objects.update(lease_expires_at=timezone.now(), recoveries=reconcile.MAX_RECOVERIES)
    assert reconcile.reconcile_imports() == {"ended": 1}
    row.refresh_from_db()
    assert (row.status, row.error) == (ChatImport.Status.FAILED, "its worker was lost 11 times")


def test_a_lost_import_that_was_to_be_cancelled_is_cancelled():
    row = upload()
    claim(row.pk)
    services.cancel(row.pk)
    ChatImport.objects.update(lease_expires_at=timezone.now())
    assert reconcile.reconcile_imports() == {"ended": 1}
    row.refresh_from_db()
    assert row.status == ChatImport.Status.CANCELLED


def test_an_unexpected_error_fails_the_import_with_its_name(monkeypatch):
    row = upload()

    def broken() -> None:
        raise ZeroDivisionError("a bug")

    Interrupt(monkeypatch, 2, broken)
    done = executed(row)
    assert (done.status, done.error) == (ChatImport.Status.FAILED, "ZeroDivisionError: a bug")


def test_waiting_imports_are_enqueued_again(rq_connection):
    row = upload()
    rq_connection.flushdb()
    ChatImport.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert reconcile.reconcile_imports() == {"enqueued": 1}
    call_command("reconcile", "--json")
    assert row.status == ChatImport.Status.QUEUED


def test_files_go_after_their_time_and_not_before(home):
    kept, old = executed(upload(dry_run=True)), executed(upload(dry_run=True))
    waiting = upload()
    ChatImport.objects.filter(pk=old.pk).update(finished_at=timezone.now() - UPLOADS_KEPT - timedelta(minutes=1))
    stray = uploads.folder_of(uuid.uuid4())
    stray.mkdir()
    assert reconcile.reconcile_imports() == {"files deleted": 1}
    assert (stored(kept), stored(old), stored(waiting)) == (["1"], [], ["1"])
    assert stray.exists()
    assert list(check()) == []
    uploads.remove(waiting.pk)
    assert "1 of its files are not in" in next(check())


def test_files_that_nothing_names_go_after_a_day_and_are_found_when_they_do_not(home):
    """What a killed request leaves of an upload before its index is written, and of an import before its row."""
    left, orphan = staging.uploads_root() / str(uuid.uuid4()), uploads.folder_of(uuid.uuid4())
    (left / "0001").mkdir(parents=True)
    (left / "0001" / "diary.md").write_text("Dear diary")
    orphan.mkdir(parents=True)
    assert reconcile.reconcile_imports() == {}
    assert list(check()) == []
    long_ago = time.time() - uploads.ABANDONED_SECONDS - 7200
    for path in (left, orphan):
        os.utime(path, (long_ago, long_ago))
    assert [line.split(" holds ")[0] for line in check()] == [str(orphan), str(left)]
    assert reconcile.reconcile_imports() == {"files deleted": 1, "uploads deleted": 1}
    assert not left.exists()
    assert list(check()) == []


def test_erasing_a_chat_takes_its_title_out_of_the_report():
    done = executed(upload())
    Chat.objects.get(external_id="c1").delete()
    assert list(done.conversations.values_list("number", flat=True)) == [2, 3]


def test_a_chat_erased_before_it_is_reported_is_not_named():
    row = claim(upload().pk)
    gone = ImportedChat(chat_import=row, number=1, state="new", title="Secret", chat_id=uuid.uuid4())
    Attempt(row).write([gone])
    assert list(row.conversations.values_list("title", "chat")) == [("", None)]


def test_the_upload_handler_takes_no_more_than_allowed(settings):
    settings.OSII_UPLOAD_MAX_MB = 1
    handler = uploads.ImportUploadHandler()
    handler.handle_raw_input(None, {}, 2**20 + 1)
    assert "larger than 1 MB" in handler.refusal
    with pytest.raises(SkipFile):
        handler.new_file("files", "a.json", "application/json", None)
    unannounced = uploads.ImportUploadHandler()
    unannounced.handle_raw_input(None, {}, 0)
    unannounced.new_file("files", "a.json", "application/json", None)
    unannounced.receive_data_chunk(b"x" * 2**20, 0)
    with pytest.raises(SkipFile):
        unannounced.receive_data_chunk(b"x", 2**20)


def test_a_full_disk_is_told_before_anything_is_taken(monkeypatch):
    monkeypatch.setattr(uploads, "_free_bytes", lambda: uploads._DISK_RESERVE + 10)
    handler = uploads.ImportUploadHandler()
    handler.handle_raw_input(None, {}, 11)
    assert "not enough room" in handler.refusal
