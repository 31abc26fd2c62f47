"""Very large messages, chats and files: read, stored and read back whole, or refused by position."""

import gzip
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coverage.ids import new_id
from coverage.importers.load import total_bytes
from coverage.models import Chat, Message, MessageCoverage
from coverage.services import append_entries
from tests.coverage.import_helpers import said, write
from tests.coverage.test_import_claude_code import Session
from tests.coverage.test_import_command import peak_kilobytes
from tests.coverage.test_import_load import chats, problems, run

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

FIFTY_MEGABYTES = "Wie fließt das Wasser? 水はどう流れる。" * 1_250_000


def test_a_message_of_fifty_megabytes(tmp_path: Path) -> None:
    assert len(FIFTY_MEGABYTES.encode()) > 50_000_000
    messages = [said("a", "Before"), said("b", FIFTY_MEGABYTES, "assistant"), said("c", "After")]
    path = write(tmp_path / "a.json", json.dumps(messages, ensure_ascii=False))
    (report,) = chats(run(path))
    assert (report.added, report.problems) == (3, [])
    row = Message.objects.get(message_id="b")
    assert row.parts[0]["text"] == FIFTY_MEGABYTES
    assert row.tokens == -(-len(FIFTY_MEGABYTES) // 4)
    (again,) = chats(run(path))
    assert (again.state, again.unchanged) == ("unchanged", 3)


def test_one_bad_character_in_fifty_megabytes(tmp_path: Path) -> None:
    messages = [said("a", "Before"), said("b", FIFTY_MEGABYTES + "\ud800"), said("c", "After")]
    reports = run(write(tmp_path / "a.json", messages))
    (problem,) = problems(reports)
    assert f"message 2: parts[0].text: lone surrogate at offset {len(FIFTY_MEGABYTES)}" in problem
    assert chats(reports)[0].added == 2


def openai(count: int) -> Iterator[Any]:
    for number in range(count):
        yield {"role": ("user", "assistant")[number % 2], "content": f"Message {number}: {'water flows ' * 20}"}


def claude_code(count: int) -> Iterator[Any]:
    session = Session()
    for number in range(count):
        add = session.answer if number % 2 else session.user
        add(f"l{number}", f"Message {number}: {'water flows ' * 20}", timestamp=None)
        yield session.lines.pop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("make", "count"), [(openai, 25_000), (claude_code, 10_000)])
def test_a_chat_of_very_many_messages(tmp_path: Path, make: Callable[[int], Iterator[Any]], count: int) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in make(count))
    (report,) = chats(run(path))
    assert (report.state, report.added, report.problems) == ("new", count, [])
    chat = Chat.objects.get()
    append_entries(chat, Message.objects.filter(chat=chat), batch_id=new_id())
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[count // 2] = lines[count // 2].replace("water flows", "water falls", 1)
    (again,) = chats(run(write(path, "\n".join(lines))))
    assert (again.state, again.changed, again.unchanged) == ("changed", 1, count - 1)
    (open_again,) = MessageCoverage.objects.filter(chat=chat, covered=False)
    assert open_again.position == count // 2 + 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pack", ["zip", "jsonl.gz"])
def test_packed_files_need_little_memory(
    tmp_path: Path, manage: Callable[..., list[str]], child_environment: dict[str, str], pack: str
) -> None:
    """In a process of its own: what fifteen megabytes need at most is about what one needs."""
    peaks = []
    for megabytes in (1, 15):
        path = packed(tmp_path / f"{megabytes}.{pack}", megabytes)
        done = f"{megabytes * 10:,} conversations ({megabytes * 10:,} new)"
        peaks.append(peak_kilobytes(manage("import_chats", str(path), "--learner", "Large"), child_environment, done))
    assert peaks[1] - peaks[0] < 12_000


def packed(path: Path, megabytes: int) -> Path:
    """Conversations of 100 kB, in an archive of many files or as the lines of one."""
    text = 'Many words about photosynthesis, [brackets], {braces} and "quotes". ' * 40
    texts = (
        json.dumps({"id": f"{megabytes}-{n}", "messages": [said(f"{n}-{i}", f"{i} {text}") for i in range(32)]})
        for n in range(megabytes * 10)
    )
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, content in enumerate(texts):
                archive.writestr(f"folder/{number}.json", content)
    else:
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.writelines(content + "\n" for content in texts)
    assert total_bytes([path]) > 0
    return path
