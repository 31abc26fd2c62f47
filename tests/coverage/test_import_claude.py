"""Claude.ai exports: text that repeats content, calls and results in one message, branches."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from coverage.ids import new_id
from coverage.importers.records import ParsedChat, Problem
from coverage.models import Chat, Message, MessageCoverage
from coverage.services import append_entries
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, texts, tools, write
from tests.coverage.test_import_load import chats, run, transcript

ROOT = "00000000-0000-4000-8000-000000000000"


def msg(uuid: str, text: Any = None, sender: str = "human", **more: Any) -> dict[str, Any]:
    content = more.pop("content", [] if text is None else [{"type": "text", "text": text}])
    return {"uuid": uuid, "sender": sender, "text": text or "", "content": content, **more}


def conversation(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"uuid": "conv-1", "name": "Talk", "chat_messages": list(messages), **more}


def linked(*messages: tuple[str, str], times: bool = True) -> list[dict[str, Any]]:
    """Messages given as (uuid, parent), said one minute after the other."""
    return [
        msg(
            uuid,
            uuid,
            "human" if uuid.startswith("u") else "assistant",
            parent_message_uuid=parent or None,
            created_at=f"2026-05-01T10:{minute:02}:00Z" if times else None,
        )
        for minute, (uuid, parent) in enumerate(messages)
    ]


def parse(tmp_path: Path, *messages: Any, **more: Any) -> ParsedChat:
    return only_chat(read(write(tmp_path / "c.json", [conversation(*messages, **more)])))


@pytest.mark.parametrize("wrap", [lambda c: [c], lambda c: c, lambda c: {"conversations": [c]}])
def test_shapes(tmp_path: Path, wrap: Any) -> None:
    path = write(tmp_path / "x", wrap(conversation(msg("u", "Hello"))))
    assert detected(path) == "claude"
    assert ids(only_chat(read(path))) == ["u"]


def test_what_a_conversation_carries(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u", "Hello", created_at="2026-05-01T10:00:00.250000Z"),
        msg("a", "Hi", "assistant"),
        created_at="2026-05-01T10:00:00Z",
        updated_at="2026-05-01T11:00:00+00:00",
    )
    assert (chat.external_id, chat.title) == ("conv-1", "Talk")
    assert chat.created_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert chat.updated_at == datetime(2026, 5, 1, 11, tzinfo=UTC)
    assert [(m.role, m.said_at) for m in chat.messages] == [
        ("user", datetime(2026, 5, 1, 10, 0, 0, 250_000, tzinfo=UTC)),
        ("assistant", None),
    ]


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("Hello", [{"type": "text", "text": "Hello"}], ["Hello"]),
        ("Hello", [], ["Hello"]),
        ("Hello", None, ["Hello"]),
        ("Hello", [{"type": "thinking", "thinking": "Hm."}], ["Hello"]),
        ("One\n\nTwo", [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}], ["One", "Two"]),
        ("Other", [{"type": "text", "text": "Hello"}], ["Hello"]),
        ("", "Hello", ["Hello"]),
        ("```\nThis block is not supported on your current device yet.\n```", [], []),
    ],
)
def test_text_repeats_content(tmp_path: Path, text: str, content: Any, expected: list[str]) -> None:
    assert texts(parse(tmp_path, msg("a", text, "assistant", content=content))) == expected


def test_calls_and_results_stand_in_one_message(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "id": "t1", "name": "clock", "input": {"zone": "UTC"}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "clock", "content": [{"type": "text", "text": "10:00"}]},
        {"type": "text", "text": "It is ten."},
    ]
    (message,) = parse(tmp_path, msg("a", "Wait.\n\nIt is ten.", "assistant", content=content)).messages
    assert [part["type"] for part in message.parts] == ["text", "dynamic-tool", "text"]
    assert message.parts[1]["output"] == "10:00"


def test_older_exports_have_no_call_ids(tmp_path: Path) -> None:
    content = [
        {"type": "tool_use", "name": "clock", "input": {}},
        {"type": "tool_use", "name": "dice", "input": {}},
        {"type": "tool_result", "name": "dice", "content": "4"},
        {"type": "tool_result", "name": "clock", "content": "10:00", "is_error": True},
    ]
    first, second = tools(parse(tmp_path, msg("a", None, "assistant", content=content)))
    assert (first["toolName"], first["errorText"]) == ("clock", "10:00")
    assert (second["toolName"], second["output"]) == ("dice", "4")
    assert first["toolCallId"] != second["toolCallId"]


def test_attachments_are_kept_and_not_said(tmp_path: Path) -> None:
    attached = [{"file_name": "notes.txt", "extracted_content": "Buy milk"}, {"file_name": "x.bin"}]
    chat = parse(tmp_path, msg("u", "", attachments=attached, files=[{"file_name": "photo.jpg"}]))
    assert texts(chat) == []
    assert chat.messages[0].parts == [
        {"type": "data-attachment", "data": {"filename": "notes.txt", "text": "Buy milk"}},
        {"type": "file", "mediaType": "application/octet-stream", "url": "", "filename": "photo.jpg"},
    ]


# --- branches --------------------------------------------------------------------------------------------------------

TREE = [("u1", ROOT), ("a1", "u1"), ("a2", "u1"), ("u2", "a1"), ("u3", "a2")]


@pytest.mark.parametrize(
    ("tree", "current", "expected"),
    [
        (TREE, None, ["u1", "a2", "u3"]),
        (TREE, "u2", ["u1", "a1", "u2"]),
        (TREE, "gone", ["u1", "a2", "u3"]),
        ([*TREE, ("u9", ROOT)], None, ["u9"]),
        ([("u1", ""), ("a1", "u1"), ("u2", "a1")], None, ["u1", "a1", "u2"]),
        ([("u1", ROOT), ("a1", "u1"), ("u2", "lost"), ("a2", "u2")], None, ["u1", "a1", "u2", "a2"]),
        ([("u1", "a1"), ("a1", "u1")], None, ["u1", "a1"]),
        ([("u1", "u1"), ("a1", "u1")], None, ["u1", "a1"]),
    ],
)
@pytest.mark.parametrize("times", [True, False])
def test_the_active_branch(tmp_path: Path, tree: Any, current: Any, expected: list[str], times: bool) -> None:
    chat = parse(tmp_path, *linked(*tree, times=times), current_leaf_message_uuid=current)
    assert ids(chat) == expected
    assert chat.problems == []


@pytest.mark.django_db
def test_switching_the_branch_reopens_only_what_differs(tmp_path: Path) -> None:
    """The ledger has every message of one branch; on the other only its own messages are uncovered."""
    path = tmp_path / "c.json"
    run(write(path, [conversation(*linked(*TREE), current_leaf_message_uuid="u2")]))
    chat = Chat.objects.get()
    with transaction.atomic():
        append_entries(chat, Message.objects.filter(chat=chat, position__isnull=False), batch_id=new_id())
    (report,) = chats(run(write(path, [conversation(*linked(*TREE), current_leaf_message_uuid="u3")])))
    assert (report.added, report.unchanged, report.left) == (2, 1, 2)
    assert transcript(chat) == ["u1", "a2", "u3"]
    uncovered = MessageCoverage.objects.filter(chat=chat, covered=False).order_by("position")
    assert [row.message_id for row in uncovered] == ["a2", "u3"]
    run(write(path, [conversation(*linked(*TREE), current_leaf_message_uuid="u2")]))
    assert transcript(chat) == ["u1", "a1", "u2"]
    assert not MessageCoverage.objects.filter(chat=chat, covered=False).exists()


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "not an object"),
        (msg("x", "Hi", "narrator"), "the sender 'narrator' is not one of"),
        (msg("x", "a\ud800"), "lone surrogate at offset 1"),
        (msg("u1", "again"), "occurs twice"),
    ],
)
def test_a_bad_message_is_refused_by_position(tmp_path: Path, bad: Any, reason: str) -> None:
    chat = parse(tmp_path, msg("u1", "One"), bad, msg("a1", "Two", "assistant"))
    ((position, why),) = complaints([chat])
    assert position == "conversation 1 ('Talk'), message 2"
    assert reason in why
    assert texts(chat) == ["One", "Two"]


def test_a_bad_message_among_linked_ones(tmp_path: Path) -> None:
    first, second = linked(("u1", ROOT), ("a1", "broken"))
    chat = parse(tmp_path, first, "broken", second)
    assert [position for position, _ in complaints([chat])] == ["conversation 1 ('Talk'), message 2"]
    assert ids(chat) == ["u1", "a1"]


def test_a_broken_conversation_is_reported(tmp_path: Path) -> None:
    good = conversation(msg("u", "Hi"))
    results = read(write(tmp_path / "c.json", [good, None, {"uuid": "x"}, {**good, "uuid": "conv-2"}]))
    assert [position for position, _ in complaints(results)] == ["conversation 2", "conversation 3"]
    assert len([result for result in results if not isinstance(result, Problem)]) == 2


def test_missing_ids_are_found_again(tmp_path: Path) -> None:
    without = [{"sender": "human", "text": "Hi"}, {"sender": "assistant", "text": "Hello"}]
    first = parse(tmp_path, *without, uuid=None, created_at="2026-05-01T10:00:00Z")
    again = parse(tmp_path, *without, without[0], uuid="", created_at="2026-05-01T10:00:00Z")
    assert first.external_id == again.external_id
    assert ids(again)[:2] == ids(first)
