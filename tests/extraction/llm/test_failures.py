"""What goes wrong between the llm worker and its endpoint: what is tried again, what counts on the batch, what does not."""

import itertools
import logging
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from coverage.models import Chat, CoverageEntry, Message
from extraction import invariants
from extraction.exploring import environment
from extraction.llm import endpoint as endpoint_module
from extraction.llm import retrying
from extraction.models import Batch, Run, WorkerConversation
from extraction.reconcile import reconcile_runs
from extraction.running import endings, runs
from extraction.services import finish_chat, request_run
from graphctx.models import Proposition
from tests import factories
from tests.extraction.llm_runs import OVERLOADED, execute, reads_all, states, tea, to_read
from tests.extraction.scripted_endpoint import (
    KEY,
    Drops,
    Hangs,
    Raw,
    Received,
    Says,
    Status,
    calls,
    finish,
    stage,
)
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

BROKEN = Status(500, {"error": {"message": "segmentation fault"}})


# --- a whole batch


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_batch_is_read_merged_and_covered_and_the_chat_is_untouched(serve: Any, provider: str) -> None:
    def snapshot() -> list[dict[str, Any]]:
        return [*Message.objects.order_by("pk").values(), *Chat.objects.order_by("pk").values()]

    serve(calls(("read_evidence", {"from": 1, "to": 2})), reads_all, provider=provider)
    chat = factories.chat(tea(0), tea(1))
    before = snapshot()
    run = execute(chat)
    batch = Batch.objects.get()
    assert (run.status, batch.status, batch.staged_count, batch.reason) == (
        "succeeded",
        "succeeded",
        1,
        finish()[1]["reason"],
    )
    assert Proposition.objects.get().text == "A claim on m1.0."
    assert states(chat) == ["covered", "covered"]
    assert batch.worker_version == "llm-1/extract_v2/test-model"
    assert batch.usage == {
        "requests": 2, "input_tokens": 200, "output_tokens": 20,
        "read_evidence": 1, "stage_candidate": 1, "finish_extraction": 1,
    }  # fmt: skip
    kept = batch.conversations.get()
    assert (kept.attempt, kept.worker_version, kept.usage["requests"]) == (1, batch.worker_version, 2)
    assert kept.entries[-1] == {"role": "tool", "tool": "finish_extraction", "refused": False, "text": '{"ok": true}'}
    assert snapshot() == before
    assert list(invariants.check()) == []


def test_a_failed_attempt_keeps_what_it_used_and_said_and_the_sum_grows(serve: Any) -> None:
    serve(calls(stage("Never merged.", "m1.0")), Says("Done."), Says("Done."), Says("Done."), reads_all)
    chat = factories.chat(tea())
    assert execute(chat).status == "succeeded"
    batch = Batch.objects.get()
    assert (batch.status, batch.attempt, batch.failures) == ("succeeded", 2, 1)
    assert [kept.usage["requests"] for kept in batch.conversations.all()] == [4, 1]
    assert (batch.usage["requests"], batch.usage["input_tokens"], batch.usage["stage_candidate"]) == (5, 500, 2)
    assert [one.text for one in Proposition.objects.all()] == ["A claim on m1.0."]


def test_an_abort_keeps_what_was_used_and_loses_the_batch_in_flight_only(serve: Any) -> None:
    chat = factories.chat(tea())

    def aborts(_: Received) -> Says:
        Run.objects.update(abort_requested_at=timezone.now())
        return calls(stage("Too late.", "m1.0"), finish(1))

    serve(aborts)
    assert execute(chat).status == "aborted"
    batch = Batch.objects.get()
    assert (batch.status, batch.usage["requests"]) == ("aborted", 1)
    assert not Proposition.objects.exists()
    assert not CoverageEntry.objects.exists()


# --- tried again


@pytest.mark.parametrize(
    "bad",
    [
        OVERLOADED,
        BROKEN,
        Status(429, {"error": {"message": "slow down"}}),
        Drops(),
        Raw(b'{"id": "half', claimed=5000),
        Raw(b'{"id": "chatcmpl-1", "choi'),
        Raw(b"<html>Bad gateway</html>", type="text/html"),
        Raw(b'{"status": "warming up"}'),
    ],
    ids=["503", "500", "429", "dropped", "half-a-body", "half-json", "html", "other-json"],
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
        return Status(429, headers={"Retry-After": "1"}) if len(arrived) == 1 else reads_all(received)

    serve(note)
    assert execute(factories.chat(tea())).status == "succeeded"
    assert arrived[1] - arrived[0] >= 1


def test_pauses_grow_have_jitter_and_never_outlast_the_batch() -> None:
    from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError

    left = itertools.repeat(900.0)
    policy = retrying.Retrying(lambda: next(left))
    policy.attempts = 0
    pauses = []
    while True:
        policy.attempts += 1
        pause = policy._pause(ModelHTTPError(503, "m"))
        if pause is None:
            break
        pauses.append(pause)
    assert len(pauses) == retrying.ATTEMPTS - 1
    assert all(2**n / 2 <= pause <= 2**n for n, pause in enumerate(pauses))
    policy.attempts = 1
    asked = ModelHTTPError.for_category(
        ModelRateLimitError, status_code=429, model_name="m", headers={"retry-after": "3600"}
    )
    assert policy._pause(asked) is None
    left = itertools.repeat(0.1)
    assert policy._pause(ModelHTTPError(503, "m")) is None


# --- the endpoint is away


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (OVERLOADED, "HTTP 503 from 127.0.0.1"),
        (Status(429, {"error": {"message": "slow down"}}), "HTTP 429 from 127.0.0.1"),
        (Drops(), "cannot be reached"),
        (Raw(b"<html>Bad gateway</html>", type="text/html"), "an unusable answer from 127.0.0.1"),
    ],
    ids=["503", "429", "dropped", "html"],
)
def test_an_endpoint_that_stays_away_fails_the_run_and_blames_no_batch(
    serve: Any, caplog: pytest.LogCaptureFixture, bad: Any, said: str
) -> None:
    serve(bad, probe=bad)
    chat = factories.chat(tea(0, 600), tea(1, 600))
    run = execute(chat)
    assert run.status == "failed"
    assert run.error.startswith("model endpoint unavailable: ")
    assert said in run.error and "tried 3 times" in run.error
    batch = Batch.objects.get()
    assert (batch.status, batch.failures, batch.error) == ("failed", 0, run.error)
    assert states(chat) == ["uncovered", "uncovered"]
    assert timedelta(minutes=4) < run.retry_at - timezone.now() < timedelta(minutes=6)
    assert batch.usage["requests"] >= 3


def test_nothing_listens(serve: Any, settings: Any) -> None:
    serve(calls(finish())).close()
    run = execute(factories.chat(tea()))
    assert run.status == "failed"
    assert "cannot be reached" in run.error


def test_a_hanging_endpoint_is_given_up_after_its_time(serve: Any, settings: Any) -> None:
    endpoint = serve(Hangs(), probe=Hangs())
    settings.OSII_LLM_TIMEOUT_SECONDS = 0.2
    run = execute(factories.chat(tea()))
    assert "no answer from 127.0.0.1" in run.error and "OSII_LLM_TIMEOUT_SECONDS" in run.error
    assert (len(endpoint.received), len(endpoint.probes)) == (2, 1)
    assert Batch.objects.get().failures == 0


def test_the_command_stops_at_the_first_chat_and_says_how_many_are_left(serve: Any, capsys: Any) -> None:
    endpoint = serve(OVERLOADED, probe=OVERLOADED)
    for number in range(3):
        factories.chat(tea(number))
    with pytest.raises(CommandError, match=r"model endpoint unavailable: HTTP 503 .* \(3 chats are left to read\)"):
        call_command("extract_chats", "--all", "--rest", "--worker", "llm")
    assert Run.objects.count() == 1
    assert len(endpoint.received) == 3


def test_the_next_run_reads_the_same_batch_once_the_endpoint_is_back(serve: Any) -> None:
    chat = factories.chat(tea())
    serve(OVERLOADED, probe=OVERLOADED)
    execute(chat)
    serve(reads_all)
    assert execute(chat).status == "succeeded"
    batch = Batch.objects.get()
    assert (batch.status, batch.attempt, batch.failures) == ("succeeded", 2, 0)
    assert list(invariants.check()) == []


def test_the_reconciler_tries_again_later_and_waits_longer_each_time(serve: Any, rq_connection: object) -> None:
    chat = factories.chat(tea())
    serve(OVERLOADED, probe=OVERLOADED)
    pauses = []
    run = execute(chat)
    for number in range(1, 4):
        pauses.append(run.retry_at - run.finished_at)
        assert reconcile_runs()["tried again"] == 0
        Run.objects.filter(pk=run.pk).update(retry_at=timezone.now())
        assert reconcile_runs(dry_run=True)["tried again"] == 1
        assert reconcile_runs()["tried again"] == 1
        assert reconcile_runs()["tried again"] == 0
        again = Run.objects.get(status=Run.Status.QUEUED)
        assert (again.worker, again.mode, again.retries) == ("llm", "rest", number)
        run = runs.execute(again.pk)
    assert [round(pause / timedelta(minutes=5)) for pause in pauses] == [1, 2, 4]
    assert Batch.objects.get().failures == 0


def test_a_finished_turn_tries_again_at_once_and_replaces_the_later_attempt(
    serve: Any, settings: Any, rq_connection: object
) -> None:
    settings.EXTRACTION_WORKER = "llm"
    chat = factories.chat(tea(0, 1200))
    serve(OVERLOADED, probe=OVERLOADED)
    failed = execute(chat, "due")
    Run.objects.filter(pk=failed.pk).update(retry_at=timezone.now())
    started = finish_chat(chat.pk)
    assert started.pk != failed.pk
    assert reconcile_runs()["tried again"] == 0
    serve(reads_all)
    assert runs.execute(started.pk).status == "succeeded"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Status(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), "refused OSII_LLM_API_KEY"),
        (Status(404, {"error": {"message": "model not found"}}), "does not know OSII_LLM_MODEL 'test-model'"),
        (Status(404, "404 page not found"), "most servers want it to end in /v1"),
        (Status(402, {"error": {"message": "pay first"}}), "quota"),
        (Status(301, "", {"Location": "http://127.0.0.1:9/v1"}), "set OSII_LLM_BASE_URL to the new address"),
    ],
    ids=["401", "404-model", "404-address", "402", "redirect"],
)
def test_a_wrong_set_up_is_said_and_not_tried_again_by_itself(
    serve: Any, caplog: pytest.LogCaptureFixture, answer: Status, said: str
) -> None:
    endpoint = serve(answer, probe=answer)
    with caplog.at_level(logging.DEBUG):
        run = execute(factories.chat(tea()))
    assert run.status == "failed"
    assert said in run.error
    assert len(endpoint.received) == 1
    assert Batch.objects.get().failures == 0
    assert KEY not in run.error + caplog.text + Batch.objects.get().error
    assert KEY not in str(list(WorkerConversation.objects.values()))


def test_a_run_without_a_model_says_which_variables_are_missing() -> None:
    run = execute(factories.chat(tea()))
    assert run.status == "failed"
    assert "OSII_LLM_MODEL" in run.error and "OSII_LLM_BASE_URL" in run.error
    assert run.retry_at is None
    assert not Batch.objects.exists()


# --- the endpoint works, and the batch does not


@pytest.mark.parametrize("bad", [BROKEN, Status(400, {"error": {"message": "invalid character in prompt"}}), Drops()])
def test_a_batch_that_only_the_endpoint_chokes_on_counts_and_parks_and_later_messages_go_on(
    serve: Any, bad: Any
) -> None:
    """Else one message that crashes the server would keep every later one of its chat from being read."""
    serve(lambda received: bad if "Tea number 0" in str(to_read(received)) else reads_all(received))
    chat = factories.chat(tea(0, 900), tea(1, 900))
    run = execute(chat)
    assert run.status == "failed"
    assert states(chat) == ["parked", "covered"]
    parked = Batch.objects.get(status="parked")
    assert parked.failures == 3
    assert "works, but not with this batch" in parked.error


def test_an_old_batch_sends_no_secret_and_its_reason_holds_none(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment was stored before secrets were covered, and the server tells one besides."""
    secret = "gh" + "p_" + "q7Wz2Lr9Tn" * 3 + "Xk4Vb8"
    endpoint = serve(Status(400, {"error": {"message": f"unexpected {secret} in the prompt"}}))
    chat = factories.chat(message("m0", f"Tea has caffeine. My token is {secret}."))
    with monkeypatch.context() as before:
        before.setattr(environment, "redact", lambda told: told)
        before.setattr(environment, "COVERING", 0)
        run = runs.claim(request_run(chat.pk, "rest", "llm", enqueue=False).pk)
        runs._next_batch(run, runs.Lease(run))
    endings.hand_back(run)
    Batch.objects.update(status=Batch.Status.FAILED)
    assert runs.execute(run.pk).status == "failed"
    batch = Batch.objects.get()
    assert (batch.status, batch.failures, len(endpoint.received)) == ("parked", 3, 3)
    assert secret in str(batch.environment.content)
    assert not any(secret in received.text for received in endpoint.received)
    assert "Tea has caffeine. My token is ████" in endpoint.received[0].text
    assert secret not in batch.error and "unexpected ████" in batch.error


def test_a_huge_answer_is_not_read_to_its_end(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "ANSWER_BYTES", 2**20)
    endpoint = serve(Raw(b'{"id": "' + b"x" * 2**22 + b'"}'))
    execute(factories.chat(tea()))
    batch = Batch.objects.get()
    assert (batch.status, batch.failures) == ("parked", 3)
    assert "more than 1 MiB" in batch.error
    assert len(endpoint.received) == 3


def test_a_large_answer_is_kept_in_bounds(serve: Any) -> None:
    large = "y" * 3_000_000
    serve(calls(stage(large, "m1.0"), text=large), reads_all)
    assert execute(factories.chat(tea())).status == "succeeded"
    assert len(str(WorkerConversation.objects.get().entries)) < 20_000


def test_an_answer_cut_off_at_its_token_limit_counts_on_the_batch(serve: Any) -> None:
    endpoint = serve(calls(("stage_candidate", '{"kind": "fact", "cl'), stop="length"))
    execute(factories.chat(tea()))
    batch = Batch.objects.get()
    assert (batch.status, batch.failures) == ("parked", 3)
    assert "not valid JSON" in endpoint.received[1].results[0]
    assert "3 answers of the model in a row were cut off" in batch.error
