"""`import_chats`: what it prints, its exit status, its JSON, and its memory."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from coverage.models import Chat, Message
from tests.coverage.import_helpers import said, write
from tests.coverage.test_import_chatgpt import chain, msg

pytestmark = pytest.mark.django_db

CHAT = {"id": "c1", "title": "First", "messages": [said("a", "One"), said("b", "Two", "assistant")]}
BROKEN = {"id": "c2", "title": "Sec\nond", "messages": [said("a", "One"), {"id": "b", "role": "user"}]}


def run(*arguments: Any) -> tuple[str, str]:
    """(what was printed, the error that ended it)."""
    out = StringIO()
    try:
        call_command("import_chats", *map(str, arguments), stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def test_a_good_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", CHAT)
    out, error = run(path)
    assert error == ""
    assert out.splitlines()[1].split() == ["new", "2", "0", "0", "me", "First"]
    assert out.splitlines()[-2] == ("Imported: 1 conversation (1 new); messages: 2 added, 0 changed, 0 unchanged.")
    assert out.splitlines()[-1].startswith("Next: `manage.py extract_chats --all --rest`")
    out, error = run(path)
    assert out.splitlines()[-1] == (
        "Imported: 1 conversation (1 unchanged); messages: 0 added, 0 changed, 2 unchanged."
    )


def test_problems_name_file_position_and_remedy_and_fail(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [CHAT, BROKEN])
    out, error = run(path, tmp_path / "gone.json")
    assert error == "2 problems; everything else was imported"
    assert f"  {path}, conversation 2 ('Sec ond'), message 2: the message has no list of parts → give it" in out
    assert f"  {tmp_path}/gone.json: does not exist → check the path" in out
    assert Message.objects.count() == 3


def test_json_is_one_object(tmp_path: Path) -> None:
    write(tmp_path / "x" / "a.json", [CHAT, BROKEN])
    write(tmp_path / "x" / "notes.txt", "hello")
    out, error = run(tmp_path / "x", "--json")
    data = json.loads(out)
    assert error
    assert [chat["state"] for chat in data["conversations"]] == ["new", "new"]
    assert data["conversations"][0]["chat_id"] == str(Chat.objects.get(external_id="c1").pk)
    assert data["totals"] == {
        "conversations": 2,
        "states": {"new": 2},
        "messages": {"added": 3, "changed": 0, "moved": 0, "unchanged": 0, "left": 0},
        "checkpoints": {},
        "covered": {"messages": 0, "tokens": 0},
        "problems": 1,
    }
    assert data["problems"][0]["position"] == "conversation 2 ('Sec ond'), message 2"
    assert [Path(row["file"]).name for row in data["skipped_files"]] == ["notes.txt"]
    assert data["dry_run"] is False


def test_links_out_of_a_folder_are_not_followed_and_told(tmp_path: Path) -> None:
    """Whoever packed the folder may have named any file of this machine; links within it are files like others."""
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    secret = write(outside / "secret.json", CHAT | {"id": "c9", "title": "Secret"})
    inside = write(folder / "deep" / "a.json", CHAT)
    for name, target in {
        "absolute.json": secret, "relative.json": Path("../outside/secret.json"), "deep/twice.json": folder / "absolute.json",
        "others": outside, "within.json": inside, "round": folder, "nowhere.json": tmp_path / "gone.json",
    }.items():  # fmt: skip
        (folder / name).symlink_to(target)
    (tmp_path / "given").symlink_to(folder)
    for given in (folder, tmp_path / "given", os.path.relpath(folder)):
        data = json.loads(run(given, "--json")[0])
        assert [chat["title"] for chat in data["conversations"]] == ["First"]
        left_out = ["deep/twice.json", "absolute.json", "others", "relative.json"]
        assert sorted(row["file"] for row in data["links_left_out"]) == sorted(f"{given}/{name}" for name in left_out)
        assert (data["problems"], data["skipped_files"]) == ([], [])
    out, error = run(folder)
    assert f"Passed over {folder}/others: it is a link that leads out of the folder: name what it points to\n" in out
    assert error == ""
    assert run(folder / "absolute.json")[0].splitlines()[1].endswith("Secret")  # what is named itself is read


def test_dry_run_says_so_and_writes_nothing(tmp_path: Path) -> None:
    out, _ = run(write(tmp_path / "a.json", CHAT), "--dry-run")
    assert "Would import: 1 conversation (1 new)" in out
    assert not Chat.objects.exists()


def test_options_reach_the_import(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [chain(msg("u1", "Hi"))])
    out, _ = run(path, "--learner", "Ada", "--format", "chatgpt")
    assert "Ada" in out
    assert Chat.objects.get().learner.name == "Ada"
    out, error = run(path, "--format", "uimessage")
    assert "the conversation has no list of messages" in out
    assert error


@pytest.mark.parametrize(("name", "words"), [("x" * 201, "at most 200"), ("a\x00", "NUL"), ("a\ud800", "surrogate")])
def test_a_learner_that_cannot_be(tmp_path: Path, name: str, words: str) -> None:
    _, error = run(write(tmp_path / "a.json", CHAT), "--learner", name)
    assert words in error
    assert not Chat.objects.exists()


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    many = [{**CHAT, "id": f"c{number}", "title": f"Chat {number}"} for number in range(60)] + [None] * 60
    out, error = run(write(tmp_path / "a.json", many))
    lines = out.splitlines()
    assert len(lines) < 110
    assert "… and 20 more conversations (--json lists them all)" in lines
    assert "  … and 10 more (--json lists them all)" in lines
    assert error.startswith("60 problems")


def test_names_that_a_terminal_cannot_show(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff\x1b[31m.json")
    write(path, {**CHAT, "title": "Bell \x07 \x1b[31mred", "messages": []})
    write(tmp_path / "b.json", {**CHAT, "title": "\x1b[31mred"})
    out, _ = run(tmp_path)
    assert "\x1b" not in out
    out.encode()
    out, _ = run(tmp_path, "--json")
    out.encode()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_large_export_needs_little_memory(
    tmp_path: Path, manage: Callable[..., list[str]], child_environment: dict[str, str]
) -> None:
    """In a process of its own: what fifteen megabytes need at most is about what one needs."""
    peaks = []
    for megabytes in (1, 15):
        command = manage("import_chats", str(_export(tmp_path, megabytes)), "--learner", "Large")
        done = f"Imported: {megabytes * 10:,} conversations ({megabytes * 10:,} new)"
        peaks.append(peak_kilobytes(command, child_environment, done))
    assert peaks[1] - peaks[0] < 12_000


def _export(folder: Path, megabytes: int) -> Path:
    path = folder / f"{megabytes}.json"
    text = 'Many words about photosynthesis, [brackets], {braces} and "quotes". ' * 40
    with path.open("w", encoding="utf-8") as stream:
        for number in range(megabytes * 10):
            messages = [msg(f"{number}-{index}", text, ("user", "assistant")[index % 2]) for index in range(32)]
            conversation = chain(*messages, conversation_id=f"{megabytes}-{number}", title=f"Chat {number}")
            stream.write("[" if number == 0 else ",\n")
            json.dump(conversation, stream)
        stream.write("]")
    assert path.stat().st_size > megabytes * 900_000
    return path


def peak_kilobytes(command: list[str], environment: dict[str, str], expected: str) -> int:
    """Run a command in a process of its own, see that it prints what is expected; the most memory that it held."""
    watch = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]);" + (
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    )
    watched = [sys.executable, "-c", watch, *command]
    done = subprocess.run(watched, env=environment, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    return int(done.stdout.splitlines()[-1])
