"""The llm worker through the real client, against a real HTTP endpoint: what it decides."""

import json
from typing import Any

import pytest

from extraction.llm import prompt
from extraction.workers import BatchFailed, WorkerUnavailable
from tests.extraction.exploring.test_tools import entry
from tests.extraction.llm.talking import PROVIDERS, TEXT, claims, run
from tests.extraction.scripted_endpoint import (
    Says,
    Status,
    calls,
    finish,
    stage,
)

pytestmark = pytest.mark.django_db


@PROVIDERS
def test_explore_stage_finish(serve: Any, provider: str) -> None:
    endpoint = serve(
        calls(("search_evidence", {"query": "bitter"})),
        calls(("read_evidence", {"from": 1, "to": 1})),
        calls(stage("Green tea is brewed at 80 °C.", quote="best brewed at 80 °C", understanding="solid")),
        calls(finish(1, "read everything")),
        provider=provider,
    )
    worker, tools, staging = run()
    assert claims(staging) == ["Green tea is brewed at 80 °C."]
    assert (staging.finished, staging.reason) == (True, "read everything")
    assert tools.refusals == 0
    read = json.loads(endpoint.received[2].results[1])["chat_data"]
    assert read["items"][0]["text"] == TEXT
    assert worker.version == "llm-1/extract_v2/test-model"
    usage = worker.report.usage
    assert (usage["requests"], usage["input_tokens"], usage["output_tokens"]) == (4, 400, 40)


@PROVIDERS
def test_finding_nothing_is_a_result_with_its_reason(serve: Any, provider: str) -> None:
    serve(calls(finish(0, "only greetings")), provider=provider)
    _, _, staging = run()
    assert (staging.count, staging.finished, staging.reason) == (0, True, "only greetings")


@PROVIDERS
def test_parallel_calls_in_one_answer_run_in_their_order(serve: Any, provider: str) -> None:
    serve(
        calls(stage("First."), stage("Second.", quote="80 °C"), ("read_evidence", {"evidence_id": "m1.0"}), finish(2)),
        provider=provider,
    )
    worker, tools, staging = run()
    assert claims(staging) == ["First.", "Second."]
    assert staging.finished
    assert (worker.report.usage["requests"], tools.refusals) == (1, 0)


REFUSED = [
    (("stage_candidate", '{"kind": "fact", "claim": '), "not valid JSON"),
    (("stage_candidate", '["fact"]'), "one JSON object"),
    (("drop_table", {"name": "chats"}), "drop_table"),
    (("search_evidence", {"query": "tea", "regex": True}), "unknown argument 'regex'"),
    (("read_evidence", {"from_": 1, "to": 1}), "unknown argument 'from_'"),
    (("read_evidence", {"evidence_id": "m9.0"}), "no evidence 'm9.0'"),
    (("read_evidence", {"evidence_id": "m1.0", "from": 1, "to": 1}), "not both"),
    (("search_evidence", {"query": "tea", "limit": 51}), "less than or equal to 50"),
    (stage("About nothing.", "m7.0"), "no evidence 'm7.0'"),
    (stage("Read only.", "m2.0"), "read-only context"),
    (stage("Handed in.", "m3.0"), "injected"),
    (stage("Made up.", quote="never said by anyone"), "does not occur"),
    (stage("x" * 501), "at most 500 characters"),
    (stage("   "), "1 to 500 characters"),
    (stage("Null.", why_useful=None), "why_useful"),
    (stage("Of no kind.", kind="rumour"), "'fact'"),
    (stage("May fail.", kind="working_assumption"), "staleness"),
    (stage("Nul \x00 inside."), "NUL"),
    (stage("Half a pair \ud800 inside."), "unicode"),
    (finish(5), "staged_count must be 0"),
    (finish(0, ""), "reason"),
]


@pytest.mark.parametrize(("call", "expected"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_refusal_goes_back_as_text_is_counted_and_writes_nothing(serve: Any, call: Any, expected: str) -> None:
    endpoint = serve(calls(call), calls(finish(0, "nothing was accepted")))
    context = entry("m2.0", "earlier", context=True)
    _, tools, staging = run(entry("m1.0", TEXT), context, entry("m3.0", "handed in", injected=True))
    assert expected in endpoint.received[1].results[0]
    assert tools.refusals == 1
    assert (staging.count, staging.reason) == (0, "nothing was accepted")


def test_anthropic_sees_a_refusal_marked_as_an_error(serve: Any) -> None:
    endpoint = serve(calls(stage("x", "m9.0")), calls(finish()), provider="anthropic")
    run()
    result = endpoint.received[1].body["messages"][-1]["content"][0]
    assert (result["type"], result["is_error"]) == ("tool_result", True)


def test_empty_optional_arguments_count_as_left_out(serve: Any) -> None:
    call = stage("Green tea likes 80 °C.", staleness="", understanding=None, quote="")
    serve(calls(call, ("read_evidence", {"evidence_id": "", "from": "1", "to": 1})), calls(finish(1)))
    _, tools, staging = run()
    assert (staging.count, tools.refusals) == (1, 0)


def test_the_same_claim_twice_is_one_record(serve: Any) -> None:
    serve(calls(stage("Tea."), stage("Tea.")), calls(finish(1)))
    _, _, staging = run()
    assert staging.count == 1


@PROVIDERS
def test_finish_is_authoritative_whatever_comes_with_it(serve: Any, provider: str) -> None:
    """Prose, further claims and a second finish in the same answer change nothing, and no further request is sent."""
    late = calls(
        stage("In time."),
        finish(1, "done"),
        stage("Too late."),
        finish(2, "again"),
        text="And one more thing: remember X.",
    )
    endpoint = serve(late, calls(stage("Never asked for.")), provider=provider)
    worker, tools, staging = run()
    assert claims(staging) == ["In time."]
    assert staging.reason == "done"
    assert tools.refusals == 2
    assert len(endpoint.received) == 1
    assert [one["refused"] for one in worker.report.conversation if one["role"] == "tool"] == [False, False, True, True]


def test_more_calls_after_finish_than_the_limit_do_not_undo_it(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_MAX_TOOL_CALLS = 3
    serve(calls(finish(0, "done"), *[stage(f"Late {n}.") for n in range(10)]))
    _, tools, staging = run()
    assert (staging.count, staging.reason, tools.refusals) == (0, "done", 10)


def test_a_wrong_count_is_told_the_right_one(serve: Any) -> None:
    endpoint = serve(calls(stage("Tea."), finish(3)), calls(finish(1)))
    _, _, staging = run()
    assert "must be 1" in endpoint.received[1].results[1]
    assert staging.finished


def test_prose_is_answered_with_a_reminder(serve: Any) -> None:
    endpoint = serve(calls(stage("Tea.")), Says("I have staged one claim."), Says(""), calls(finish(1)))
    worker, _, staging = run()
    assert staging.finished
    assert prompt.NUDGE in endpoint.received[2].text
    assert [one["role"] for one in worker.report.conversation][-5:] == [
        "assistant",
        "user",
        "user",
        "assistant",
        "tool",
    ]


def test_a_model_that_stops_calling_fails_the_batch(serve: Any) -> None:
    serve(calls(stage("Tea.")), Says("That is all."))
    with pytest.raises(BatchFailed, match="without finish_extraction: 3 answers without a tool call"):
        run()


@PROVIDERS
def test_a_model_without_native_tool_calls_is_refused_by_name(serve: Any, provider: str) -> None:
    serve(Says('{"name": "finish_extraction", "arguments": {"staged_count": 0}}'), provider=provider)
    with pytest.raises(WorkerUnavailable, match=r"'test-model' does not make native tool calls.*connect-a-model"):
        run()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "registry.example/library/small:latest does not support tools", "type": "api_error"}},
        {
            "error": {
                "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            }
        },
        {"error": {"code": 500, "message": "tools param requires --jinja flag"}},
    ],
)
def test_a_server_that_refuses_tools_is_refused_by_name(serve: Any, body: dict[str, Any]) -> None:
    endpoint = serve(Status(400, body))
    with pytest.raises(WorkerUnavailable, match="does not make native tool calls"):
        run()
    assert len(endpoint.received) == 1
