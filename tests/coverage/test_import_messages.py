"""Lists of messages as model APIs take them: OpenAI Chat, OpenAI Responses, Anthropic. Every trap is a test."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coverage.importers.load import import_paths
from coverage.importers.records import ParsedChat
from coverage.models import Chat
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, texts, tools, write

ASK = {"role": "user", "content": "How warm is it?"}


def parse(tmp_path: Path, *messages: Any, **around: Any) -> ParsedChat:
    """The one chat in a file of these messages, bare or in an object with more fields."""
    content = {"messages": list(messages), **around} if around else list(messages)
    return only_chat(read(write(tmp_path / "talk.json", content)))


def roles(chat: ParsedChat) -> list[str]:
    return [message.role for message in chat.messages]


def call(call_id: str, name: str = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*listed: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(listed)}


def tool(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


# --- OpenAI Chat -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bare", "lines", "object", "objects", "object lines", "nested"])
def test_shapes(tmp_path: Path, shape: str) -> None:
    listed = [ASK, calls(call("1")), tool("1", "21")]
    content: Any = {"bare": listed, "lines": listed, "object": {"messages": listed}, "nested": [listed]}.get(shape)
    path = write(tmp_path / "x", content or [{"messages": listed}], lines="lines" in shape)
    assert detected(path) == "openai-chat"
    chat = only_chat(results := read(path))
    assert complaints(results) == []
    assert roles(chat) == ["user", "assistant"]


def test_calls_and_results_are_joined_by_id_in_any_order(tmp_path: Path) -> None:
    chat = parse(tmp_path, ASK, calls(call("a"), call("b"), content="Wait."), tool("b", "B"), tool("a", "A"), ASK)
    assert roles(chat) == ["user", "assistant", "user"]
    assert chat.messages[1].parts[0] == {"type": "text", "text": "Wait."}
    assert [(part["toolCallId"], part["state"], part["output"]) for part in tools(chat)] == [
        ("a", "output-available", "A"),
        ("b", "output-available", "B"),
    ]


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"x": [1, "é"]}', {"x": [1, "é"]}),
        ('{"x": 1', '{"x": 1'),
        ("", ""),
        ("plain words", "plain words"),
        ('{"x": NaN}', '{"x": NaN}'),
        ('{"x": "\\ud800"}', '{"x": "\\ud800"}'),
        ("[" * 500 + "]" * 500, "[" * 500 + "]" * 500),
        ({"x": 1}, {"x": 1}),
        (None, {}),
    ],
)
def test_arguments_are_a_text_that_may_be_no_json(tmp_path: Path, arguments: Any, kept: Any) -> None:
    chat = parse(tmp_path, ASK, calls(call("a", arguments=arguments)))
    assert chat.problems == []
    (part,) = tools(chat)
    assert part["input"] == kept
    assert part["state"] == "input-available"


def test_ids_used_again_are_answered_in_order(tmp_path: Path) -> None:
    again = calls(call("call_1"))
    chat = parse(tmp_path, ASK, again, tool("call_1", "first"), ASK, again, tool("call_1", "second"))
    assert [part["output"] for part in tools(chat)] == ["first", "second"]


def test_several_results_of_one_call_are_a_list(tmp_path: Path) -> None:
    chat = parse(tmp_path, ASK, calls(call("a")), tool("a", "one"), tool("a", "two"))
    assert [part["output"] for part in tools(chat)] == [["one", "two"]]


def test_a_result_before_its_call_and_one_without(tmp_path: Path) -> None:
    chat = parse(tmp_path, ASK, tool("late", "early bird"), calls(call("late")), tool("gone", "alone", name="look"))
    assert [(part["toolCallId"], part["output"]) for part in tools(chat)] == [
        ("late", "early bird"),
        ("gone", "alone"),
    ]
    assert roles(chat) == ["user", "assistant", "assistant"]


def test_errors_of_tools(tmp_path: Path) -> None:
    chat = parse(tmp_path, ASK, calls(call("a"), call("b")), tool("a", "no such room", status="error"), tool("b", None))
    assert [(part["state"], part.get("errorText"), part.get("output")) for part in tools(chat)] == [
        ("output-error", "no such room", None),
        ("output-available", None, ""),
    ]


def test_the_older_function_call(tmp_path: Path) -> None:
    old = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"a": 1}'}}
    chat = parse(tmp_path, ASK, old, {"role": "function", "name": "look", "content": "seen"})
    (part,) = tools(chat)
    assert (part["toolName"], part["input"], part["output"]) == ("look", {"a": 1}, "seen")


def test_system_and_developer_messages_are_instructions(tmp_path: Path) -> None:
    chat = parse(tmp_path, {"role": "system", "content": "S"}, {"role": "developer", "content": "D"}, ASK)
    assert roles(chat) == ["system", "system", "user"]


def test_pictures_sound_and_files_are_parts(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": "https://example.org/a.jpg"},
        {"type": "input_audio", "input_audio": {"format": "mp3", "data": "AA=="}},
        {"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}},
        {"type": "hologram", "depth": 3},
    ]
    (message,) = parse(tmp_path, {"role": "user", "content": content}).messages
    assert message.parts == [
        {"type": "text", "text": "Look"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="},
        {"type": "file", "mediaType": "image/*", "url": "https://example.org/a.jpg"},
        {"type": "file", "mediaType": "audio/mp3", "url": "data:audio/mp3;base64,AA=="},
        {"type": "file", "mediaType": "application/octet-stream", "url": "file-id:file-1", "filename": "a.pdf"},
        {"type": "data-content", "data": {"type": "hologram", "depth": 3}},
    ]


def test_refusals_and_reasoning(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": None, "refusal": "I cannot.", "reasoning_content": "Hm."}
    (message,) = parse(tmp_path, ASK, answer).messages[1:]
    assert message.parts == [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "I cannot."}]


def test_missing_times_stay_empty_and_all_notations_are_read(tmp_path: Path) -> None:
    moment = datetime(2026, 5, 1, 10, tzinfo=UTC)
    said = [1_777_629_600, 1_777_629_600_000, "2026-05-01T10:00:00Z", "2026-05-01T12:00:00+02:00", "soon", None]
    chat = parse(tmp_path, *[{**ASK, "timestamp": time} for time in said], created=1_777_629_600)
    assert [message.said_at for message in chat.messages] == [moment] * 4 + [None] * 2
    assert chat.created_at == moment
    assert parse(tmp_path, ASK).messages[0].said_at is None


def test_empty_messages_are_not_imported(tmp_path: Path) -> None:
    chat = parse(tmp_path, ASK, {"role": "assistant", "content": " "}, {"role": "assistant", "content": None}, ASK)
    assert roles(chat) == ["user", "user"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "not an object"),
        ({"role": "narrator", "content": "x"}, "role 'narrator' is not one of"),
        ({"role": ["user"], "content": "x"}, "no role"),
        ({"content": "x"}, "no role"),
        ({"role": "user", "content": 5}, "neither a text nor a list"),
        ({"role": "user", "content": "a\ud800"}, "lone surrogate at offset 1"),
        ({"role": "user", "content": [{"type": "text", "text": "a\x00"}]}, "NUL character"),
        (calls(call("x", arguments={"a": "\ud800"})), "parts[0].input.a: lone surrogate"),
        ({"type": "telepathy"}, "items of type 'telepathy' are not known"),
    ],
)
def test_a_bad_message_is_refused_by_position(tmp_path: Path, bad: Any, reason: str) -> None:
    chat = parse(tmp_path, ASK, bad, {"role": "assistant", "content": "21"})
    ((position, why),) = complaints([chat])
    assert position == "message 2"
    assert reason in why
    assert texts(chat) == ["How warm is it?", "21"]


def test_broken_lines_keep_the_place_of_what_is_stored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [ASK, {"role": "assistant", "content": "21"}], lines=True)
    first = only_chat(read(path))
    again = only_chat(results := read(write(path, [ASK, "{oops"], lines=True)))
    assert [position for position, _ in complaints(results)] == ["line 2"]
    assert again.refused == [(1, ids(first)[1])]


# --- OpenAI Responses ------------------------------------------------------------------------------------------------


def response(call_id: str, name: str = "look", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **more}


def says(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **more}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda items: items,
        lambda items: {"items": items},
        lambda items: {"object": "list", "data": items},
        lambda items: {"id": "resp_1", "object": "response", "input": items[:1], "output": items[1:]},
        lambda items: {"model": "m", "input": "How warm is it?", "output": items[1:]},
    ],
)
def test_responses_shapes(tmp_path: Path, wrap: Any) -> None:
    path = write(tmp_path / "x", wrap([ASK, response("c1", arguments='{"room": 1}'), output("c1", "21"), says("21")]))
    assert detected(path) == "openai-responses"
    chat = only_chat(read(path))
    assert texts(chat) == ["How warm is it?", "21"]
    assert [(part["input"], part["output"]) for part in tools(chat)] == [({"room": 1}, "21")]


def test_items_keep_their_ids_and_instructions_go_ahead(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"id": "resp_1", "instructions": "Be brief.", "output": [says("Hi", id="msg_1")]})
    chat = only_chat(read(path))
    assert chat.external_id == "resp_1"
    assert roles(chat) == ["system", "assistant"]
    assert ids(chat)[1] == "msg_1"


def test_reasoning_joins_what_follows(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "xx"}
    quiet = {"type": "reasoning", "summary": [], "encrypted_content": "xx"}
    chat = parse(tmp_path, ASK, thought, quiet, says("21"), thought, ASK, thought)
    assert [[part["type"] for part in message.parts] for message in chat.messages] == [
        ["text"],
        ["reasoning", "text"],
        ["reasoning"],
        ["text"],
        ["reasoning"],
    ]
    assert "xx" not in json.dumps([message.parts for message in chat.messages])


def test_hosted_tools_hold_call_and_result(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        ASK,
        {"type": "mcp_call", "id": "mcp_1", "name": "roll", "server_label": "dice", "arguments": "{}", "output": "4"},
        {"type": "mcp_call", "id": "mcp_2", "name": "roll", "server_label": "dice", "arguments": "{}", "error": "gone"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "tides"}},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AA=="},
        {"type": "custom_tool_call", "call_id": "ct_1", "name": "shell", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "ct_1", "output": [{"type": "input_text", "text": "a.txt"}]},
        {"type": "mcp_list_tools", "id": "l", "tools": []},
    )
    assert chat.problems == []
    assert [(part["toolName"], part["input"], part.get("output"), part.get("errorText")) for part in tools(chat)] == [
        ("roll", {}, "4", None),
        ("roll", {}, None, "gone"),
        ("web_search", {"action": {"query": "tides"}}, None, None),
        ("image_generation", {}, "", None),
        ("shell", "ls", "a.txt", None),
    ]
    picture = chat.messages[4].parts[1]
    assert (picture["mediaType"], picture["url"]) == ("image/png", "data:image/png;base64,AA==")


# --- Anthropic Messages ----------------------------------------------------------------------------------------------


def use(call_id: str, name: str = "look", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def gives(call_id: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def blocks(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def test_a_user_turn_of_results_only_is_not_a_user_message(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x",
        [
            ASK,
            blocks("assistant", {"type": "text", "text": "Wait."}, use("t1", room=1), use("t2", room=2)),
            blocks("user", gives("t2", "20"), gives("t1", [{"type": "text", "text": "21"}])),
            {"role": "assistant", "content": "20 and 21."},
        ],
    )
    assert detected(path) == "anthropic"
    chat = only_chat(read(path))
    assert roles(chat) == ["user", "assistant", "assistant"]
    assert [(part["input"], part["output"]) for part in tools(chat)] == [({"room": 1}, "21"), ({"room": 2}, "20")]


def test_a_user_turn_with_results_and_words_keeps_the_words(tmp_path: Path) -> None:
    turn = blocks("user", gives("t1", "21"), {"type": "text", "text": "And outside?"})
    chat = parse(tmp_path, ASK, blocks("assistant", use("t1")), turn)
    assert roles(chat) == ["user", "assistant", "user"]
    assert chat.messages[2].parts == [{"type": "text", "text": "And outside?"}]


def test_thinking_is_reasoning_and_redacted_thinking_is_nothing(tmp_path: Path) -> None:
    answer = blocks(
        "assistant",
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "21"},
    )
    assert parse(tmp_path, ASK, answer).messages[1].parts == [
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": "21"},
    ]


def test_errors_pictures_and_ciphers_in_results(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA" * 5000}}
    page = {"type": "web_search_result", "url": "https://example.org", "encrypted_content": "zz"}
    chat = parse(
        tmp_path,
        ASK,
        blocks("assistant", use("t1"), use("t2"), {**use("t3"), "type": "server_tool_use"}),
        blocks("user", gives("t1", "broken", is_error=True), gives("t2", [{"type": "text", "text": "see"}, picture])),
        blocks("assistant", {"type": "web_search_tool_result", "tool_use_id": "t3", "content": [page]}),
    )
    first, second, third = tools(chat)
    assert (first["state"], first["errorText"]) == ("output-error", "broken")
    assert second["output"] == [{"type": "text", "text": "see"}, {"type": "file", "mediaType": "image/png"}]
    assert third["output"] == [{"type": "web_search_result", "url": "https://example.org"}]
    assert chat.messages[1].parts[-1]["url"].startswith("data:image/png;base64,AAAA")
    assert roles(chat) == ["user", "assistant"]


def test_documents_are_kept_and_not_said(tmp_path: Path) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "The deadline is in May."}
    turn = blocks("user", {"type": "document", "source": source, "title": "Plan"}, {"type": "text", "text": "Read."})
    chat = parse(tmp_path, turn)
    assert texts(chat) == ["Read."]
    assert chat.messages[0].parts[0] == {
        "type": "data-attachment",
        "data": {"filename": "Plan", "text": "The deadline is in May."},
    }


def test_the_system_prompt_stands_beside_the_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"system": [{"type": "text", "text": "Tutor."}], "messages": [ASK]})
    assert detected(path) == "anthropic"
    assert roles(only_chat(read(path))) == ["system", "user"]


# --- one chat, whatever it passes for --------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    "more",
    [
        [calls(call("1")), tool("1", "21")],
        [response("c1"), output("c1", "21")],
        [blocks("assistant", use("t1")), blocks("user", gives("t1", "21"))],
    ],
)
def test_a_plain_transcript_that_grows_calls_stays_the_same_chat(tmp_path: Path, more: list[Any]) -> None:
    plain = [{"role": "system", "content": "Brief."}, ASK, {"role": "assistant", "content": "21"}]
    (first,) = import_paths([write(tmp_path / "history.json", plain)])
    (again,) = import_paths([write(tmp_path / "history.json", [*plain, *more])])
    assert (first.format, again.format != "uimessage") == ("openai-chat", True)
    assert (again.state, again.added, again.unchanged) == ("changed", 1, 3)
    assert Chat.objects.get().source == "messages"


def test_missing_ids_are_found_again_and_told_apart(tmp_path: Path) -> None:
    system = {"role": "system", "content": "The same for all"}
    one, other = [system, ASK], [system, {"role": "user", "content": "How cold?"}]
    first = read(write(tmp_path / "a.json", [{"messages": one}, {"messages": other}, {"messages": one}]))
    assert len({chat.external_id for chat in first}) == 3
    grown = read(write(tmp_path / "a.json", [{"messages": other}, {"messages": [*one, ASK]}, {"messages": one}]))
    assert [chat.external_id for chat in grown] == [first[1].external_id, first[0].external_id, first[2].external_id]
    assert ids(grown[1])[:2] == ids(first[0])
