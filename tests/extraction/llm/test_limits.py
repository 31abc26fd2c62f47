"""What ends a conversation of the llm worker before its time, and what is kept of one."""

import json
from typing import Any

import pytest

from extraction.llm import conversation
from extraction.workers import BatchFailed, get_worker
from tests.extraction.exploring.test_tools import entry, make
from tests.extraction.llm.talking import TEXT, claims, overview, run
from tests.extraction.scripted_endpoint import (
    KEY,
    Hangs,
    Received,
    Says,
    calls,
    finish,
    stage,
)

pytestmark = pytest.mark.django_db


def test_a_model_that_never_finishes_meets_the_limit_of_requests(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_MAX_REQUESTS = 4
    endpoint = serve(calls(("search_evidence", {"query": "tea"})))
    with pytest.raises(BatchFailed, match=r"within 4 requests \(OSII_LLM_MAX_REQUESTS\)"):
        run()
    assert len(endpoint.received) == 4


def test_tool_calls_are_limited_also_within_one_answer(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_MAX_TOOL_CALLS = 5
    serve(calls(*[stage(f"Claim {n}.") for n in range(9)], finish(9)))
    tools, staging = make(entry("m1.0", TEXT))
    with pytest.raises(BatchFailed, match="OSII_LLM_MAX_TOOL_CALLS"):
        get_worker("llm").run(overview(entry("m1.0", TEXT)), tools, lambda: None)
    assert (staging.count, staging.finished) == (5, False)


def test_tokens_are_limited(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_MAX_TOKENS = 1000
    endpoint = serve(calls(("search_evidence", {"query": "tea"}), usage=(600, 50)))
    with pytest.raises(BatchFailed, match=r"1000 tokens \(OSII_LLM_MAX_TOKENS; 1300 used\)"):
        run()
    assert len(endpoint.received) == 2


def test_time_is_limited_also_while_the_model_thinks(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_BATCH_SECONDS = 0.4
    serve(calls(("search_evidence", {"query": "tea"})), Hangs())
    with pytest.raises(BatchFailed, match=r"within 0.4 seconds \(OSII_LLM_BATCH_SECONDS\)"):
        run()


class Stop(Exception):
    pass


def test_a_stop_between_steps_ends_the_conversation(serve: Any) -> None:
    endpoint = serve(calls(stage("One.")), calls(stage("Two.")), calls(finish(2)))
    tools, staging = make(entry("m1.0", TEXT))
    worker = get_worker("llm")

    def checkpoint() -> None:
        if staging.count:
            raise Stop

    with pytest.raises(Stop):
        worker.run(overview(entry("m1.0", TEXT)), tools, checkpoint)
    assert claims(staging) == ["One."]
    assert len(endpoint.received) == 2
    assert worker.report.usage["requests"] == 2


def test_a_stop_while_a_request_hangs_ends_it_at_once(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "LOOK_SECONDS", 0.05)
    endpoint = serve(Hangs())
    tools, _ = make(entry("m1.0", TEXT))

    def checkpoint() -> None:
        if endpoint.received:
            raise Stop

    with pytest.raises(Stop):
        get_worker("llm").run(overview(entry("m1.0", TEXT)), tools, checkpoint)


def test_a_stop_before_the_conversation_begins_sends_nothing(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_BATCH_SECONDS = -1
    endpoint = serve(calls(finish()))
    with pytest.raises(BatchFailed, match="OSII_LLM_BATCH_SECONDS"):
        run()
    assert not endpoint.received


def test_the_conversation_is_kept_without_reasoning_and_without_the_key(serve: Any) -> None:
    def thinks(_: Received) -> Says:
        return calls(stage("Tea."), text="I will stage one.")

    serve(thinks, calls(finish(1)))
    worker, _, _ = run()
    kept = worker.report.conversation
    assert [one["role"] for one in kept] == ["user", "assistant", "assistant", "tool", "assistant", "tool"]
    assert kept[0]["text"].startswith("You read the messages at positions 1 to 1")
    assert kept[2]["tool"] == "stage_candidate"
    assert KEY not in json.dumps(kept)
