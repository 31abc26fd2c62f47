"""ChatGPT exports: the active path, tools joined, reasoning and hidden nodes, every way a tree can be broken."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage.importers import spill
from coverage.importers.chatgpt_path import active_path
from coverage.importers.records import ParsedChat, Problem
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, texts, write

T0 = 1_777_629_600.25


@pytest.fixture(autouse=True, scope="module", params=[spill.FROM, 8], ids=["in memory", "node by node"])
def _large(request: pytest.FixtureRequest) -> Iterator[None]:
    """A large conversation is read otherwise, and to the same end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "FROM", request.param)
        yield


def msg(message_id: str, text: Any = "", role: str = "user", **more: Any) -> dict[str, Any]:
    """A message of an export; ``text`` may be a whole content object."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    name = more.pop("name", None)
    base = {"id": message_id, "author": {"role": role, "name": name, "metadata": {}}, "create_time": None}
    rest = {"status": "finished_successfully", "recipient": "all", "metadata": {}}
    return {**base, "content": content, **rest, **more}


def call(message_id: str, tool: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    content = content if isinstance(content, dict) else {"content_type": "code", "language": "unknown", "text": content}
    return msg(message_id, content, "assistant", recipient=tool, **more)


def result(message_id: str, tool: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return msg(message_id, content, "tool", name=tool, **more)


def chain(*messages: Any, **more: Any) -> dict[str, Any]:
    """A conversation without branches; the root has no message, as in real exports."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for index, message in enumerate(messages):
        node_id = message["id"] if isinstance(message, dict) and "id" in message else f"node-{index}"
        mapping[last]["children"].append(node_id)
        mapping[node_id] = {"id": node_id, "message": message, "parent": last, "children": []}
        last = node_id
    return {"title": "Talk", "conversation_id": "conv-1", "mapping": mapping, "current_node": last, **more}


def parse(tmp_path: Path, *messages: Any, **more: Any) -> ParsedChat:
    return only_chat(read(write(tmp_path / "conversations.json", [chain(*messages, **more)])))


def tools(chat: ParsedChat) -> list[dict[str, Any]]:
    return [part for message in chat.messages for part in message.parts if part["type"] == "dynamic-tool"]


# --- conversations ---------------------------------------------------------------------------------------------------


def test_a_plain_conversation(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u1", "Hello", create_time=T0),
        msg("a1", "Hi!", "assistant", metadata={"model_slug": "gpt-5"}, status="in_progress"),
        create_time=T0,
        update_time=T0 + 60,
    )
    assert (chat.external_id, chat.title, chat.learner) == ("conv-1", "Talk", "")
    assert chat.created_at == datetime(2026, 5, 1, 10, 0, 0, 250_000, tzinfo=UTC)
    assert chat.updated_at == datetime(2026, 5, 1, 10, 1, 0, 250_000, tzinfo=UTC)
    assert [(m.message_id, m.role, m.said_at) for m in chat.messages] == [
        ("u1", "user", datetime(2026, 5, 1, 10, 0, 0, 250_000, tzinfo=UTC)),
        ("a1", "assistant", None),
    ]
    assert [m.parts for m in chat.messages] == [[{"type": "text", "text": "Hello"}], [{"type": "text", "text": "Hi!"}]]
    assert [m.metadata for m in chat.messages] == [{}, {"model": "gpt-5", "status": "in_progress"}]


@pytest.mark.parametrize("wrap", [lambda c: [c], lambda c: c, lambda c: {"conversations": [c]}])
def test_shapes(tmp_path: Path, wrap: Any) -> None:
    path = write(tmp_path / "x", wrap(chain(msg("u1", "Hello"))))
    assert detected(path) == "chatgpt"
    assert ids(only_chat(read(path))) == ["u1"]


def test_only_the_active_branch_is_the_transcript(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "Question"), msg("a1", "First answer", "assistant"))
    mapping = conversation["mapping"]
    mapping["a2"] = {"id": "a2", "parent": "u1", "children": [], "message": msg("a2", "Second answer", "assistant")}
    mapping["u1"]["children"].append("a2")
    for current, expected in (("a1", ["u1", "a1"]), ("a2", ["u1", "a2"]), ("u1", ["u1"])):
        path = write(tmp_path / "c.json", [{**conversation, "current_node": current}])
        assert ids(only_chat(read(path))) == expected


def test_hidden_and_system_nodes_are_not_imported(tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    chat = parse(
        tmp_path,
        msg("s1", "", "system", metadata=hidden),
        msg("s2", {"content_type": "user_editable_context", "user_profile": "I am 40"}, metadata=hidden),
        msg("s3", {"content_type": "user_editable_context", "user_profile": "I am 40"}),
        msg("s4", {"content_type": "model_editable_context", "model_set_context": "1. Likes tea"}, "assistant"),
        msg("s5", "As a custom instruction", "system", metadata={"is_user_system_message": True}),
        msg("s6", "You are a tutor", "system"),
        msg("u1", "Hello"),
        msg("a0", "", "assistant"),
        msg("h1", "Hidden", "assistant", metadata=hidden),
        msg("a1", "Hi", "assistant"),
    )
    assert [(m.message_id, m.role) for m in chat.messages] == [("s6", "system"), ("u1", "user"), ("a1", "assistant")]
    assert chat.problems == []


# --- tools -----------------------------------------------------------------------------------------------------------


def test_a_call_and_its_result_are_one_part(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u1", "Mean?"),
        call("c1", "python", "print(1)\nprint(2)"),
        result("r1", "python", {"content_type": "execution_output", "text": "1\n2\n"}),
        msg("a1", "The mean is 1.5.", "assistant"),
    )
    assert ids(chat) == ["u1", "c1", "a1"]
    assert chat.messages[1].role == "assistant"
    assert chat.messages[1].parts == [
        {
            "type": "dynamic-tool",
            "toolName": "python",
            "toolCallId": "c1",
            "state": "output-available",
            "input": "print(1)\nprint(2)",
            "output": "1\n2\n",
        }
    ]


def test_a_call_without_result_stays_pending(tmp_path: Path) -> None:
    (tool,) = tools(parse(tmp_path, msg("u1", "Search"), call("c1", "web", '{"q": "tea"}')))
    assert tool["state"] == "input-available"
    assert tool["input"] == {"q": "tea"}
    assert "output" not in tool


def test_parallel_calls_take_their_results_in_order(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u1", "Go"),
        call("c1", "web", "one"),
        call("c2", "python", "two"),
        call("c3", "web", "three"),
        result("r2", "python", "P"),
        result("r1", "web", "W1"),
        result("r3", "web", "W2"),
    )
    assert [(tool["toolCallId"], tool["output"]) for tool in tools(chat)] == [("c1", "W1"), ("c2", "P"), ("c3", "W2")]


def test_an_unanswered_call_does_not_take_a_later_result(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u1", "Go"),
        call("c1", "python", "crashes"),
        msg("a1", "Let me try again.", "assistant"),
        call("c2", "python", "works"),
        result("r2", "python", "fine"),
        msg("u2", "Thanks"),
        call("c3", "python", "more"),
    )
    assert [tool["state"] for tool in tools(chat)] == ["input-available", "output-available", "input-available"]
    assert ids(chat) == ["u1", "c1", "a1", "c2", "u2", "c3"]


def test_several_results_of_one_call_become_a_list(tmp_path: Path) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-A1", "width": 1}
    (tool,) = tools(
        parse(
            tmp_path,
            msg("u1", "Plot"),
            call("c1", "python", "plot()"),
            result("r1", "python", {"content_type": "execution_output", "text": "<Figure>"}),
            result("r2", "python", {"content_type": "multimodal_text", "parts": [image, "a plot"]}),
        )
    )
    assert tool["output"] == [
        "<Figure>",
        [
            {"type": "file", "mediaType": "image/*", "url": "file-service://file-A1"},
            {"type": "text", "text": "a plot"},
        ],
    ]


def test_a_late_result_joins_the_call_of_its_turn(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        msg("u1", "Research"),
        call("c1", "research", "start"),
        msg("a1", "I have started.", "assistant"),
        result("r1", "research", "The report"),
    )
    assert [tool["output"] for tool in tools(chat)] == ["The report"]


def test_a_result_under_another_name_joins_the_call_before_it(tmp_path: Path) -> None:
    chat = parse(tmp_path, msg("u1", "Draw"), call("c1", "dalle.text2im"), result("r1", "image_generator", "ok"))
    assert [(tool["toolCallId"], tool["output"]) for tool in tools(chat)] == [("c1", "ok")]


def test_a_result_without_call_stands_for_itself(tmp_path: Path) -> None:
    chat = parse(tmp_path, msg("u1", "Hi"), result("r1", "memory", "Saved"), msg("u2", "Ok"))
    assert ids(chat) == ["u1", "r1", "u2"]
    (tool,) = tools(chat)
    assert (tool["toolName"], tool["toolCallId"], tool["output"]) == ("memory", "r1", "Saved")
    assert chat.messages[1].role == "assistant"


def test_a_hidden_result_still_answers_its_call(tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    chat = parse(
        tmp_path,
        msg("u1", "Look"),
        call("c1", "file_search"),
        result("r1", "file_search", "Found", metadata=hidden),
        msg("u2", "More"),
        result("r2", "file_search", "Unasked", metadata=hidden),
    )
    assert [tool["output"] for tool in tools(chat)] == ["Found"]
    assert ids(chat) == ["u1", "c1", "u2"]


def test_errors_of_tools(tmp_path: Path) -> None:
    error = {"content_type": "system_error", "name": "tool_error", "text": "Timeout"}
    only, both = tools(
        parse(
            tmp_path,
            msg("u1", "Go"),
            call("c1", "web"),
            result("r1", "web", error),
            msg("u2", "Again"),
            call("c2", "web"),
            result("r2", "web", "half"),
            result("r3", "web", error),
        )
    )
    assert (only["state"], only["errorText"], "output" in only) == ("output-error", "tool_error: Timeout", False)
    assert (both["state"], both["output"]) == ("output-available", ["half", "tool_error: Timeout"])


def test_an_empty_output_is_an_answer(tmp_path: Path) -> None:
    (tool,) = tools(parse(tmp_path, msg("u1", "Go"), call("c1", "python"), result("r1", "python", "")))
    assert (tool["state"], tool["output"]) == ("output-available", "")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content_type": "code", "language": "json", "text": '{"a": [1]}'}, {"a": [1]}),
        ({"content_type": "code", "text": "[1, 2]"}, [1, 2]),
        ({"content_type": "code", "text": "{not json"}, "{not json"),
        ({"content_type": "code", "text": "5"}, "5"),
        ({"content_type": "text", "parts": ["search for tea"]}, "search for tea"),
        ({"content_type": "code"}, ""),
    ],
)
def test_tool_inputs(tmp_path: Path, content: dict[str, Any], expected: Any) -> None:
    (tool,) = tools(parse(tmp_path, msg("u1", "Go"), call("c1", "web", content)))
    assert tool["input"] == expected


# --- contents --------------------------------------------------------------------------------------------------------


def test_reasoning_joins_the_answer_after_it(tmp_path: Path) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "First this"}, {"content": ""}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 4s"}
    chat = parse(
        tmp_path,
        msg("u1", "Hm?"),
        msg("t1", thoughts, "assistant"),
        msg("t2", recap, "assistant"),
        msg("a1", "So.", "assistant"),
        msg("u2", "And?"),
        msg("t3", "Analysis text", "assistant", channel="analysis"),
        call("c1", "web"),
        msg("t4", recap, "assistant"),
    )
    assert ids(chat) == ["u1", "a1", "u2", "c1", "t4"]
    assert chat.messages[1].parts == [
        {"type": "reasoning", "text": "Plan\n\nFirst this"},
        {"type": "reasoning", "text": "Thought for 4s"},
        {"type": "text", "text": "So."},
    ]
    assert [part["type"] for part in chat.messages[3].parts] == ["reasoning", "dynamic-tool"]
    assert [part["type"] for part in chat.messages[4].parts] == ["reasoning"]


def test_reasoning_of_an_interrupted_turn_stays_before_the_next(tmp_path: Path) -> None:
    recap = {"content_type": "reasoning_recap", "content": "Thought for 4s"}
    chat = parse(tmp_path, msg("u1", "Hm?"), msg("t1", recap, "assistant"), msg("u2", "Well?"))
    assert ids(chat) == ["u1", "t1", "u2"]


def test_text_and_files(tmp_path: Path) -> None:
    content = {
        "content_type": "multimodal_text",
        "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00c", "size_bytes": 5},
            "What is this?",
            "",
            {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"},
            {
                "content_type": "real_time_user_audio_video_asset_pointer",
                "audio_asset_pointer": {"asset_pointer": "sediment://file_au"},
            },
            {"content_type": "something_new", "value": 1},
            7,
        ],
    }
    attachments = [
        {"id": "file_00c", "name": "plant.jpg", "mime_type": "image/jpeg"},
        {"id": "file-Doc", "name": "notes.pdf", "mimeType": "application/pdf"},
    ]
    chat = parse(tmp_path, msg("u1", content, metadata={"attachments": attachments}))
    assert chat.messages[0].parts == [
        {"type": "file", "mediaType": "image/jpeg", "url": "sediment://file_00c", "filename": "plant.jpg"},
        {"type": "text", "text": "What is this?"},
        {"type": "text", "text": "spoken words"},
        {"type": "file", "mediaType": "audio/*", "url": "sediment://file_au"},
        {"type": "data-chatgpt-content", "data": {"content_type": "something_new", "value": 1}},
        {"type": "file", "mediaType": "application/pdf", "url": "file-service://file-Doc", "filename": "notes.pdf"},
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content_type": "code", "language": "python", "text": "print()"}, ["print()"]),
        (
            {"content_type": "tether_quote", "title": "Tea", "url": "http://t", "text": "Green"},
            ["Tea\nhttp://t\nGreen"],
        ),
        ({"content_type": "tether_browsing_display", "result": "L1: Tea", "summary": None}, ["L1: Tea"]),
        (
            {"content_type": "text", "parts": ["  kept \u00e9 光合 \N{GRINNING FACE}\r\n"]},
            ["  kept \u00e9 光合 \N{GRINNING FACE}\r\n"],
        ),
        ({"content_type": "text", "parts": []}, []),
        ({"content_type": "text", "parts": None}, []),
        ({"content_type": "text"}, []),
        ({}, []),
    ],
)
def test_other_contents(tmp_path: Path, content: dict[str, Any], expected: list[str]) -> None:
    chat = parse(tmp_path, msg("u1", "Hi"), msg("a1", content, "assistant"))
    assert texts(chat) == ["Hi", *expected]
    assert len(chat.messages) == 1 + bool(expected)


# --- what can be broken ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "not an object"),
        ({}, "role None is not one of"),
        ({"id": "x", "author": "user", "content": {}}, "role None"),
        (msg("x", "Hi", "critic"), "role 'critic' is not one of"),
        ({**msg("x", "Hi"), "content": None}, "no content"),
        (msg("x", "a\x00b"), "parts[0].text: NUL character at offset 1"),
        (msg("x", "a\ud800b"), "lone surrogate at offset 1"),
        (msg("u1", "Again"), "the id 'u1' occurs twice"),
        (msg("x" * 201, "Hi"), "1 to 200 characters"),
    ],
)
def test_a_bad_message_is_refused_by_position(tmp_path: Path, bad: Any, reason: str) -> None:
    conversation = chain(msg("u1", "One"), "placeholder", msg("a1", "Two", "assistant"))
    conversation["mapping"]["node-1"]["message"] = bad
    (chat,) = results = read(write(tmp_path / "c.json", [conversation]))
    ((position, why),) = complaints(results)
    assert position == "conversation 1 ('Talk'), message 2"
    assert reason in why
    assert isinstance(chat, ParsedChat)
    assert ids(chat) == ["u1", "a1"]


def test_a_refused_message_keeps_its_id_and_place(tmp_path: Path) -> None:
    chat = parse(tmp_path, msg("u1", "One"), msg("x", "a\x00"), msg("a1", "Two", "assistant"))
    assert chat.refused == [(1, "x")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "not an object"),
        ([], "not an object"),
        ({"title": "No tree"}, 'no "mapping"'),
        ({"id": "x", "mapping": []}, 'no "mapping"'),
        ({**chain(msg("u1", "Hi")), "conversation_id": ["x"]}, "neither a text nor a number"),
    ],
)
def test_a_broken_conversation_is_reported_and_the_others_are_read(tmp_path: Path, bad: Any, reason: str) -> None:
    good = chain(msg("u1", "Hi"))
    results = read(write(tmp_path / "c.json", [bad, good, bad]))
    assert [position for position, _ in complaints(results)] == ["conversation 1", "conversation 3"]
    assert all(reason in why for _, why in complaints(results))
    assert ids(results[1]) == ["u1"]


def test_the_newest_leaf_stands_in_for_the_current_node(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "Q", create_time=T0), msg("a1", "Old", "assistant", create_time=T0 + 2))
    newer = msg("a2", "New", "assistant", create_time=T0 + 3)
    conversation["mapping"]["a2"] = {"id": "a2", "parent": "u1", "children": [], "message": newer}
    conversation["mapping"]["a3"] = {"id": "a3", "parent": "u1", "children": [], "message": msg("a3", "x", "assistant")}
    del conversation["current_node"]
    chat = only_chat(results := read(write(tmp_path / "c.json", [conversation])))
    assert ids(chat) == ["u1", "a2"]
    assert complaints(results) == []
    conversation["current_node"] = "gone"
    chat = only_chat(results := read(write(tmp_path / "c.json", [conversation])))
    assert ids(chat) == ["u1", "a2"]
    assert complaints(results) == [("conversation 1 ('Talk')", "its current node 'gone' is not in the conversation")]


def test_a_missing_parent_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "Lost"), msg("a1", "Kept", "assistant"), msg("u2", "Too"))
    del conversation["mapping"]["u1"]
    chat = only_chat(results := read(write(tmp_path / "c.json", [conversation])))
    assert ids(chat) == ["a1", "u2"]
    assert complaints(results) == [("conversation 1 ('Talk')", "the node 'u1' that comes before is missing")]


def test_a_circle_is_reported_and_ends(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "One"), msg("a1", "Two", "assistant"), msg("u2", "Three"))
    conversation["mapping"]["u1"]["parent"] = "u2"
    chat = only_chat(results := read(write(tmp_path / "c.json", [conversation])))
    assert ids(chat) == ["u1", "a1", "u2"]
    ((_, reason),) = complaints(results)
    assert "circle at 'u2'" in reason


def test_parents_that_only_the_children_lists_know(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "One"), msg("a1", "Two", "assistant"))
    for node in conversation["mapping"].values():
        del node["parent"]
    assert ids(only_chat(read(write(tmp_path / "c.json", [conversation])))) == ["u1", "a1"]


def test_missing_ids_are_found_again(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "One"), msg("a1", "Two", "assistant"), create_time=T0)
    del conversation["conversation_id"]
    for node in conversation["mapping"].values():
        if node["message"]:
            del node["message"]["id"]
    first = only_chat(read(write(tmp_path / "a.json", [conversation])))
    again = only_chat(read(write(tmp_path / "b.json", [conversation])))
    assert first.external_id == again.external_id
    assert ids(first) == ids(again) == ["u1", "a1"]


def test_the_older_id_field(tmp_path: Path) -> None:
    conversation = chain(msg("u1", "One"), id="older")
    del conversation["conversation_id"]
    assert only_chat(read(write(tmp_path / "a.json", [conversation]))).external_id == "older"


# --- any tree --------------------------------------------------------------------------------------------------------

NODE_IDS = [f"n{index}" for index in range(8)]
node_ids = st.sampled_from([*NODE_IDS, "gone"])
messages = st.one_of(
    st.none(),
    st.just("broken"),
    st.builds(
        msg, node_ids, st.sampled_from(["", "Hi", "a\x00"]), st.sampled_from(["user", "assistant", "system", "x"])
    ),
    st.builds(call, node_ids, st.sampled_from(["web", "python"])),
    st.builds(result, node_ids, st.sampled_from(["web", "python"])),
    st.builds(lambda i: msg(i, {"content_type": "thoughts", "thoughts": [{"content": "x"}]}, "assistant"), node_ids),
)
nodes = st.fixed_dictionaries(
    {},
    optional={
        "parent": st.one_of(st.none(), node_ids, st.just(5)),
        "children": st.one_of(st.none(), st.lists(node_ids | st.just(None), max_size=3)),
        "message": messages,
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(NODE_IDS), nodes | st.none() | st.just("x"), max_size=8),
    st.one_of(st.none(), node_ids, st.just(3), st.just(["n1"])),
)
def test_no_tree_crashes_the_reader(tmp_path: Path, mapping: dict[str, Any], current: Any) -> None:
    conversation = {"title": "T", "conversation_id": "c", "mapping": mapping, "current_node": current}
    for found in read(write(tmp_path / "c.json", [conversation])):
        if isinstance(found, Problem):
            assert found.reason
        else:
            assert len(set(ids(found))) == len(found.messages)
            calls = [part["toolCallId"] for part in tools(found)]
            assert len(set(calls)) == len(calls)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.data())
def test_the_active_path_is_the_line_of_parents(choices: list[int], data: st.DataObject) -> None:
    """In a well-formed tree: from the root to the current node, each one the parent of the next."""
    mapping: dict[str, Any] = {"0": {"parent": None, "message": None}}
    for index, choice in enumerate(choices, 1):
        mapping[str(index)] = {"parent": str(choice % index), "message": None}
    current = data.draw(st.sampled_from(sorted(mapping)))
    path = active_path(mapping, current)
    assert path.problems == []
    assert path.nodes[0] == "0"
    assert path.nodes[-1] == current
    assert all(mapping[child]["parent"] == parent for parent, child in zip(path.nodes, path.nodes[1:], strict=False))
    leaf = active_path(mapping, None).nodes[-1]
    assert all(node["parent"] != leaf for node in mapping.values())
