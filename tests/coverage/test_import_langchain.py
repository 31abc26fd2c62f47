"""LangChain dumps in their three forms, and ShareGPT: calls, results, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from coverage.importers.records import ParsedChat
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, texts, tools, write


def lc(kind: str, content: Any, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **data}}


def lc_call(call_id: str = "t1", **args: Any) -> dict[str, Any]:
    return {"name": "look", "args": args, "id": call_id, "type": "tool_call"}


def constructor(kind: str, **fields: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}


def parse(tmp_path: Path, *messages: Any) -> ParsedChat:
    return only_chat(read(write(tmp_path / "dump.json", list(messages))))


@pytest.mark.parametrize("shape", ["bare", "lines", "object", "nested"])
@pytest.mark.parametrize("form", ["data", "flat", "constructor"])
def test_shapes_and_forms(tmp_path: Path, shape: str, form: str) -> None:
    make = {
        "data": lc,
        "flat": lambda kind, content, **more: {"type": kind, "content": content, **more},
        "constructor": lambda kind, content, **more: constructor(
            {"human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}[kind], content=content, **more
        ),
    }[form]
    listed = [make("human", "Hi"), make("ai", "", tool_calls=[lc_call(a=1)]), make("tool", "seen", tool_call_id="t1")]
    content: Any = {"bare": listed, "lines": listed, "object": {"messages": listed}, "nested": [listed]}[shape]
    path = write(tmp_path / "x", content, lines=shape == "lines")
    assert detected(path) == "langchain"
    chat = only_chat(results := read(path))
    assert complaints(results) == []
    assert [message.role for message in chat.messages] == ["user", "assistant"]
    assert [(part["input"], part["output"]) for part in tools(chat)] == [({"a": 1}, "seen")]


def test_a_call_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}}
    beside = {"tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}]}
    said = [{"type": "text", "text": "Wait."}, block]
    chat = parse(tmp_path, lc("human", "Hi"), lc("ai", said, tool_calls=[lc_call(a=1)], additional_kwargs=beside))
    assert len(tools(chat)) == 1
    older = parse(tmp_path, lc("human", "Hi"), lc("ai", "", additional_kwargs=beside))
    assert tools(older)[0]["input"] == {"a": 1}


def test_calls_with_arguments_that_are_no_json(tmp_path: Path) -> None:
    broken = {"name": "look", "args": '{"a": ', "id": "t2", "error": "no JSON"}
    chat = parse(tmp_path, lc("human", "Hi"), lc("ai", "", tool_calls=[lc_call()], invalid_tool_calls=[broken]))
    assert [part["input"] for part in tools(chat)] == [{}, '{"a": ']


def test_results_that_failed(tmp_path: Path) -> None:
    failed = lc("tool", "gone", tool_call_id="t1", status="error")
    assert (
        tools(parse(tmp_path, lc("human", "Hi"), lc("ai", "", tool_calls=[lc_call()]), failed))[0]["errorText"]
        == "gone"
    )


def test_roles_ids_models_and_times(tmp_path: Path) -> None:
    chat = parse(
        tmp_path,
        lc("system", "Sys"),
        lc("chat", "Yo", role="user"),
        lc(
            "ai",
            "Hi",
            id="run-1",
            response_metadata={"model_name": "m"},
            additional_kwargs={"timestamp": 1_777_629_600},
        ),
    )
    assert [(m.role, m.said_at is None, m.metadata) for m in chat.messages] == [
        ("system", True, {}),
        ("user", True, {}),
        ("assistant", False, {"model": "m"}),
    ]
    assert ids(chat)[2] == "run-1"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "not a message with a type"),
        (lc("remove", ""), "messages of type 'remove' are not known"),
        (lc("human", "a\x00"), "NUL character"),
        (lc("human", 7), "neither a text nor a list"),
    ],
)
def test_a_bad_message_is_refused_by_position(tmp_path: Path, bad: Any, reason: str) -> None:
    chat = parse(tmp_path, lc("human", "One"), bad, lc("ai", "Two"))
    ((position, why),) = complaints([chat])
    assert position == "message 2"
    assert reason in why
    assert texts(chat) == ["One", "Two"]


# --- ShareGPT --------------------------------------------------------------------------------------------------------


def turn(speaker: str, value: Any) -> dict[str, Any]:
    return {"from": speaker, "value": value}


TALK = [turn("human", "Hi"), turn("gpt", "Hello")]


@pytest.mark.parametrize(
    ("content", "lines", "count"),
    [
        ({"id": "c", "conversations": TALK}, False, 1),
        ([{"id": "c", "conversations": TALK}, {"id": "d", "conversations": TALK}], False, 2),
        ([{"id": "c", "conversations": TALK}, {"id": "d", "conversations": TALK}], True, 2),
        ([{"id": "c", "conversations": TALK}], True, 1),
        (TALK, False, 1),
        (TALK, True, 1),
        ([TALK, TALK], False, 2),
    ],
)
def test_sharegpt_shapes(tmp_path: Path, content: Any, lines: bool, count: int) -> None:
    for text in (content, json.dumps(content, indent=1)) if not lines else (content,):
        path = write(tmp_path / "x", text, lines=lines)
        assert detected(path) == "sharegpt"
        results = read(path)
        assert complaints(results) == []
        assert [texts(chat) for chat in results] == [["Hi", "Hello"]] * count


def sharegpt(tmp_path: Path, *turns: Any, **more: Any) -> ParsedChat:
    return only_chat(read(write(tmp_path / "x", {"conversations": list(turns), **more})))


def test_observations_follow_their_calls(tmp_path: Path) -> None:
    two = json.dumps([{"name": "a", "arguments": '{"x": 1}'}, {"name": "b", "parameters": {"y": 2}}])
    chat = sharegpt(
        tmp_path,
        *TALK,
        turn("function_call", two),
        turn("observation", "one"),
        turn("observation", "two"),
        turn("gpt", "Done"),
        turn("tool_call", "look around"),
        turn("human", "Stop"),
        turn("tool", "nobody asked"),
    )
    assert [(part["toolName"], part["input"], part.get("output")) for part in tools(chat)] == [
        ("a", {"x": 1}, "one"),
        ("b", {"y": 2}, "two"),
        ("", "look around", None),
        ("", None, "nobody asked"),
    ]


def test_ids_are_derived_and_times_stay_empty(tmp_path: Path) -> None:
    first = sharegpt(tmp_path, *TALK)
    again = sharegpt(tmp_path, *TALK, *TALK, system="Be brief.")
    assert first.external_id != again.external_id  # its opening changed
    grown = sharegpt(tmp_path, *TALK, *TALK)
    assert first.external_id == grown.external_id
    assert ids(grown)[:2] == ids(first)
    assert {message.said_at for message in grown.messages} == {None}
    assert next(message.role for message in again.messages) == "system"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(turn("narrator", "x"), "turns from 'narrator'"), (turn("human", None), "no text"), (5, "no text")],
)
def test_a_bad_turn_is_refused_by_position(tmp_path: Path, bad: Any, reason: str) -> None:
    chat = sharegpt(tmp_path, TALK[0], bad, TALK[1])
    ((position, why),) = complaints([chat])
    assert position == "line 1, message 2"
    assert reason in why
    assert texts(chat) == ["Hi", "Hello"]
