"""add_files --watch: settled files, each state once, across restarts; and a clean end."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from extraction.documents import invariants, services
from extraction.documents.store import library_store
from extraction.models import Document, DocumentSource
from osii.library.watching import Watcher

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    settings.OSII_HOME = tmp_path / "home"
    made = tmp_path / "my files"
    made.mkdir()
    return made


def watcher(folder: Path) -> Watcher:
    return Watcher([str(folder)], library_store().root, settle_seconds=2)


def names(found: tuple[list, list[str]]) -> tuple[list[str], list[str]]:
    return [Path(one.path).name for one in found[0]], [Path(path).name for path in found[1]]


def test_a_file_is_taken_when_it_has_settled(folder):
    watched = watcher(folder)
    path = folder / "a.txt"
    path.write_text("half")
    assert names(watched.look(0)) == ([], [])
    assert names(watched.look(1.9)) == ([], [])
    path.write_text("half and more")
    assert names(watched.look(2)) == ([], [])
    assert names(watched.look(3.9)) == ([], [])
    assert names(watched.look(4)) == (["a.txt"], [])
    watched.is_done(str(path))
    assert names(watched.look(9)) == ([], [])
    path.write_text("new bytes")
    assert names(watched.look(10)) == ([], [])
    assert names(watched.look(12)) == (["a.txt"], [])


def test_what_changes_while_it_is_taken_is_taken_again(folder):
    watched = watcher(folder)
    path = folder / "a.txt"
    path.write_text("one")
    watched.look(0)
    watched.look(2)
    path.write_text("two, while the first was read")
    watched.is_done(str(path))
    watched.look(3)
    assert names(watched.look(5)) == (["a.txt"], [])


def test_what_goes_is_told_once_and_may_come_back(folder):
    watched = watcher(folder)
    path, never = folder / "a.txt", folder / "never settled.txt"
    path.write_text("one")
    never.write_text("x")
    watched.look(0)
    never.unlink()
    watched.look(2)
    watched.is_done(str(path))
    path.unlink()
    assert names(watched.look(3)) == ([], ["a.txt"])
    assert names(watched.look(4)) == ([], [])
    path.write_text("one")
    watched.look(5)
    assert names(watched.look(7)) == (["a.txt"], [])


def test_hidden_files_and_the_store_are_not_watched(folder, settings):
    settings.OSII_HOME = folder / "home"
    (folder / ".hidden.txt").write_text("x")
    watched = watcher(folder)
    services.extract(services.add_file(_written(folder / "a.txt", "text")).file_id)
    watched.look(0)
    assert names(watched.look(2)) == (["a.txt"], [])


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_restart_remembers_what_has_a_text(folder, django_assert_num_queries):
    for name, text in {"same.txt": "same", "changed.txt": "before", "failed.txt": " "}.items():
        services.extract(services.add_file(_written(folder / name, text)).file_id)
    time.sleep(0.002)  # another microsecond
    (folder / "changed.txt").write_text("after!")
    (folder / "new.txt").write_text("new")
    watched = watcher(folder)
    with django_assert_num_queries(1):
        watched.remember()
    watched.look(0)
    assert names(watched.look(2)) == (["changed.txt", "failed.txt", "new.txt"], [])


def wait_for(lines: Path, count: int, process: subprocess.Popen) -> list[dict]:
    deadline = time.monotonic() + 90
    while True:
        found = [json.loads(line) for line in lines.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if len(found) >= count:
            return found
        assert process.poll() is None
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_watching_process(folder, manage: Callable[..., list[str]], child_environment, tmp_path):
    """Real processes: what is there, what comes, what is replaced; Ctrl-C; and again."""
    environment = child_environment | {"OSII_HOME": str(tmp_path / "home")}

    def start(name: str) -> tuple[subprocess.Popen, Path]:
        lines = tmp_path / name
        with lines.open("w") as out, (tmp_path / f"{name}.err").open("w") as err:
            command = manage("add_files", "--watch", "--settle", "0.3", "--json", str(folder))
            return subprocess.Popen(command, env=environment, stdout=out, stderr=err), lines

    (folder / "there.txt").write_text("It was there before.")
    process, lines = start("first")
    try:
        assert [entry["status"] for entry in wait_for(lines, 1, process)] == ["added"]
        (folder / "sub").mkdir()
        (folder / "sub" / "comes.md").write_text("# It comes later\n")
        assert wait_for(lines, 2, process)[1]["path"].endswith("sub/comes.md")
        (folder / "there.txt").write_text("It was changed.")
        replaced = wait_for(lines, 3, process)[2]
        assert replaced["status"] == "replaces"
        (folder / "there.txt").unlink()
        assert wait_for(lines, 4, process)[3]["status"] == "gone"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    assert "Stopped. 2 added, 1 replaces" in (tmp_path / "first.err").read_text()
    process, lines = start("second")
    try:
        (folder / "new.txt").write_text("Something new.")
        (entry,) = wait_for(lines, 1, process)
        assert entry["path"].endswith("new.txt")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    assert Document.objects.count() == DocumentSource.objects.count() == 4
    assert list(invariants.check()) == []
    assert os.environ["OSII_HOME"] != environment["OSII_HOME"]
