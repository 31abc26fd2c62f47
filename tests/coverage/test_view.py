"""The fingerprint changes exactly when the transcript view changes."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coverage.view import (
    MalformedParts,
    canonical_json,
    check_parts,
    fingerprint,
    is_streaming,
    part_text,
    transcript_view,
    view_tokens,
)
from tests.factories import quiz, text

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(storable, inner, max_size=3),
    max_leaves=6,
)
visible_parts = st.one_of(
    st.builds(text, storable.filter(str.strip)),
    st.builds(
        lambda name, given_input, output: {
            "type": f"tool-{name}",
            "toolCallId": "call",
            "state": "output-available",
            "input": given_input,
            "output": output,
        },
        st.sampled_from(["quiz", "search"]),
        json_values,
        json_values.filter(lambda value: value is not None),
    ),
)
invisible_parts = st.one_of(
    st.builds(lambda value: {"type": "reasoning", "text": value}, storable),
    st.just({"type": "step-start"}),
    st.builds(lambda value: {"type": "data-plan", "data": value}, json_values),
    st.builds(lambda value: {"type": "source-url", "sourceId": "s", "url": value}, storable),
    st.just({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}),
    st.builds(text, st.sampled_from(["", " ", "\n\t"])),
)


def mark(role: str, parts: list[dict]) -> str:
    return fingerprint(transcript_view(role, parts))


@given(st.lists(visible_parts, max_size=4), st.lists(invisible_parts, min_size=1, max_size=4), st.data())
def test_invisible_parts_change_nothing(visible: list[dict], invisible: list[dict], data: st.DataObject) -> None:
    mixed = list(visible)
    for part in invisible:
        mixed.insert(data.draw(st.integers(0, len(mixed))), part)
    assert mark("assistant", mixed) == mark("assistant", visible)
    assert transcript_view("assistant", mixed) == transcript_view("assistant", visible)


@given(st.lists(visible_parts, max_size=4), visible_parts, st.data())
def test_every_visible_part_changes_the_fingerprint(parts: list[dict], extra: dict, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(parts)))
    assert mark("user", [*parts[:place], extra, *parts[place:]]) != mark("user", parts)


@given(st.lists(visible_parts, min_size=1, max_size=4))
def test_role_and_order_are_part_of_the_view(parts: list[dict]) -> None:
    assert mark("user", parts) != mark("assistant", parts)
    backwards = transcript_view("user", parts[::-1])
    assert (mark("user", parts[::-1]) == mark("user", parts)) == (backwards == transcript_view("user", parts))


def test_answering_a_quiz_changes_the_fingerprint() -> None:
    pending = [text("Try this."), quiz("2 + 2?")]
    answered = [text("Try this."), quiz("2 + 2?", "4", correct=True)]
    assert mark("assistant", pending) != mark("assistant", answered)


def test_states_and_ids_of_parts_are_invisible() -> None:
    one = [text("Hi", state="streaming"), quiz("2 + 2?", "4", correct=True, toolCallId="a")]
    two = [text("Hi", state="done"), quiz("2 + 2?", "4", correct=True, toolCallId="b")]
    assert mark("assistant", one) == mark("assistant", two)


def test_a_system_message_is_an_instruction_and_has_an_empty_view() -> None:
    view = transcript_view("system", [text("You are a tutor.")])
    assert view["parts"] == []
    assert view_tokens(view) == 0


@pytest.mark.parametrize(("one", "same"), [(100.0, 100), (1e22, 10**22), (-0.0, 0), ({"a": [1.0]}, {"a": [1]})])
def test_numbers_that_the_database_returns_in_another_form_are_the_same(one: object, same: object) -> None:
    assert canonical_json(one) == canonical_json(same)


@given(json_values)
def test_canonical_json_survives_a_round_trip(value: object) -> None:
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


@given(st.lists(visible_parts, max_size=4))
def test_tokens_are_a_quarter_of_the_characters_rounded_up(parts: list[dict]) -> None:
    view = transcript_view("user", parts)
    assert view_tokens(view) == math.ceil(sum(len(part_text(part)) for part in view["parts"]) / 4)
    assert (view_tokens(view) == 0) == (not view["parts"])


@pytest.mark.parametrize(
    ("parts", "streaming"),
    [
        ([text("a", state="streaming")], True),
        ([text("a", state="done")], False),
        ([{"type": "reasoning", "text": "a", "state": "streaming"}], False),
        ([quiz("q", state="input-streaming")], True),
        ([quiz("q")], False),
        ([quiz("q", "a", correct=True, preliminary=True)], True),
    ],
)
def test_streaming_is_a_text_or_tool_part_still_being_written(parts: list[dict], *, streaming: bool) -> None:
    assert is_streaming(parts) is streaming


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("text", "parts must be a list"),
        ([["text"]], r"parts\[0\] must be an object"),
        ([{"text": "no type"}], r"parts\[0\] must be an object"),
        ([text("ok"), {"type": "text"}], r"parts\[1\].text must be a text"),
        ([text("a\x00b")], r"parts\[0\].text: NUL character at offset 1"),
        ([text("ab\ud800")], r"parts\[0\].text: lone surrogate at offset 2"),
        ([{"type": "tool-x", "input": {"deep": [1, "\x00"]}}], r"parts\[0\].input.deep\[1\]: NUL"),
        ([{"type": "tool-x", "input": {"k\x00": 1}}], r"a key\): NUL"),
        ([{"type": "tool-x", "input": float("nan")}], "not a finite number"),
    ],
)
def test_parts_that_cannot_be_stored_are_refused_by_position(parts: object, message: str) -> None:
    with pytest.raises(MalformedParts, match=message):
        check_parts(parts)


TOOL = {
    "type": "tool-quiz",
    "toolCallId": "c",
    "state": "output-available",
    "input": {"question": "2+2?"},
    "output": {"answer": "4"},
}


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (text("Tea has caffeine."), {"text": "tea has caffeine."}),
        (text("Tea has caffeine."), {"text": "Tea has caffeine"}),
        (text("Tea has caffeine."), {"text": "Tea  has caffeine."}),
        (text("x" * 5000 + "a"), {"text": "x" * 5000 + "b"}),
        (TOOL, {"type": "tool-poll"}),
        (TOOL, {"input": {"question": "2+3?"}}),
        (TOOL, {"output": {"answer": "5"}}),
        (TOOL, {"output": None}),
        (TOOL, {"errorText": "no answer"}),
        (TOOL, {"state": "output-denied"}),
        ({"type": "dynamic-tool", "toolName": "a", "input": 1}, {"toolName": "b"}),
    ],
)
def test_every_visible_field_changes_the_fingerprint(part: dict, change: dict) -> None:
    assert mark("assistant", [text("before"), part | change]) != mark("assistant", [text("before"), part])
