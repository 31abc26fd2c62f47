"""UIMessage files: every accepted shape, every refused message by its position."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage.importers.documents import UnreadableFile
from coverage.importers.records import ParsedChat, Problem
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, said, texts, write

CHAT = {"id": "c1", "title": "First", "messages": [said("a", "One"), said("b", "Two", "assistant")]}
OTHER = {"id": "c2", "learner": "Ada", "messages": [said("a", "Uno")]}


@pytest.mark.parametrize(
    ("content", "lines", "chats"),
    [
        ({"chats": [CHAT, OTHER]}, False, [["a", "b"], ["a"]]),
        ({"version": 1, "note": ["x", {"y": "]"}], "chats": [CHAT], "more": {}}, False, [["a", "b"]]),
        ([CHAT, OTHER], False, [["a", "b"], ["a"]]),
        (CHAT, False, [["a", "b"]]),
        (CHAT["messages"], False, [["a", "b"]]),
        ([CHAT, OTHER], True, [["a", "b"], ["a"]]),
        ([CHAT], True, [["a", "b"]]),
        (CHAT["messages"], True, [["a", "b"]]),
        ([CHAT["messages"][0]], True, [["a"]]),
        ({"chats": []}, False, []),
        ({"chats": [{"id": "c", "messages": []}]}, False, [[]]),
    ],
)
def test_every_shape(tmp_path: Path, content: Any, lines: bool, chats: list[list[str]]) -> None:
    path = write(tmp_path / "any.name", content, lines=lines)
    assert detected(path) == "uimessage"
    results = read(path)
    assert complaints(results) == []
    assert [ids(chat) for chat in results] == chats


def test_pretty_printed_and_windows_files(tmp_path: Path) -> None:
    pretty = json.dumps(CHAT, indent=2).replace("\n", "\r\n")
    assert ids(only_chat(read(write(tmp_path / "a.json", "\ufeff" + pretty)))) == ["a", "b"]
    lines = "\ufeff" + "\r\n\r\n".join(json.dumps(chat) for chat in (CHAT, OTHER))
    assert [ids(chat) for chat in read(write(tmp_path / "b.jsonl", lines))] == [["a", "b"], ["a"]]


def test_several_pretty_printed_objects_in_one_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps(CHAT, indent=1) + "\n" + json.dumps(OTHER, indent=1))
    assert [ids(chat) for chat in read(path)] == [["a", "b"], ["a"]]


def test_what_a_chat_carries(tmp_path: Path) -> None:
    chat = {
        "id": 7,
        "title": "  A\n title ",
        "learner": " Ada ",
        "created_at": "2026-05-01T12:00:00+02:00",
        "messages": [
            said("a", "One", metadata={"createdAt": 1_777_629_600_000, "model": "m"}),
            said("b", "Two", "assistant", createdAt="2026-05-01T10:00:05Z"),
            said("c", "Three", metadata={"createdAt": "yesterday"}),
            said("d", "Four", metadata="free text"),
        ],
    }
    parsed = only_chat(read(write(tmp_path / "a.json", chat)))
    assert (parsed.external_id, parsed.title, parsed.learner) == ("7", "A title", "Ada")
    assert parsed.created_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert [message.said_at for message in parsed.messages] == [
        datetime(2026, 5, 1, 10, tzinfo=UTC),
        datetime(2026, 5, 1, 10, 0, 5, tzinfo=UTC),
        None,
        None,
    ]
    assert parsed.messages[0].metadata == {"createdAt": 1_777_629_600_000, "model": "m"}
    assert parsed.messages[3].metadata == {"value": "free text"}


def test_parts_are_kept_as_they_are(tmp_path: Path) -> None:
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm", "state": "done"},
        {"type": "text", "text": "  光合 \u200d \N{GRINNING FACE} naïve\n\ttab ", "state": "done"},
        {"type": "tool-quiz", "toolCallId": "1", "state": "input-available", "input": {"q": [1, 2.5, None]}},
        {"type": "data-plan", "id": "p", "data": {"x": 1}},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA"},
    ]
    message = {"id": "a", "role": "assistant", "parts": parts}
    assert only_chat(read(write(tmp_path / "a.json", [message]))).messages[0].parts == parts


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "not an object"),
        (None, "not an object"),
        ([], "not an object"),
        ({"id": "x", "role": "user"}, "no list of parts"),
        ({"id": "x", "role": "user", "parts": "Hi"}, "no list of parts"),
        ({"id": "x", "role": "user", "parts": ["Hi"]}, "parts[0] must be an object"),
        ({"id": "x", "role": "user", "parts": [{"type": "text"}]}, "parts[0].text must be a text"),
        ({"id": "x", "parts": []}, "role None is not one of"),
        (said("x", "Hi", "tool"), "role 'tool' is not one of system, user, assistant"),
        (said("x", "Hi", {"a": 1}), "is not one of"),
        (said("a", "Hi"), "the id 'a' occurs twice"),
        (said("x" * 201, "Hi"), "1 to 200 characters"),
        (said([1], "Hi"), "neither a text nor a number"),
        (said("x\x00", "Hi"), "id: NUL character at offset 1"),
        (said("x", "a\x00b"), "parts[0].text: NUL character at offset 1"),
        (said("x", "a\ud800b"), "parts[0].text: lone surrogate at offset 1"),
        (said("x", "Hi", metadata={"k": "\x00"}), "metadata.k: NUL character at offset 0"),
        (said("x", "Hi", metadata={"k": float("nan")}), "not a finite number"),
    ],
)
def test_a_bad_message_is_refused_by_position_and_the_rest_is_read(tmp_path: Path, bad: Any, reason: str) -> None:
    chat = {"id": "c", "title": "Talk", "messages": [said("a", "One"), bad, said("b", "Two")]}
    (result,) = results = read(write(tmp_path / "a.json", {"chats": [OTHER, chat]}))[1:]
    ((position, why),) = complaints(results)
    assert position == "conversation 2 ('Talk'), message 2"
    assert reason in why
    assert isinstance(result, ParsedChat)
    assert ids(result) == ["a", "b"]
    assert texts(result) == ["One", "Two"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "not an object"),
        (5, "not an object"),
        ({}, "no list of messages"),
        ({"id": "x", "messages": {"a": 1}}, "no list of messages"),
        ({**OTHER, "id": [1]}, "id is neither a text nor a number"),
        ({**OTHER, "id": True}, "id is neither a text nor a number"),
        ({**OTHER, "id": "x" * 201}, "id is longer than 200"),
        ({**OTHER, "id": "x\x00"}, "NUL"),
        ({**OTHER, "learner": 5}, "learner is not a text"),
        ({**OTHER, "learner": "x\x00"}, "learner: NUL"),
        ({**OTHER, "learner": "x" * 201}, "longer than 200"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_a_broken_chat_is_reported_and_the_others_are_read(tmp_path: Path, bad: Any, reason: str, lines: bool) -> None:
    results = read(write(tmp_path / "a", [CHAT, bad, OTHER], lines=lines))
    assert isinstance(results[1], Problem)
    assert results[1].position == ("line 2" if lines else "conversation 2")
    assert reason in results[1].reason
    assert [ids(result) for result in results if isinstance(result, ParsedChat)] == [["a", "b"], ["a"]]


@pytest.mark.parametrize(
    ("title", "kept", "reason"),
    [
        ("a\x00b", "", "the title: NUL character at offset 1"),
        ("a\ud800", "", "the title: lone surrogate"),
        (["x"], "", "the title is not a text"),
        ("word " * 200, "word " * 99 + "word…", "the title has 999 characters"),
        (None, "", None),
    ],
)
def test_a_title_that_cannot_be_kept(tmp_path: Path, title: Any, kept: str, reason: str | None) -> None:
    parsed = only_chat(results := read(write(tmp_path / "a", {**CHAT, "title": title})))
    assert parsed.title == kept
    assert ids(parsed) == ["a", "b"]
    assert [reason in why for _, why in complaints(results)] == ([True] if reason else [])


def test_lines_that_are_broken(tmp_path: Path) -> None:
    results = read(write(tmp_path / "a", [CHAT, '{"id": "c3", "messages": [', OTHER], lines=True))
    ((position, reason),) = complaints(results)
    assert position == "line 2"
    assert "not valid JSON" in reason
    assert len(results) == 3


def test_a_first_line_that_is_broken(tmp_path: Path) -> None:
    results = read(write(tmp_path / "a", ['{"id": "c3", "messages": [', CHAT, OTHER], lines=True))
    assert [position for position, _ in complaints(results)] == ["line 1"]
    assert len(results) == 3


def test_message_lines_that_are_broken(tmp_path: Path) -> None:
    lines = [said("a", "One"), "{oops", said("b", "Two"), {"id": "c", "role": "user"}]
    parsed = only_chat(results := read(write(tmp_path / "a", lines, lines=True)))
    assert ids(parsed) == ["a", "b"]
    assert [position for position, _ in complaints(results)] == ["line 2", "line 4"]
    assert parsed.complete


def test_an_array_that_breaks_off(tmp_path: Path) -> None:
    whole = write(tmp_path / "a", {"chats": [CHAT, OTHER]}).read_bytes()
    results = read(write(tmp_path / "b", whole[:-30]))
    ((position, reason),) = complaints(results)
    assert position == "conversation 2"
    assert "ends in the middle" in reason
    assert f"byte {len(whole) - 30}" in reason
    assert [ids(result) for result in results if isinstance(result, ParsedChat)] == [["a", "b"]]


def test_messages_that_break_off_make_an_incomplete_chat(tmp_path: Path) -> None:
    whole = write(tmp_path / "a", CHAT["messages"]).read_bytes()
    parsed = only_chat(read(write(tmp_path / "a", whole[:-10])))
    assert ids(parsed) == ["a"]
    assert not parsed.complete


def test_a_malformed_chat_between_good_ones(tmp_path: Path) -> None:
    raw = f'{{"chats": [{json.dumps(CHAT)}, {{"id": tru, "messages": []}}, {json.dumps(OTHER)}]}}'
    results = read(write(tmp_path / "a", raw))
    assert [position for position, _ in complaints(results)] == ["conversation 2"]
    assert len(results) == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is empty"),
        (" \n\t ", "it is empty"),
        ("\ufeff", "it is empty"),
        ("Dear diary", "not a JSON text"),
        ("<html>", "not a JSON text"),
        (b"\x89PNG\r\n", "not a JSON text"),
        ('"text"', "not a JSON text"),
        ("\ufeff[]".encode("utf-16"), "UTF-16"),
        ("[]", "no chats"),
        ("{}", "no chats"),
        ("[1, 2]", "no chats"),
        ({"user": "me"}, "no chats"),
        ([{"id": "1", "title": "shared link"}], "no chats"),
        ([{"role": "narrator", "content": "another format"}], "no chats"),
        ('{"id": "c", "messages": [{"role": "us', "ends in the middle"),
        ('[{"id": "c"', "ends in the middle"),
        ("{", "ends in the middle|expected"),
        ("[[[", "ends in the middle"),
        ("{]", "expected"),
        ("{'id': 1}", "expected|not valid|do not match"),
    ],
)
def test_files_that_hold_nothing_to_import(tmp_path: Path, content: Any, reason: str) -> None:
    with pytest.raises(UnreadableFile, match=reason):
        read(write(tmp_path / "a.json", content))


# --- ids that files leave out ----------------------------------------------------------------------------------------


def test_missing_ids_are_found_again(tmp_path: Path) -> None:
    messages = [said(None, "One"), said(None, "Two", "assistant"), said("", "Three")]
    first = only_chat(read(write(tmp_path / "talk.json", messages)))
    again = only_chat(read(write(tmp_path / "moved" / "talk.json", [*messages, said(None, "Four")])))
    assert first.external_id == again.external_id
    assert ids(again)[:3] == ids(first)
    assert len(set(ids(again))) == 4


def test_an_edited_message_without_id_stays_the_same_message(tmp_path: Path) -> None:
    first = only_chat(read(write(tmp_path / "a.json", [said(None, "One"), said(None, "Two")])))
    again = only_chat(read(write(tmp_path / "a.json", [said(None, "One"), said(None, "Changed")])))
    assert ids(first) == ids(again)


def test_chats_without_ids_are_told_apart(tmp_path: Path) -> None:
    alike = {"messages": [said(None, "Hi"), said(None, "Hello", "assistant")]}
    other = {"messages": [said(None, "Good morning")]}
    first, second, third = read(write(tmp_path / "a.json", [alike, alike, other]))
    assert len({first.external_id, second.external_id, third.external_id}) == 3
    assert not set(ids(first)) & set(ids(second))
    again = read(write(tmp_path / "a.json", [alike, alike, other]))
    assert [chat.external_id for chat in again] == [chat.external_id for chat in (first, second, third)]
    elsewhere = only_chat(read(write(tmp_path / "b.json", alike)))
    assert elsewhere.external_id != first.external_id


# --- anything --------------------------------------------------------------------------------------------------------

junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "user", "x\x00", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "role", "parts", "messages", "type", "text", "metadata", "createdAt", "title"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(junk, max_size=5), st.booleans())
def test_no_content_crashes_the_reader(tmp_path: Path, content: list[Any], lines: bool) -> None:
    path = write(tmp_path / "a", content, lines=lines)
    try:
        results = read(path)
    except UnreadableFile:
        return
    for result in results:
        if isinstance(result, ParsedChat):
            assert len(set(ids(result))) == len(result.messages)
            assert result.external_id
        else:
            assert result.reason
