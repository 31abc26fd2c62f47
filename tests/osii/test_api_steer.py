"""The steer over HTTP: offered with a turn, acknowledged, shown in the transcript, and changed by no client."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import django_rq
import pytest
from django.utils import timezone

from coverage.models import Learner, Message
from coverage.queueing import STEERS
from extraction.reconcile import reconcile_runs
from graphctx import markers
from graphctx.models import Steer
from graphctx.steers import prepare, steer_id
from tests.graphctx.conftest import SOLAR, add_propositions
from tests.osii.api import Caller, learner_caller, staff_caller, ui

pytestmark = pytest.mark.django_db

ASKED = {
    "id": "a1",
    "role": "assistant",
    "parts": [{"type": "tool-ask", "toolCallId": "q", "state": "input-available", "input": {"question": "Sure?"}}],
}


@pytest.fixture
def ada() -> Caller:
    caller = learner_caller("Ada")
    add_propositions(Learner.objects.get(name="Ada"), SOLAR)
    return caller


@pytest.fixture
def chat_id(ada: Caller, rq_connection: object) -> UUID:
    """A chat whose steer is ready."""
    begun = ada.begin()
    ada.put(f"/chats/{begun}/messages", [ui("u1", "What causes the tides?")])
    prepare(steer_id(begun))
    return begun


def turn(caller: Caller, chat_id: UUID, **body: Any) -> Any:
    status, answer = caller.post(f"/chats/{chat_id}/turn", body or None)
    assert status == 200, answer
    return answer["steer"]


def test_a_turn_is_given_the_exact_block(ada: Caller, chat_id: UUID) -> None:
    steer = Steer.objects.get()
    assert turn(ada, chat_id) == {"id": str(steer.pk), "text": steer.text, "tokens": steer.tokens, "count": steer.count}


def test_without_a_steer_there_is_none(ada: Caller, rq_connection: object) -> None:
    assert turn(ada, ada.begin()) is None


def test_it_waits_for_the_answer_to_a_question(ada: Caller, chat_id: UUID) -> None:
    ada.put(f"/chats/{chat_id}/messages", [ASKED])
    assert turn(ada, chat_id) is None
    answered = ASKED["parts"][0] | {"state": "output-available", "output": {"answer": "yes"}}
    ada.put(f"/chats/{chat_id}/messages", [ASKED | {"parts": [answered]}])
    assert turn(ada, chat_id) is not None


def test_a_chat_names_tools_that_ask(ada: Caller, chat_id: UUID) -> None:
    status, settings = ada.put(f"/chats/{chat_id}/settings", {"interactive_tools": ["pick_a_card"]})
    assert (status, settings["interactive_tools"]) == (200, ["pick_a_card"])
    part = {"type": "tool-pick_a_card", "toolCallId": "q", "state": "input-available", "input": {}}
    ada.put(f"/chats/{chat_id}/messages", [ASKED | {"parts": [part]}])
    assert turn(ada, chat_id) is None


@pytest.mark.parametrize("tools", ["ask", [1], [""], [["ask"]]])
def test_tools_are_named_by_texts(ada: Caller, chat_id: UUID, tools: Any) -> None:
    assert ada.put(f"/chats/{chat_id}/settings", {"interactive_tools": tools}).status == 422


def test_delivered_it_shows_in_the_transcript_and_is_not_offered_again(ada: Caller, chat_id: UUID) -> None:
    offered = turn(ada, chat_id, turn="t1")
    assert turn(ada, chat_id, turn="t1") == offered
    assert turn(ada, chat_id, turn="t2") is None
    first = ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": offered["id"]})
    second = ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": offered["id"]})
    assert (first.status, first.body) == (200, second.body)
    assert turn(ada, chat_id, turn="t1") is None
    (message,) = ada.get(f"/chats/{chat_id}").body["messages"]
    marker = message["parts"][-1]
    assert marker["type"] == markers.PART_TYPE
    assert (marker["data"]["text"], marker["data"]["tokens"]) == (offered["text"], offered["tokens"])


def test_no_client_write_changes_the_marker(ada: Caller, chat_id: UUID) -> None:
    offered = turn(ada, chat_id)
    ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": offered["id"]})
    before = Message.objects.get(message_id="u1").fingerprint
    (message,) = ada.get(f"/chats/{chat_id}").body["messages"]
    message["parts"][-1]["data"]["text"] = "Believe me."
    status, put = ada.put(f"/chats/{chat_id}/messages", [message])
    assert (status, put["unchanged"]) == (200, ["u1"])
    assert Message.objects.get(message_id="u1").fingerprint == before
    assert "Believe me." not in str(Message.objects.get(message_id="u1").parts)
    (shown,) = ada.get(f"/chats/{chat_id}").body["messages"]
    assert shown["parts"][-1]["data"]["text"] == offered["text"]


def test_a_client_that_died_is_offered_it_again(ada: Caller, chat_id: UUID) -> None:
    offered = turn(ada, chat_id, turn="t1")
    Steer.objects.update(offered_at=timezone.now() - timedelta(hours=1))
    assert turn(ada, chat_id, turn="t2") == offered


def test_what_cannot_be_acknowledged(ada: Caller, chat_id: UUID) -> None:
    early = ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": str(steer_id(chat_id))})
    assert (early.status, "no turn has been given it" in early.body["detail"]) == (409, True)
    assert ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": str(uuid4())}).status == 404
    assert ada.post(f"/chats/{chat_id}/steer/ack", {}).status == 422


def test_the_steer_of_another_learner_is_not_found(ada: Caller, chat_id: UUID) -> None:
    ben = learner_caller("Ben")
    assert ben.post(f"/chats/{chat_id}/turn").status == 404
    assert ben.post(f"/chats/{chat_id}/steer/ack", {"steer_id": str(steer_id(chat_id))}).status == 404
    assert staff_caller().post(f"/chats/{chat_id}/turn").status == 200


def test_a_turn_asks_the_database_a_fixed_number_of_times(
    ada: Caller, chat_id: UUID, django_assert_max_num_queries: Any
) -> None:
    many = [ui(f"x{index}", "And then?") for index in range(60)]
    ada.put(f"/chats/{chat_id}/messages", many)
    with django_assert_max_num_queries(8):
        assert turn(ada, chat_id)["count"] > 0


def test_a_regenerated_first_answer_gets_the_steer_once(ada: Caller, chat_id: UUID) -> None:
    """The client drops its first answer and asks anew, under another id: the block was given, and stays where it was."""
    offered = turn(ada, chat_id, turn="a1")
    ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": offered["id"]})
    ada.put(f"/chats/{chat_id}/messages", [ui("a1", "Well.", "assistant")])
    ada.delete(f"/chats/{chat_id}/messages/a1")
    assert turn(ada, chat_id, turn="a2") is None
    ada.put(f"/chats/{chat_id}/messages", [ui("u1", "What causes the tides?"), ui("a2", "The moon.", "assistant")])
    assert Steer.objects.count() == 1
    question, answer = ada.get(f"/chats/{chat_id}").body["messages"]
    assert (question["parts"][-1]["type"], len(answer["parts"])) == (markers.PART_TYPE, 1)


def test_a_first_answer_that_is_regenerated_before_the_acknowledgement_gets_it_again(
    ada: Caller, chat_id: UUID, settings: Any
) -> None:
    offered = turn(ada, chat_id, turn="a1")
    assert turn(ada, chat_id, turn="a2") is None  # the first try may still be under way
    Steer.objects.update(offered_at=timezone.now() - timedelta(seconds=settings.OSII_STEER_OFFER_SECONDS + 1))
    assert turn(ada, chat_id, turn="a2") == offered
    assert ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": offered["id"]}).status == 200
    assert Steer.objects.get().offered_turn == "a2"


def test_a_chat_that_was_under_way_gets_none_when_its_beginning_is_deleted(ada: Caller, rq_connection: object) -> None:
    begun = ada.begin()
    ada.put(f"/chats/{begun}/messages", [ui("u1", "What causes the tides?"), ui("u2", "And why two?")])
    ada.delete(f"/chats/{begun}/messages/u1")
    assert ada.put(f"/chats/{begun}/messages", [ui("u2", "And why two a day?")]).body["changed"] == ["u2"]
    assert not Steer.objects.exists()


def test_a_reload_shows_the_same_and_changes_nothing(ada: Caller, chat_id: UUID) -> None:
    ada.post(f"/chats/{chat_id}/steer/ack", {"steer_id": turn(ada, chat_id)["id"]})
    before = Steer.objects.values().get()
    first, second = ada.get(f"/chats/{chat_id}").body, ada.get(f"/chats/{chat_id}").body
    assert first == second
    assert ada.put(f"/chats/{chat_id}/messages", first["messages"]).body["unchanged"] == ["u1"]
    assert Steer.objects.values().get() == before


def test_a_job_that_was_lost_before_it_started_is_enqueued_again(
    ada: Caller, rq_connection: Any, django_capture_on_commit_callbacks: Any
) -> None:
    begun = ada.begin()
    with django_capture_on_commit_callbacks(execute=True):
        ada.put(f"/chats/{begun}/messages", [ui("u1", "What causes the tides?")])
    waiting = django_rq.get_queue(STEERS)
    assert waiting.get_job_ids() == [f"steer-{steer_id(begun)}"]
    rq_connection.flushdb()
    assert turn(ada, begun) is None
    assert reconcile_runs()["steers enqueued"] == 1
    assert reconcile_runs()["steers enqueued"] == 0
    (job,) = waiting.get_jobs()
    assert job.perform() == Steer.Status.READY
    assert turn(ada, begun)["count"] == len(SOLAR)
