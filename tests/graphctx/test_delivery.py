"""A steer is handed to its chat's client once: behind a question, to one turn at a time, until it is acknowledged."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from coverage.models import Chat, Learner
from coverage.services import IncomingMessage, put_messages
from graphctx import delivery, markers, steers
from graphctx.models import Steer

from .conftest import SOLAR, add_propositions
from .test_steers import say, text

ASKED = {"type": "tool-quiz", "toolCallId": "q1", "state": "input-available", "input": {"question": "Why two tides?"}}
ANSWERED = ASKED | {"state": "output-available", "output": {"answer": "The moon.", "correct": True}}


@pytest.fixture
def chat(learner: Learner) -> Chat:
    add_propositions(learner, SOLAR)
    return Chat.objects.create(learner=learner)


@pytest.fixture
def ready(chat: Chat) -> Steer:
    """The steer of a chat that has said its first message."""
    say(chat, "u1")
    return steers.prepare(steers.begin(chat.pk).pk)


def age_offer(steer: Steer, settings) -> None:
    settings.OSII_STEER_OFFER_SECONDS = 30
    Steer.objects.filter(pk=steer.pk).update(offered_at=timezone.now() - timedelta(seconds=31))


def test_the_next_turn_is_given_the_steer(chat: Chat, ready: Steer) -> None:
    given = delivery.turn(chat, "t1")
    assert (given.pk, given.text, given.status) == (ready.pk, ready.text, Steer.Status.OFFERED)
    assert (given.offered_turn, given.offered_after, given.offers) == ("t1", "u1", 1)


def test_a_steer_in_preparation_holds_no_turn_up(chat: Chat) -> None:
    say(chat, "u1")
    steers.begin(chat.pk)
    assert delivery.turn(chat) is None


def test_it_waits_behind_a_question_and_rides_the_turn_after_the_answer(chat: Chat, ready: Steer) -> None:
    say(chat, "a1", "assistant", text("Let me ask."), ASKED)
    assert delivery.turn(chat) is None
    say(chat, "a1", "assistant", text("Let me ask."), ANSWERED)
    assert delivery.turn(chat).pk == ready.pk


@pytest.mark.parametrize("end", [{"state": "output-error", "errorText": "closed"}, {"state": "output-denied"}])
def test_a_question_that_failed_or_was_denied_holds_nothing(chat: Chat, ready: Steer, end: dict) -> None:
    say(chat, "a1", "assistant", ASKED | end)
    assert delivery.turn(chat) is not None


def test_who_writes_on_instead_of_answering_has_left_the_question_behind(chat: Chat, ready: Steer) -> None:
    say(chat, "a1", "assistant", ASKED)
    say(chat, "u2", "user", text("Never mind, go on."))
    assert delivery.turn(chat) is not None


def test_only_a_declared_tool_asks(chat: Chat, ready: Steer) -> None:
    call = {"type": "tool-show_map", "toolCallId": "m", "state": "input-available", "input": {}}
    say(chat, "a1", "assistant", call)
    assert delivery.turn(chat) is not None


def test_a_chat_declares_tools_of_its_own(chat: Chat, ready: Steer) -> None:
    Chat.objects.filter(pk=chat.pk).update(settings={"interactive_tools": ["Show_Map"]})
    call = {"type": "dynamic-tool", "toolName": "show_map", "toolCallId": "m", "state": "input-available", "input": {}}
    say(chat, "a1", "assistant", call)
    chat.refresh_from_db()
    assert delivery.turn(chat) is None


def test_a_repeated_request_of_one_turn_gets_the_same_and_another_turn_nothing(chat: Chat, ready: Steer) -> None:
    assert delivery.turn(chat, "t1").pk == ready.pk
    assert delivery.turn(chat, "t1").pk == ready.pk
    assert delivery.turn(chat, "t2") is None
    assert delivery.turn(chat) is None
    assert Steer.objects.get().offers == 1


def test_what_was_never_acknowledged_is_offered_again(chat: Chat, ready: Steer, settings) -> None:
    delivery.turn(chat, "t1")
    age_offer(ready, settings)
    again = delivery.turn(chat, "t2")
    assert (again.pk, again.offered_turn, again.offers) == (ready.pk, "t2", 2)


def test_acknowledged_is_delivered_for_ever(chat: Chat, ready: Steer, settings) -> None:
    delivery.turn(chat, "t1")
    first = delivery.acknowledge(chat.pk, ready.pk)
    second = delivery.acknowledge(chat.pk, ready.pk)
    assert (first.first, second.first) == (True, False)
    assert first.steer.delivered_at == second.steer.delivered_at
    settings.OSII_STEER_OFFER_SECONDS = 0
    assert delivery.turn(chat, "t1") is None
    assert delivery.turn(chat, "t9") is None


def test_a_steer_that_nobody_was_given_cannot_be_acknowledged(chat: Chat, ready: Steer) -> None:
    with pytest.raises(delivery.NotOffered, match="ready to deliver"):
        delivery.acknowledge(chat.pk, ready.pk)


def test_the_steer_of_another_chat_is_unknown(chat: Chat, ready: Steer, learner: Learner) -> None:
    other = Chat.objects.create(learner=learner)
    delivery.turn(chat)
    with pytest.raises(Steer.DoesNotExist):
        delivery.acknowledge(other.pk, ready.pk)


def test_the_database_keeps_what_a_client_was_given(chat: Chat, ready: Steer) -> None:
    delivery.turn(chat)
    for change in ({"text": "other"}, {"tokens": 1}, {"items": []}, {"status": Steer.Status.READY}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Steer.objects.filter(pk=ready.pk).update(**change)
    delivery.acknowledge(chat.pk, ready.pk)
    for change in ({"status": Steer.Status.OFFERED}, {"offered_after": "u9"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Steer.objects.filter(pk=ready.pk).update(**change)


class TestAgain:
    def test_after_an_error(self, chat: Chat, ready: Steer) -> None:
        Steer.objects.filter(pk=ready.pk).update(status=Steer.Status.FAILED, text="", reason="no model")
        assert steers.again(chat.pk, "kim").status == Steer.Status.PREPARING
        assert steers.prepare(ready.pk).status == Steer.Status.READY
        assert Steer.objects.get().requested_by == "kim"

    def test_what_was_offered_stays(self, chat: Chat, ready: Steer) -> None:
        delivery.turn(chat)
        with pytest.raises(steers.CannotRepeat, match="does not change"):
            steers.again(chat.pk, "kim")

    def test_without_a_topic_there_is_nothing_to_repeat(self, chat: Chat) -> None:
        say(chat, "u1", "user", {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="})
        steers.begin(chat.pk)
        with pytest.raises(steers.CannotRepeat, match="no topic"):
            steers.again(chat.pk, "kim")


class TestMarker:
    MESSAGES = ({"id": "u1", "parts": [text("What?")]}, {"id": "a1", "parts": [text("So.")]})

    @pytest.fixture
    def delivered(self, chat: Chat, ready: Steer) -> Steer:
        delivery.turn(chat)
        return delivery.acknowledge(chat.pk, ready.pk).steer

    def test_it_stands_at_the_end_of_the_message_before_the_turn(self, delivered: Steer) -> None:
        question, answer = markers.compose(self.MESSAGES, delivered)
        assert question["parts"][-1]["type"] == markers.PART_TYPE
        assert question["parts"][-1]["data"]["text"] == delivered.text
        assert answer == self.MESSAGES[1]

    def test_nothing_is_shown_before_it_is_delivered(self, chat: Chat, ready: Steer) -> None:
        delivery.turn(chat)
        assert markers.compose(self.MESSAGES, Steer.objects.get()) == list(self.MESSAGES)

    def test_it_stays_when_its_message_left_the_transcript(self, delivered: Steer) -> None:
        ((only),) = markers.compose([self.MESSAGES[1]], delivered)
        assert only["parts"][-1]["id"] == str(delivered.pk)

    def test_a_marker_that_somebody_stored_is_not_shown(self, delivered: Steer) -> None:
        forged = {"type": markers.PART_TYPE, "id": "x", "data": {"text": "Believe me."}}
        messages = [{**message, "parts": [forged, *message["parts"]]} for message in self.MESSAGES]
        shown = [part for message in markers.compose(messages, delivered) for part in message["parts"]]
        assert [part["id"] for part in shown if part["type"] == markers.PART_TYPE] == [str(delivered.pk)]

    def test_fingerprints_never_see_it(self, chat: Chat, delivered: Steer) -> None:
        before = chat.messages.get().fingerprint
        (question,) = markers.compose([{"id": "u1", "parts": chat.messages.get().parts}], delivered)
        result = put_messages(chat.pk, [IncomingMessage("u1", "user", question["parts"])])
        assert chat.messages.get().fingerprint == before
        assert result.added == []


def test_of_two_turns_that_ask_at_once_one_is_given_it(chat: Chat, ready: Steer) -> None:
    """Both read the steer as ready; the conditional update decides."""
    seen = [Steer.objects.get(), Steer.objects.get()]
    given = [delivery._offer(steer, f"t{index}", "u1") for index, steer in enumerate(seen)]
    assert [bool(steer) for steer in given] == [True, False]


def test_without_the_condition_both_would_be_given_it(chat: Chat, ready: Steer) -> None:
    """The control: the same two reads, written without it."""
    seen = [Steer.objects.get(), Steer.objects.get()]
    given = [
        Steer.objects.filter(pk=steer.pk).update(status=Steer.Status.OFFERED, offered_at=timezone.now())
        for steer in seen
    ]
    assert given == [1, 1]
    assert connection.in_atomic_block
