"""The same list of mishaps over Anthropic's API, which words and shapes each of them differently."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from extraction import invariants
from extraction.llm import endpoint as endpoint_module
from extraction.models import Batch, ModelUse, Run, WorkerConversation
from graphctx.models import Proposition
from tests import factories
from tests.extraction.llm_runs import execute, reads_all, states, tea, to_read
from tests.extraction.scripted_endpoint import (
    Drops,
    Hangs,
    Raw,
    Received,
    Says,
    ScriptedEndpoint,
    Status,
    calls,
    finish,
    stage,
)

pytestmark = pytest.mark.django_db(transaction=True)


def error(code: int, kind: str, message: str, **headers: str) -> Status:
    return Status(code, {"type": "error", "error": {"type": kind, "message": message}}, headers)


OVERLOADED = error(529, "overloaded_error", "Overloaded")
BROKEN = error(500, "api_error", "Internal server error")
TOO_LONG = error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")


@pytest.fixture
def serve(serve: Callable[..., ScriptedEndpoint]) -> Callable[..., ScriptedEndpoint]:
    return lambda *script, **more: serve(*script, provider="anthropic", **more)


# --- what the model does wrong


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("stage_candidate", "not an object"), "one JSON object"),
        (("drop_table", {"name": "chats"}), "drop_table"),
        (stage("About nothing.", "m9.0"), "no evidence 'm9.0'"),
        (stage("Made up.", quote="never said by anyone"), "does not occur"),
        (finish(5), "staged_count must be 0"),
        (finish(0, ""), "reason"),
    ],
    ids=["arguments", "tool", "evidence", "quote", "count", "no-reason"],
)
def test_a_refusal_goes_back_and_the_batch_goes_on(serve: Any, call: Any, said: str) -> None:
    endpoint = serve(calls(call), reads_all)
    assert execute(factories.chat(tea())).status == "succeeded"
    assert said in endpoint.received[1].results[0]
    batch = Batch.objects.get()
    assert (batch.staged_count, batch.refusals) == (1, 1)
    assert [one.text for one in Proposition.objects.all()] == ["A claim on m1.0."]


def test_prose_and_calls_after_finish_change_nothing(serve: Any) -> None:
    endpoint = serve(calls(stage("In time."), finish(1, "done"), stage("Too late."), finish(2), text="And remember X."))
    assert execute(factories.chat(tea())).status == "succeeded"
    assert [one.text for one in Proposition.objects.all()] == ["In time."]
    assert (Batch.objects.get().reason, len(endpoint.received)) == ("done", 1)


def test_a_model_that_never_finishes_fails_its_batch_and_what_it_used_is_kept(serve: Any, settings: Any) -> None:
    settings.OSII_LLM_MAX_REQUESTS, settings.EXTRACTION_MAX_FAILURES = 3, 1
    serve(calls(("search_evidence", {"query": "tea"})))
    execute(factories.chat(tea()))
    batch = Batch.objects.get()
    assert batch.status == "parked" and "within 3 requests (OSII_LLM_MAX_REQUESTS)" in batch.error
    assert (batch.usage["requests"], batch.usage["input_tokens"], batch.usage["output_tokens"]) == (3, 300, 30)
    assert ModelUse.objects.get().usage["requests"] == 3


def test_a_model_that_only_writes_is_reminded_and_then_refused_by_name(serve: Any) -> None:
    endpoint = serve(Says("I would stage a claim about tea."))
    run = execute(factories.chat(tea()))
    assert run.status == "failed" and "'test-model' does not make native tool calls" in run.error
    assert len(endpoint.received) == 3
    assert Batch.objects.get().failures == 0


def test_an_answer_cut_off_at_its_token_limit_counts_on_the_batch(serve: Any, settings: Any) -> None:
    settings.EXTRACTION_MAX_FAILURES = 1
    serve(calls(("stage_candidate", {"kind": "fact"}), stop="max_tokens"))
    execute(factories.chat(tea()))
    assert "token limit" in Batch.objects.get().error


# --- what goes wrong on the way


@pytest.mark.parametrize(
    "bad",
    [
        OVERLOADED,
        BROKEN,
        error(429, "rate_limit_error", "slow down"),
        Drops(),
        Raw(b'{"id": "msg_1", "type": "mess', claimed=5000),
        Raw(b'{"id": "msg_1", "type": "mess'),
        Raw(b"<html>Bad gateway</html>", type="text/html"),
    ],
    ids=["529", "500", "429", "dropped", "half-a-body", "half-json", "html"],
)
def test_a_passing_failure_is_tried_again(serve: Any, bad: Any) -> None:
    serve(bad, bad, reads_all)
    assert execute(factories.chat(tea())).status == "succeeded"
    batch = Batch.objects.get()
    assert (batch.failures, batch.usage["requests"], batch.usage["retries"]) == (0, 3, 2)


def test_retry_after_is_honoured(serve: Any) -> None:
    arrived: list[float] = []

    def note(received: Received) -> Any:
        arrived.append(time.monotonic())
        slow = error(429, "rate_limit_error", "slow down", **{"Retry-After": "1"})
        return slow if len(arrived) == 1 else reads_all(received)

    serve(note)
    assert execute(factories.chat(tea())).status == "succeeded"
    assert arrived[1] - arrived[0] >= 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [(OVERLOADED, "HTTP 529"), (error(429, "rate_limit_error", "no"), "HTTP 429"), (Drops(), "cannot be reached")],
)
def test_an_endpoint_that_stays_away_blames_no_batch(serve: Any, bad: Any, said: str) -> None:
    serve(bad, probe=bad)
    run = execute(factories.chat(tea()))
    assert run.status == "failed" and run.retry_at is not None
    assert run.error.startswith("model endpoint unavailable: ") and said in run.error
    assert Batch.objects.get().failures == 0


def test_a_hanging_endpoint_is_given_up_after_its_time(serve: Any, settings: Any) -> None:
    endpoint = serve(Hangs(), probe=Hangs())
    settings.OSII_LLM_TIMEOUT_SECONDS = 0.2
    run = execute(factories.chat(tea()))
    assert "no answer from 127.0.0.1" in run.error
    assert (len(endpoint.received), len(endpoint.probes)) == (2, 1)


def test_a_batch_that_only_the_endpoint_chokes_on_parks_and_later_messages_go_on(serve: Any) -> None:
    serve(lambda received: BROKEN if "Tea number 0" in str(to_read(received)) else reads_all(received))
    chat = factories.chat(tea(0, 900), tea(1, 900))
    execute(chat)
    assert states(chat) == ["parked", "covered"]
    assert "works, but not with this batch" in Batch.objects.get(status="parked").error


def test_a_huge_answer_is_not_read_to_its_end(serve: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "ANSWER_BYTES", 2**20)
    settings.EXTRACTION_MAX_FAILURES = 1
    endpoint = serve(Raw(b'{"id": "' + b"x" * 2**22 + b'"}'))
    execute(factories.chat(tea()))
    assert "more than 1 MiB" in Batch.objects.get().error
    assert len(endpoint.received) == 1


def test_a_large_answer_is_kept_in_bounds(serve: Any) -> None:
    large = "y" * 1_000_000
    serve(calls(stage(large, "m1.0"), text=large), reads_all)
    assert execute(factories.chat(tea())).status == "succeeded"
    assert len(str(WorkerConversation.objects.get().entries)) < 20_000


# --- too long, and stopped


def test_a_batch_that_is_too_long_is_split_between_its_messages_and_goes_on(serve: Any) -> None:
    serve(lambda received: TOO_LONG if len(to_read(received)) > 1 else reads_all(received))
    chat = factories.chat(tea(0), tea(1), tea(2))
    assert execute(chat).status == "succeeded"
    assert states(chat) == ["covered"] * 3
    assert list(invariants.check()) == []


def test_a_single_message_that_is_too_long_parks_and_the_others_go_on(serve: Any) -> None:
    serve(lambda received: TOO_LONG if "Tea number 1 " in str(to_read(received)) else reads_all(received))
    chat = factories.chat(tea(0, 200), tea(1, 200), tea(2, 200))
    execute(chat)
    assert states(chat) == ["covered", "parked", "covered"]


def test_an_abort_ends_the_conversation_between_two_steps(serve: Any) -> None:
    def aborts(_: Received) -> Says:
        Run.objects.update(abort_requested_at=timezone.now())
        return calls(stage("Too late.", "m1.0"), finish(1))

    serve(aborts)
    assert execute(factories.chat(tea())).status == "aborted"
    assert (Batch.objects.get().usage["requests"], ModelUse.objects.count()) == (1, 1)
    assert not Proposition.objects.exists()
