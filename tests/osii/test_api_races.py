"""Clients that deliver at the same time: one order, nothing lost, nothing doubled."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import django_rq
import pytest

from coverage import invariants, services
from coverage.models import Chat, Message
from coverage.queueing import STEERS
from coverage.services import get_or_create_learner
from coverage.versions import is_stale
from extraction.models import Run
from graphctx.models import Proposition, Steer
from graphctx.steers import prepare, steer_id
from osii.api import writes
from tests.extraction.test_locking import Outcome
from tests.factories import chat as make_chat
from tests.factories import message
from tests.graphctx.conftest import SOLAR, add_propositions
from tests.osii.api import Answer, Caller, learner_caller, ui
from tests.osii.test_api_knowledge import make

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The outcomes of calls that start together, each in a thread with its own connection."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        ready.wait(20)
        return call()

    return [outcome.outcome() for outcome in [Outcome(partial(run, call)) for call in calls]]


def sent_at_once(caller: Caller, *requests: tuple) -> list[Answer]:
    """The answers to requests (method, path, body?) of one token that are sent together."""

    def send(request: tuple) -> Answer:
        another = Caller()
        another.headers = caller.headers
        return another.send(*request)

    return at_once(*[partial(send, request) for request in requests])


def statuses(answers: list[Answer]) -> list[int]:
    return sorted(answer.status for answer in answers)


def test_versions_that_arrive_together_end_with_the_newest(rq_connection: object) -> None:
    ada = learner_caller()
    chat_id = ada.begin()
    deliveries = [
        [ui("q", "Why?"), ui("a", f"Version {n}", "assistant", metadata={"version": n})] for n in (3, 1, 8, 2, 7, 5)
    ]
    answers = sent_at_once(ada, *[("PUT", f"/chats/{chat_id}/messages", body) for body in deliveries])
    assert statuses(answers) == [200] * 6
    assert ada.get(f"/chats/{chat_id}").body["messages"] == deliveries[2]
    assert sum("a" in answer.body["added"] for answer in answers) == 1
    assert list(invariants.check()) == []
    assert Steer.objects.count() == 1


def test_growing_transcripts_that_arrive_together_lose_nothing(rq_connection: object) -> None:
    ada = learner_caller()
    chat_id = ada.begin()
    turns = [ui(f"m{n}", f"Text {n}", "user" if n % 2 else "assistant") for n in range(1, 9)]
    puts = [turns[:n] for n in (2, 8, 4, 6)] + [[turns[6]], [turns[7]]]
    sent_at_once(ada, *[("PUT", f"/chats/{chat_id}/messages", body) for body in puts])
    ada.put(f"/chats/{chat_id}/messages", turns)
    assert ada.get(f"/chats/{chat_id}").body["messages"] == turns
    assert list(invariants.check()) == []


def test_a_chat_begun_at_once_is_one(rq_connection: object) -> None:
    ada = learner_caller()
    body = {"id": str(uuid4())}
    answers = sent_at_once(ada, *[("POST", "/chats", body)] * 5)
    assert statuses(answers) == [200, 200, 200, 200, 201]
    assert Chat.objects.count() == 1


def test_a_budget_and_a_first_message_at_once(rq_connection: object) -> None:
    """Either the budget came first and the steer has it, or it is refused: never a budget that the steer does not have."""
    ada = learner_caller()
    for _round in range(5):
        chat_id = ada.begin()
        url = f"/chats/{chat_id}"
        answers = sent_at_once(
            ada,
            ("PUT", f"{url}/settings", {"graph_context_tokens": 256}),
            ("PUT", f"{url}/messages", [ui("q", "Why?")]),
        )
        budget = Chat.objects.get(pk=chat_id).graph_context_tokens
        assert (answers[0].status, budget) in {(200, 256), (409, 1024)}
        assert Steer.objects.get(chat=chat_id).budget == budget


def test_finishing_and_extracting_at_once_is_one_run(settings: Any, rq_connection: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    ada = learner_caller()
    chat_id = ada.begin()
    ada.put(f"/chats/{chat_id}/messages", [ui("a", "x" * 4000)])
    finish, extract = ("POST", f"/chats/{chat_id}/finish"), ("POST", f"/chats/{chat_id}/extract", {"mode": "rest"})
    answers = sent_at_once(ada, finish, extract, finish, extract)
    assert len({answer.body["run"]["id"] for answer in answers}) == 1
    assert Run.objects.get().mode == "rest"


def test_deleting_and_erasing_and_putting_at_once(rq_connection: object) -> None:
    ada = learner_caller()
    for _round in range(4):
        chat_id = ada.begin()
        url = f"/chats/{chat_id}"
        ada.put(f"{url}/messages", [ui("a", "x"), ui("b", "y")])
        erase, put = ("DELETE", url), ("PUT", f"{url}/messages", [ui("c", "z")])
        answers = sent_at_once(ada, ("DELETE", f"{url}/messages/a"), erase, put, erase)
        assert {answer.status for answer in answers} <= {200, 404}
        assert sorted([answers[1].status, answers[3].status]) == [200, 404]
        assert not Chat.objects.filter(pk=chat_id).exists()
    assert not Message.objects.exists()


def test_first_messages_at_once_make_one_steer_with_one_job(rq_connection: object) -> None:
    """Retries that overtake each other, and a delivery that brings the first answer along."""
    ada = learner_caller()
    chat_id = ada.begin()
    deliveries = [[ui("q", "Why?")], [ui("q", "Why?")], [ui("q", "Why?"), ui("a", "So.", "assistant")]]
    answers = sent_at_once(ada, *[("PUT", f"/chats/{chat_id}/messages", body) for body in deliveries])
    assert statuses(answers) == [200] * 3
    assert Steer.objects.get().topic == "Why?"
    assert len(django_rq.get_queue(STEERS).get_job_ids()) == 1


def test_of_turns_at_once_one_is_given_the_steer(rq_connection: object) -> None:
    """Without the conditional update each would be: see the control in tests/graphctx/test_delivery.py."""
    ada = learner_caller()
    chat_id = ada.begin()
    add_propositions(get_or_create_learner("Ada"), SOLAR)
    ada.put(f"/chats/{chat_id}/messages", [ui("q", "What causes the tides?")])
    prepare(steer_id(chat_id))
    answers = sent_at_once(ada, *[("POST", f"/chats/{chat_id}/turn", {"turn": f"t{n}"}) for n in range(4)])
    assert [answer.body["steer"] is not None for answer in answers].count(True) == 1
    assert Steer.objects.get().offers == 1


def test_forgetting_at_once_raises_the_revision_once() -> None:
    ada = learner_caller()
    row = make("Copper is red.")
    before = row.learner.graph_revision
    answers = sent_at_once(ada, *[("POST", f"/propositions/{row.pk}/forget")] * 4)
    assert statuses(answers) == [200] * 4
    row = Proposition.objects.select_related("learner").get()
    assert (row.state, row.learner.graph_revision) == ("forgotten", before + 1)


# --- the race without the lock ---------------------------------------------------------------------------------------


def late_loser(monkeypatch: pytest.MonkeyPatch) -> tuple[list[dict], list[Any]]:
    """Versions 2 and 3 are put over version 1 at once, 3 first; each has read before either writes, if it can."""
    stored = make_chat(message("a", "Version 1", metadata={"version": 1}))
    both_read = threading.Barrier(2)
    first_wrote = threading.Event()

    def judge(old: Any, given: Any) -> bool:
        stale = is_stale(old, given)
        try:
            both_read.wait(2)
        except threading.BrokenBarrierError:
            return stale  # the other one waits for the lock
        if given.metadata["version"] == 2:
            first_wrote.wait(5)
        return stale

    def put(version: int) -> Any:
        result = writes.store_messages(stored.pk, [message("a", f"Version {version}", metadata={"version": version})])
        if version == 3:
            first_wrote.set()
        return result

    monkeypatch.setattr(services, "is_stale", judge)
    results = at_once(lambda: put(3), lambda: put(2))
    return [Message.objects.get().metadata], results


def test_with_the_lock_the_newer_content_stays(monkeypatch: pytest.MonkeyPatch, rq_connection: object) -> None:
    assert late_loser(monkeypatch)[0] == [{"version": 3}]


def test_without_the_lock_the_older_content_wins(monkeypatch: pytest.MonkeyPatch, rq_connection: object) -> None:
    """Negative control."""
    monkeypatch.setattr(services, "lock_chat", lambda chat_id: Chat.objects.get(pk=chat_id))
    monkeypatch.setattr("graphctx.steers.begin", lambda _chat_id: None)
    assert late_loser(monkeypatch)[0] == [{"version": 2}]
