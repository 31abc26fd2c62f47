"""All formats together: the samples, detection from the content alone, and any content whatsoever."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage import invariants
from coverage.importers.documents import UnreadableFile, open_document
from coverage.importers.formats import FORMATS, detect
from coverage.importers.load import ChatReport, import_paths
from coverage.importers.records import ParsedChat
from coverage.importers.sources import File
from coverage.models import Chat, CoverageEntry, Message
from tests.coverage.import_helpers import detected, ids, read, tools, write

SAMPLES = Path(__file__).parents[2] / "osii" / "samples" / "formats"
EXPECTED = {
    "claude-export.json": ("claude", 3, 1),
    "claude-code.jsonl": ("claude-code", 4, 2),
    "openai-chat.json": ("openai-chat", 5, 2),
    "openai-responses.json": ("openai-responses", 4, 1),
    "anthropic-messages.json": ("anthropic", 5, 1),
    "langchain.json": ("langchain", 5, 1),
    "sharegpt.jsonl": ("sharegpt", 6, 1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_samples_are_found_by_content_and_read_whole(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "no-name"
    shutil.copy(SAMPLES / name, copy)
    chats = [chat for chat in read(copy) if isinstance(chat, ParsedChat)]
    calls = [call for chat in chats for call in tools(chat)]
    assert (detected(copy), sum(len(chat.messages) for chat in chats), len(calls)) == EXPECTED[name]
    assert [problem for chat in chats for problem in chat.problems] == []
    assert {call["state"] for call in calls} == {"output-available"}
    assert all(call["output"] for call in calls)


@pytest.mark.parametrize("name", EXPECTED)
def test_one_line_pretty_and_array_are_the_same_to_the_reader(tmp_path: Path, name: str) -> None:
    """However the file is laid out, the format and the messages are the same."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    whole = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    layouts = [json.dumps(whole), json.dumps(whole, indent=4, ensure_ascii=False)]
    if isinstance(whole, list):
        layouts.append("\n".join(map(json.dumps, whole)))
    found = set()
    for layout in layouts:
        path = write(tmp_path / "same-name", layout)
        chats = [chat for chat in read(path) if isinstance(chat, ParsedChat)]
        found.add((detected(path), tuple((chat.external_id, tuple(ids(chat))) for chat in chats)))
    assert len(found) == 1


@pytest.mark.django_db
def test_all_samples_import_once(tmp_path: Path) -> None:
    first = [report for report in import_paths([SAMPLES]) if isinstance(report, ChatReport)]
    assert {report.state for report in first} == {"new"}
    assert {report.format for report in first} == {name for name, *_ in EXPECTED.values()}
    assert Message.objects.count() == sum(count for _, count, _ in EXPECTED.values())
    assert CoverageEntry.objects.count() == 5  # the checkpoints among them, as far as they reach
    again = [report for report in import_paths([SAMPLES]) if isinstance(report, ChatReport)]
    assert {report.state for report in again} == {"unchanged"}
    assert CoverageEntry.objects.count() == 5
    assert Chat.objects.count() == len(first)
    assert list(invariants.check()) == []


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_name_and_source(name: str) -> None:
    module = FORMATS[name]
    assert name == module.NAME
    assert module.LABEL
    assert len(module.SOURCE) <= Chat._meta.get_field("source").max_length


WORDS = (
    "id uuid role type content parts messages text name from value human user assistant system tool gpt conversations "
    "chat_messages sender parent_message_uuid mapping tool_calls function arguments tool_call_id call_id output input "
    "function_call function_call_output reasoning summary tool_use tool_result tool_use_id is_error thinking data ai "
    "kwargs constructor sessionId parentUuid isSidechain message leafUuid timestamp attachments files image source items"
).split()
atoms = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([*WORDS, "", "\ud800", "\x00", "{}", "[1"])
junk = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
        | st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": inner})
        | st.fixed_dictionaries({"type": st.sampled_from(WORDS), "content": inner})
    ),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(junk, max_size=5), st.booleans(), st.sampled_from(sorted(FORMATS)))
def test_no_content_crashes_any_format(tmp_path: Path, content: list[Any], lines: bool, name: str) -> None:
    path = write(tmp_path / "a", content, lines=lines)
    try:
        document = open_document(File(path, "a"))
        detected_format = detect(document)
    except UnreadableFile:
        detected_format = None
    for chosen in filter(None, (FORMATS[name], detected_format)):
        try:
            results = list(chosen.read(open_document(File(path, "a"))))
        except UnreadableFile:
            continue
        for result in results:
            if isinstance(result, ParsedChat):
                assert len(set(ids(result))) == len(result.messages)
                assert result.external_id
            else:
                assert result.reason


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(EXPECTED)))
def test_a_damaged_sample_never_crashes(tmp_path: Path, data: st.DataObject, name: str) -> None:
    """One value anywhere in a good file is replaced by another."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    whole = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    at = whole
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
            at = at[key]
        else:
            at[key] = data.draw(junk)
            break
    path = write(tmp_path / "a", whole, lines=name.endswith("l"))
    try:
        results = read(path)
    except UnreadableFile:
        return
    for result in results:
        if isinstance(result, ParsedChat):
            assert len(set(ids(result))) == len(result.messages)
