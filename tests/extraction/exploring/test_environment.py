"""The reference environment: absolute anchors, nothing sampled away, injected context masked."""

import json

import pytest

from coverage.models import Message
from coverage.view import part_text, transcript_view
from extraction.exploring import environment
from tests import factories
from tests.factories import message, quiz, text

pytestmark = pytest.mark.django_db


def build(*messages: object, context: int = 0) -> dict:
    chat = factories.chat(*messages)
    rows = list(chat.messages.order_by("position"))
    return environment.build(chat, rows[context:], rows[:context])


def test_ids_are_absolute_positions_and_parts_and_spans_stand_in_the_parts_text() -> None:
    content = build(
        message("a", "context"),
        message("b", "What is it?"),
        message(
            "c", [{"type": "reasoning", "text": "secret"}, text("Look."), quiz("2+2?", "4", correct=True)], "assistant"
        ),
        context=1,
    )
    assert [entry["id"] for entry in content["evidence"]] == ["m1.0", "m2.0", "m3.0", "c3.1", "r3.1"]
    assert [entry["context"] for entry in content["evidence"]] == [True, False, False, False, False]
    assert content["range"] == {"from": 2, "to": 3}
    assert "secret" not in str(content)
    for entry in content["evidence"]:
        row = Message.objects.get(message_id=entry["message_id"])
        whole = part_text(transcript_view(row.role, row.parts)["parts"][entry["part"]])
        assert whole[entry["char_start"] :].startswith(entry["text"])


def test_the_overview_shows_every_message_and_the_index_the_rest() -> None:
    messages = [message(f"u{i}", f"Thought number {i}. " * 60) for i in range(30)]
    messages += [message(f"t{i}", [quiz(f"q{i}?", "a", correct=False)], "assistant") for i in range(40)]
    seen = environment.overview(build(*messages))
    assert len(seen["overview"]) == 30
    assert all(len(line["text"]) == environment.OVERVIEW_CHARACTERS for line in seen["overview"])
    assert len(seen["index"]) == environment.INDEX_ENTRIES
    assert seen["index_total"] == 80


def test_a_quiz_is_whole_and_any_other_result_is_an_excerpt() -> None:
    long = "x" * 5000
    search = {"type": "tool-search", "toolCallId": "s", "state": "output-available", "input": {"q": 1}, "output": long}
    content = build(message("a", [quiz("why?", long, correct=True), search], "assistant"))
    by_id = {entry["id"]: entry for entry in content["evidence"]}
    assert len(by_id["r1.0"]["text"]) > 5000
    assert by_id["r1.0"]["tool"]["output"]["correct"] is True
    assert len(by_id["r1.1"]["text"]) == environment.EXCERPT_CHARACTERS
    assert by_id["r1.1"]["total_chars"] == 5002
    assert by_id["r1.1"]["tool"] is None


@pytest.mark.parametrize("fence", ["<osii-context id='1'>known</osii-context>", "<OSII-CONTEXT>never closed"])
def test_injected_context_is_masked_in_place_and_a_part_of_nothing_else_is_marked(fence: str) -> None:
    content = build(message("a", f"before {fence}"), message("b", fence))
    mixed, only = content["evidence"]
    assert mixed["text"].startswith("before ")
    assert "known" not in mixed["text"]
    assert "never closed" not in mixed["text"]
    assert len(mixed["text"]) == len(f"before {fence}")
    assert not mixed["injected"]
    assert only["injected"]


@pytest.mark.parametrize("field", ["question", "explanation", "answer"])
def test_a_quiz_that_holds_injected_context_gives_its_masked_text_only(field: str) -> None:
    part = quiz("Which one?", "a", correct=True)
    (part["input"] if field == "question" else part["output"])[field] = "<osii-context>Walruses know</osii-context>"
    content = build(message("a", [part], "assistant"))
    assert [entry["tool"] for entry in content["evidence"]] == [None, None]
    assert "Walruses" not in json.dumps(content)


def test_a_tool_value_is_anchored_where_it_stands_and_not_where_it_is_repeated() -> None:
    part = {"type": 'tool-"input":1', "toolCallId": "x", "state": "output-available", "output": "x"}
    part["input"] = {"output": "x", "error": {"input": 1}}
    whole = part_text(transcript_view("assistant", [part])["parts"][0])
    call, result = build(message("a", [part], "assistant"))["evidence"]
    assert whole[call["char_start"] :].startswith(call["text"] + ',"output"')
    assert whole[result["char_start"] :] == '"x"}'


def test_equal_environments_have_equal_hashes_and_another_text_another() -> None:
    chat = factories.chat(message("a", "one"))
    rows = list(chat.messages.all())
    assert environment.content_hash(environment.build(chat, rows)) == environment.content_hash(
        environment.build(chat, rows)
    )
    rows[0].parts = [text("two")]
    assert environment.content_hash(environment.build(chat, rows)) != environment.content_hash(
        environment.build(chat, list(chat.messages.all()))
    )


def test_the_overview_names_what_is_attached_the_settings_and_the_language() -> None:
    attached = [
        text("Was steht in der Datei, und ist das nicht zu viel?"),
        {
            "type": "file",
            "mediaType": "application/pdf",
            "filename": "Heizung.pdf",
            "url": "data:application/pdf;base64,x",
        },
        {"type": "source-document", "sourceId": "1", "mediaType": "text/plain", "title": "Normen"},
        {"type": "source-url", "sourceId": "2", "url": "https://heizung.example/a"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
    ]
    chat = factories.chat(
        message("a", attached),
        message("b", [attached[1], text("Noch eine, die auch nicht passt.")]),
        message("c", [{"type": "file", "filename": "later.pdf", "mediaType": "application/pdf", "url": "x"}]),
        settings={"model": "small-1", "thinking": True, "colour": "blue"},
    )
    rows = list(chat.messages.order_by("position"))
    seen = environment.overview(environment.build(chat, rows[1:2]))
    assert seen["chat"]["documents"] == ["Heizung.pdf", "Normen", "https://heizung.example/a"]
    assert seen["chat"]["settings"] == {"source": "api", "model": "small-1", "thinking": "True"}
    assert seen["language"] == "de"


def test_an_environment_stored_before_it_named_a_language_is_still_readable() -> None:
    content = build(message("a", "Roots take up water from the soil."))
    del content["chat"]["language"]
    assert environment.overview(content)["language"] is None
