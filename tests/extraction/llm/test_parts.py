"""The parts of the llm worker that need no endpoint, and the doctor's question to one."""

import json
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import messages as ai

from extraction.exploring import environment
from extraction.llm import prompt, transcript
from extraction.llm.arguments import DATA, offered_tools
from extraction.workers import WorkerUnavailable, get_worker
from graphctx.models import Kind, Level
from osii import health
from tests.extraction.scripted_endpoint import KEY, Hangs, Says, Status, calls, finish

pytestmark = pytest.mark.django_db


# --- schemas and prompt


def test_every_argument_has_a_bound() -> None:
    def bounded(schema: dict[str, Any]) -> bool:
        if schema["type"] == "array":
            return "maxItems" in schema and bounded(schema["items"])
        return bool({"maxLength", "enum", "maximum", "minimum"} & schema.keys())

    for tool in offered_tools():
        assert [name for name, schema in tool.schema["properties"].items() if not bounded(schema)] == []
    assert list(offered_tools()[1].schema["properties"]) == ["evidence_id", "char_offset", "from", "to", "max_items"]


def test_a_changed_prompt_needs_a_new_name() -> None:
    """Batches record which prompt read them. Copy the file to the next number instead of changing one in use."""
    known = {"extract_v1": "8e7536af1cc7c995", "extract_v2": "be716a69044a65f7"}
    folder = Path(prompt.__file__).parents[1] / "prompts"
    found = {file.stem: file.read_text(encoding="utf-8").strip() for file in folder.glob("extract_*.md")}
    assert {name: blake2b(text.encode(), digest_size=8).hexdigest() for name, text in found.items()} == known
    assert prompt.instructions() == found[prompt.VERSION]


def test_the_prompt_holds_nothing_that_could_be_taken_for_a_claim() -> None:
    """Samples in a prompt are stored as facts by small models: it names its vocabulary, and tells no example."""
    told = prompt.instructions()
    arguments = {name for tool in offered_tools() for name in tool.schema["properties"]}
    words = {tool.name for tool in offered_tools()} | arguments | set(Kind.values) | set(Level.values)
    words |= {DATA, "user", "assistant", *environment.MASKS}
    assert set(re.findall(r"`([^`]*)`", told)) <= words
    said = {"here", "this", "the learner", "may", "must", "should", "I see", "makes sense"}
    assert set(re.findall(r'"([^"]*)"', told)) == said
    assert not re.search(r"\bexamples?\b|\be\.g\.|\bsuch as\b|\bfor instance\b", told, re.I)
    assert set(re.findall(r"\d+", told)) == {"0", *"12345"}


def test_the_first_message_shows_the_overview_then_the_index_each_entry_on_one_line() -> None:
    line = {
        "evidence_id": "m4.0",
        "position": 4,
        "speaker": "user",
        "said_at": "2026-03-01T10:00:00+00:00",
        "kind": "message",
    }
    index = {"evidence_id": "r5.1", "kind": "tool_result", "label": "web", "summary": "a page", "position": 5}
    shown = prompt.first_message(
        {
            "chat": {"id": "c", "title": 'A "title"', "topic": "first\nwords", "documents": ["notes.md"]},
            "range": {"from": 4, "to": 5},
            "overview": [line | {"text": "one\ntwo", "context": False}],
            "index": [index],
            "index_total": 3,
        }
    )
    assert shown.splitlines()[3:-1] == [
        "# Overview",
        'title: "A \\"title\\""',
        'how the chat began: "first\\nwords"',
        'document attached: "notes.md"',
        '[m4.0] user, 2026-03-01T10:00:00+00:00: "one\\ntwo"',
        "",
        "# Evidence index: tool calls and their results",
        '[r5.1] tool_result "web": "a page"',
        "(2 more; search_evidence finds them)",
    ]


# --- the kept conversation


def test_a_long_conversation_keeps_its_beginning_and_its_end() -> None:
    long = [ai.ModelResponse(parts=[ai.TextPart(f"{number} " + "x" * 9000)]) for number in range(200)]
    kept = transcript.transcript(long)
    assert sum(len(entry["text"]) for entry in kept) <= transcript.TOTAL_CHARACTERS
    assert all(len(entry["text"]) <= transcript.ENTRY_CHARACTERS for entry in kept)
    assert kept[0]["text"].startswith("0 ") and kept[-1]["text"].startswith("199 ")
    assert [entry for entry in kept if entry["role"] == "omitted"] == [
        {"role": "omitted", "text": f"{200 - len(kept) + 1} entries left out"}
    ]


def test_what_a_database_cannot_hold_is_replaced_and_reasoning_is_left_out() -> None:
    parts = [ai.ThinkingPart("secret thoughts"), ai.TextPart("a\x00b\ud800c"), ai.ToolCallPart("search_evidence", None)]
    kept = transcript.transcript([ai.ModelResponse(parts=parts)])
    assert kept == [
        {"role": "assistant", "text": "a\ufffdb?c"},
        {"role": "assistant", "tool": "search_evidence", "arguments": ""},
    ]
    json.dumps(kept).encode()


# --- set-up


@pytest.mark.parametrize(
    ("provider", "model", "named"),
    [
        ("openai", "", "OSII_LLM_MODEL"),
        ("openai", "some", "OSII_LLM_API_KEY"),
        ("anthropic", "some", "OSII_LLM_BASE_URL"),
    ],
)
def test_what_is_not_set_is_named(settings: Any, provider: str, model: str, named: str) -> None:
    settings.OSII_LLM_PROVIDER, settings.OSII_LLM_MODEL = provider, model
    with pytest.raises(WorkerUnavailable, match=named):
        get_worker("llm")


def test_a_long_model_name_fits_into_the_version(settings: Any) -> None:
    settings.OSII_LLM_MODEL, settings.OSII_LLM_BASE_URL = "m" * 200, "http://127.0.0.1:9/v1"
    assert len(get_worker("llm").version) == 80


# --- the doctor's question


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_doctor_sees_a_tool_call_there_and_back(serve: Any, provider: str) -> None:
    endpoint = serve(probe=calls(finish(0, "connection test")), provider=provider)
    found = health.tool_calls()
    assert (found.state, found.detail) == ("ok", "test-model called finish_extraction and took its result")
    assert len(endpoint.probes) == 2
    assert endpoint.probes[1].results == ['{"ok":true}']


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Says("I would call finish_extraction."), "does not make native tool calls"),
        (Status(401, {"error": {"message": f"bad key {KEY}"}}), "refused OSII_LLM_API_KEY"),
        (Status(404, {"error": {"message": "no such model"}}), "does not know OSII_LLM_MODEL"),
        (Status(500), "HTTP 500 from 127.0.0.1"),
        (Hangs(), "no answer from 127.0.0.1"),
    ],
)
def test_the_doctor_says_what_is_wrong_with_the_model(serve: Any, settings: Any, answer: Any, said: str) -> None:
    serve(probe=answer)
    settings.OSII_LLM_TIMEOUT_SECONDS = 0.5
    found = health.tool_calls()
    assert found.state == "fail"
    assert said in found.detail
    assert KEY not in found.detail
    assert "connect-a-model" in found.advice


def test_the_doctor_asks_no_model_unless_told_to(serve: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "servers", lambda: iter(()))
    endpoint = serve(calls(finish()))
    assert "Tool calls" not in [found.name for found in health.examine()]
    assert not endpoint.probes
    assert [found.name for found in health.examine(probe_model=True)][-1] == "Tool calls"
