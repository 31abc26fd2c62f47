"""The sample chats and documents: well formed, as long as they claim, and showing what their README says they show."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from coverage.view import count_tokens, transcript_view, view_tokens

SAMPLES = Path(__file__).parents[2] / "osii" / "samples"
CHATS = SAMPLES / "chats"
DOCUMENTS = SAMPLES / "documents"
TEXTS = sorted(path for path in DOCUMENTS.rglob("*") if path.is_file() and path.parent.name != "formats")
EXPORT = CHATS / "chatgpt-export" / "conversations.json"
TOOL_STATES = {"input-available", "output-available", "output-error"}
PLAIN_PARTS = {"text", "reasoning", "step-start", "file", "source-document"}
UNSAID = {"thoughts", "reasoning_recap", "model_editable_context", "user_editable_context"}


def load_chats(path: Path) -> list[dict[str, Any]]:
    """The chats of one UIMessage file: the ``{"chats": […]}`` wrapper, or JSONL with one chat per line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)["chats"]


UI_CHATS = {chat["id"]: chat for path in sorted(CHATS.glob("*.json*")) for chat in load_chats(path)}
CONVERSATIONS = {item["title"]: item for item in json.loads(EXPORT.read_text(encoding="utf-8"))}


def tokens(chat: dict[str, Any]) -> int:
    return sum(view_tokens(transcript_view(message["role"], message["parts"])) for message in chat["messages"])


def tool_parts(chat: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for message in chat["messages"] for part in message["parts"] if "toolCallId" in part]


def quizzes(chat_id: str) -> list[dict[str, Any]]:
    return [part for part in tool_parts(UI_CHATS[chat_id]) if part["type"] == "tool-quiz"]


def active_path(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes from the root to ``current_node``."""
    path, node_id = [], conversation["current_node"]
    while node_id is not None:
        path.append(conversation["mapping"][node_id])
        node_id = path[-1]["parent"]
    return path[::-1]


def said(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the active path that a reader sees, tool calls and results included."""
    messages = [node["message"] for node in active_path(conversation) if node["message"]]
    return [
        message
        for message in messages
        if message["content"]["content_type"] not in UNSAID
        and not message["metadata"].get("is_visually_hidden_from_conversation")
    ]


def exported_text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content.get("text") or "".join(part for part in content.get("parts", []) if isinstance(part, str))


@pytest.mark.parametrize("chat", UI_CHATS.values(), ids=UI_CHATS.keys())
def test_chats_are_well_formed(chat: dict[str, Any]) -> None:
    assert chat["title"]
    assert chat["learner"] == "Sample learner"
    ids = [message["id"] for message in chat["messages"]]
    assert len(set(ids)) == len(ids)
    times = [message["metadata"]["createdAt"] for message in chat["messages"]]
    assert times == sorted(times)
    assert all(time.startswith("2026-") for time in [chat["created_at"], *times])
    for message in chat["messages"]:
        assert message["role"] in {"system", "user", "assistant"}
        assert message["parts"]
        for part in message["parts"]:
            kind = part["type"]
            assert kind in PLAIN_PARTS or kind.startswith(("tool-", "data-")) or kind == "dynamic-tool"


@pytest.mark.parametrize("chat", UI_CHATS.values(), ids=UI_CHATS.keys())
def test_tool_parts_are_settled_and_complete(chat: dict[str, Any]) -> None:
    calls = [part["toolCallId"] for part in tool_parts(chat)]
    assert len(set(calls)) == len(calls)
    for part in tool_parts(chat):
        assert part["state"] in TOOL_STATES
        assert part["input"]
        assert ("output" in part) == (part["state"] == "output-available")
        assert ("errorText" in part) == (part["state"] == "output-error")


def test_message_ids_are_unique_across_the_samples() -> None:
    ids = [message["id"] for chat in UI_CHATS.values() for message in chat["messages"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("chat_id", ["sample-photosynthesis", "sample-music-theory"])
def test_tutoring_ends_with_one_pending_quiz(chat_id: str) -> None:
    *answered, last = quizzes(chat_id)
    assert last["state"] == "input-available"
    assert all(part["state"] == "output-available" for part in answered)
    assert {part["output"]["correct"] for part in answered} == {True, False}
    assert UI_CHATS[chat_id]["messages"][-1]["parts"][-1] == last


@pytest.mark.parametrize("chat_id", ["sample-photosynthesis", "sample-music-theory", "sample-green-tea"])
def test_quiz_outcomes_agree_with_their_answers(chat_id: str) -> None:
    for part in quizzes(chat_id):
        options = part["input"]["options"]
        assert len(set(options)) == len(options)
        if "output" not in part:
            continue
        assert part["output"]["answer"] in options
        assert part["output"]["explanation"].endswith((".", "。"))
        if "answer" in part["input"]:
            assert part["output"]["correct"] == (part["output"]["answer"] == part["input"]["answer"])


def test_a_question_answered_wrongly_is_answered_rightly_later() -> None:
    outcomes: dict[str, list[bool]] = {}
    for part in quizzes("sample-photosynthesis"):
        if "output" in part:
            outcomes.setdefault(part["input"]["question"], []).append(part["output"]["correct"])
    assert [False, True] in outcomes.values()


def test_long_discussion_is_long_and_has_no_quiz() -> None:
    chat = UI_CHATS["sample-heat-pump"]
    assert tokens(chat) > 12_000
    assert not tool_parts(chat)
    texts = [part["text"] for message in chat["messages"] for part in message["parts"] if part["type"] == "text"]
    assert len(set(texts)) == len(texts)


def test_project_chat_shows_every_kind_of_tool_part() -> None:
    parts = tool_parts(UI_CHATS["sample-greenhouse"])
    assert {part["type"] for part in parts} >= {"tool-search", "dynamic-tool"}
    assert {part["state"] for part in parts} == {"output-available", "output-error"}


def test_injected_text_is_fenced_and_comes_with_orders() -> None:
    chat = UI_CHATS["sample-injection"]
    text = json.dumps(chat, ensure_ascii=False)
    assert re.search(r"<osii-context\b.*?</osii-context>", text)
    assert chat["messages"][0]["role"] == "system"
    assert any("IGNORE THE ABOVE" in json.dumps(part["output"]) for part in tool_parts(chat))


@pytest.mark.parametrize("conversation", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def test_export_is_a_tree(conversation: dict[str, Any]) -> None:
    mapping = conversation["mapping"]
    assert conversation["id"] == conversation["conversation_id"]
    assert [key for key, node in mapping.items() if node["parent"] is None] == [active_path(conversation)[0]["id"]]
    for key, node in mapping.items():
        assert node["id"] == key
        assert all(mapping[child]["parent"] == key for child in node["children"])
        assert node["parent"] is None or key in mapping[node["parent"]]["children"]
        assert node["message"] is None or node["message"]["id"] == key
    assert not mapping[conversation["current_node"]]["children"]


def test_export_has_a_regenerated_answer_and_an_edited_question() -> None:
    conversation = CONVERSATIONS["Sourdough starter does not rise"]
    mapping = conversation["mapping"]
    path = {node["id"] for node in active_path(conversation)}
    forks = [node["children"] for node in mapping.values() if len(node["children"]) > 1]
    roles = {tuple(mapping[child]["message"]["author"]["role"] for child in children) for children in forks}
    assert roles == {("assistant", "assistant"), ("user", "user")}
    assert all(children[-1] in path and children[0] not in path for children in forks)


def test_export_shows_each_content_type_and_joined_tool_calls() -> None:
    messages = [node["message"] for item in CONVERSATIONS.values() for node in item["mapping"].values()]
    kinds = {message["content"]["content_type"] for message in messages if message}
    assert kinds >= UNSAID | {"text", "code", "execution_output", "multimodal_text"}
    for conversation in CONVERSATIONS.values():
        shown = said(conversation)
        for call, result in itertools.pairwise(shown):
            assert (call["recipient"] == "python") == (result["author"]["role"] == "tool")
    assert len(said(CONVERSATIONS["Reaction times: mean, spread and a fair comparison"])) > 30


def test_documents_have_useful_lengths_and_the_encodings_they_show() -> None:
    assert len(TEXTS) >= 5
    for path in TEXTS:
        assert 200 <= len(path.read_text(encoding="utf-8-sig").split()) <= 1_500, path.name
    checklist = (DOCUMENTS / "heat-pump-checklist.txt").read_bytes()
    assert checklist.startswith(b"\xef\xbb\xbf")
    assert checklist.count(b"\n") == checklist.count(b"\r\n") > 50


def test_field_notes_have_two_versions_with_different_figures() -> None:
    first, second = (DOCUMENTS / name / "field-notes.md" for name in (".", "revised"))
    old, new = first.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")
    assert old.splitlines()[0] == new.splitlines()[0]
    assert "8 litres per minute" in old
    assert "6.5 litres per minute" in new


def test_readme_states_the_true_sizes() -> None:
    rows = re.findall(r"^\| `(.+?)` \|.*\| ([\d,]+) \| ([\d,]+) \|$", (SAMPLES / "README.md").read_text("utf-8"), re.M)
    stated = {name: (int(count.replace(",", "")), int(size.replace(",", ""))) for name, count, size in rows}
    actual = {key: (len(chat["messages"]), tokens(chat)) for key, chat in UI_CHATS.items()}
    for title, conversation in CONVERSATIONS.items():
        shown = said(conversation)
        actual[title] = (len(shown), count_tokens(sum(len(exported_text(message)) for message in shown)))
    for path in TEXTS:
        text = path.read_text(encoding="utf-8-sig")
        actual[f"documents/{path.relative_to(DOCUMENTS)}"] = (len(text.split()), count_tokens(text))
    assert stated == actual


def test_readme_lists_every_document_of_another_format() -> None:
    listed = set(re.findall(r"^\| `documents/formats/(.+?)` \|", (SAMPLES / "README.md").read_text("utf-8"), re.M))
    assert listed == {path.name for path in (DOCUMENTS / "formats").iterdir()}
