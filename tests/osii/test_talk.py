"""The built-in chat with the scripted tutor: forms without a script, steer, grading, repeats; and the whole loop."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from coverage.models import Chat, Learner, Message
from coverage.services import get_or_create_learner, put_messages
from extraction import services
from extraction.models import Run
from extraction.running import runs
from graphctx.models import Level, Steer
from graphctx.steers import prepare, steer_id
from osii.talk import events, quizzes, scripted, state, turns, writing
from tests.factories import message
from tests.graphctx.conftest import add_evidence, add_propositions
from tests.osii import rows

pytestmark = pytest.mark.django_db

PLANTS = [
    "The Calvin cycle takes place in the stroma.",
    "Photosynthesis in plants releases oxygen into the air.",
    "The Calvin cycle needs carbon dioxide from the air.",
    "The Calvin cycle was found by Melvin Calvin in 1950.",
]
TOPIC = "How does the Calvin cycle work?"


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection: object) -> None:
    """Steers and runs are enqueued."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", password="pw"))
    return client


@pytest.fixture
def ada() -> Learner:
    return get_or_create_learner("Ada")


def begin(staff: Client, learner: Learner | None = None, topic: str = TOPIC, **more: Any) -> Chat:
    """Begin a chat as the form does without a script."""
    chat_id = more.pop("chat_id", uuid4())
    who = {"learner": learner.pk} if learner else {"new_learner": "Ada"}
    sent = {"chat_id": chat_id, "topic": topic, "tutor": "scripted", "tokens": 1024, **who, **more}
    response = staff.post(reverse("talk-begin"), sent)
    assert response.status_code == 302, response.text
    return Chat.objects.get(pk=chat_id)


def last(chat: Chat) -> Message:
    return state.last_message(chat.pk)


def question(chat: Chat) -> dict[str, Any]:
    return state.question_of(last(chat))["input"]


def answer(staff: Client, chat: Chat, text: str, **more: Any) -> Any:
    sent = {"after": last(chat).message_id, "text": text, **more}
    return staff.post(reverse("talk-answer", args=[chat.pk]), sent)


def say(staff: Client, chat: Chat, text: str, **more: Any) -> Any:
    sent = {"after": last(chat).message_id, "text": text, **more}
    return staff.post(reverse("talk-say", args=[chat.pk]), sent)


def read_all(chat: Chat) -> None:
    """What a worker does with "read it now"."""
    run = services.request_run(chat.pk, Run.Mode.REST, enqueue=False)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.SUCCEEDED, run.error


def test_a_transcript_leads_back_to_the_conversation(staff: Client) -> None:
    chat = begin(staff)
    assert reverse("talk-chat", args=[chat.pk]) in staff.get(reverse("chat", args=[chat.pk])).text
    other = rows.chat()
    assert reverse("talk-chat", args=[other.pk]) not in staff.get(reverse("chat", args=[other.pk])).text


def test_the_whole_loop_runs_without_a_network(staff: Client) -> None:
    """A first chat is read, and the second chat's steer holds what was learned in it with its level."""
    chat = begin(staff)
    assert state.question_of(last(chat)) is None  # the graph is empty: the tutor asks for something to ask about
    say(staff, chat, "The Calvin cycle takes place in the stroma. The Krebs cycle makes energy in the mitochondria.")
    asked = question(chat)
    assert asked["question"] == "The Calvin cycle takes place in the ____."
    answer(staff, chat, " the STROMA. ")
    assert question(chat)["question"] == "The Krebs cycle makes energy in the ____."
    answer(staff, chat, "nucleus")
    read_all(chat)
    again = begin(staff, chat.learner)
    steer = prepare(steer_id(again.pk))
    levels = {line["text"]: line["level"] for line in steer.items}
    assert levels == {
        "The Calvin cycle takes place in the stroma.": Level.SOLID,
        "The Krebs cycle makes energy in the mitochondria.": Level.SHAKY,
    }
    # The second chat asks about what is shaky first, and the steer rides the turn after the answer.
    assert question(again)["question"] == "The Krebs cycle makes energy in the ____."


class TestSteer:
    """It is prepared by its job, queues behind the question, and rides the turn after the answer."""

    def test_it_rides_the_turn_after_the_answer_and_the_prober_acknowledges_it(
        self, staff: Client, ada: Learner
    ) -> None:
        for row, level in zip(add_propositions(ada, PLANTS), (Level.SOLID, Level.SHAKY, None, None), strict=True):
            if level:
                add_evidence(row, level)
        chat = begin(staff, ada)
        asked = last(chat)
        assert asked.metadata["tutor"] == "prober"
        steer = prepare(steer_id(chat.pk))
        assert (steer.status, steer.budget) == (Steer.Status.READY, 1024)
        answer(staff, chat, "no idea")
        steer.refresh_from_db()
        assert (steer.status, steer.offered_after, steer.offered_turn) == (
            Steer.Status.DELIVERED,
            asked.message_id,
            last(chat).message_id,
        )
        acknowledged = last(chat)
        assert acknowledged.metadata["tutor"] == "prober"
        assert "4 things (1 shaky, 2 without a level, 1 solid)" in acknowledged.parts[0]["text"]
        page = staff.get(reverse("talk-chat", args=[chat.pk])).text
        assert f"Knowledge context: ~{steer.tokens} tokens, 4 propositions" in page
        assert page.index("no idea") < page.index("Knowledge context") < page.index("4 things")
        answer(staff, chat, "no idea")
        assert last(chat).metadata["tutor"] == "teacher"
        assert Steer.objects.get().offers == 1

    def test_the_budget_is_the_sliders_and_zero_is_none(self, staff: Client, ada: Learner) -> None:
        add_propositions(ada, PLANTS)
        chat = begin(staff, ada, tokens=0)
        assert Steer.objects.get(chat=chat).status == Steer.Status.EMPTY

    def test_a_page_loaded_again_shows_the_same(self, staff: Client, ada: Learner) -> None:
        add_propositions(ada, PLANTS)
        chat = begin(staff, ada)
        prepare(steer_id(chat.pk))
        answer(staff, chat, "no idea")
        url = reverse("talk-chat", args=[chat.pk])
        count = chat.messages.count()
        assert staff.get(url).text.count('id="steer"') == staff.get(url).text.count('id="steer"') == 1
        assert (chat.messages.count(), Steer.objects.get().offers) == (count, 1)


class TestRepeats:
    """Two tabs, a double submit, the Back button: nothing is said twice and nothing is lost."""

    def test_beginning_twice_begins_once(self, staff: Client) -> None:
        chat = begin(staff)
        begin(staff, chat_id=chat.pk)
        assert (Chat.objects.count(), chat.messages.count(), Steer.objects.count()) == (1, 2, 1)

    def test_an_old_form_with_another_topic_begins_nothing_and_can_be_sent_again(self, staff: Client) -> None:
        chat = begin(staff)
        sent = {"chat_id": chat.pk, "topic": "Tides", "tutor": "scripted", "tokens": 0, "learner": chat.learner_id}
        response = staff.post(reverse("talk-begin"), sent)
        assert response.status_code == 409
        assert "has begun a chat already" in response.text
        assert str(chat.pk) not in response.text.partition("Go on with")[0]
        assert ">\nTides</textarea>" in response.text

    def test_a_double_submit_says_it_once(self, staff: Client) -> None:
        chat = begin(staff)
        after = last(chat).message_id
        for _ in range(2):
            assert say(staff, chat, "Copper is a red metal.", after=after).status_code == 302
        assert [message.role for message in chat.messages.all()] == ["user", "assistant", "user", "assistant"]

    def test_an_answer_that_is_sent_twice_counts_once(self, staff: Client, ada: Learner) -> None:
        add_propositions(ada, PLANTS)
        chat = begin(staff, ada)
        after = last(chat).message_id
        first = answer(staff, chat, "stroma", after=after)
        second = answer(staff, chat, "stroma", after=after)
        assert (first.status_code, second.status_code) == (302, 302)
        assert chat.messages.count() == 3

    def test_another_answer_from_another_tab_is_refused_and_kept(self, staff: Client, ada: Learner) -> None:
        add_propositions(ada, PLANTS)
        chat = begin(staff, ada)
        after = last(chat).message_id
        answer(staff, chat, "stroma", after=after)
        response = answer(staff, chat, "matrix", after=after)
        assert response.status_code == 409
        assert "answered already, perhaps in another tab" in response.text
        assert chat.messages.count() == 3

    def test_words_from_an_old_page_are_refused_and_kept(self, staff: Client) -> None:
        chat = begin(staff)
        after = last(chat).message_id
        say(staff, chat, "Copper is a red metal that melts.", after=after)
        answer(staff, chat, "nothing")
        response = say(staff, chat, "Tin is soft.", after=after)
        assert response.status_code == 409
        assert "Something else was said here" in response.text
        assert "Tin is soft." in response.text

    def test_while_an_answer_is_owed_nothing_is_said(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        chat = begin(staff)
        with monkeypatch.context() as patch:
            patch.setattr("osii.talk.turns._reply", _fails)
            response = say(staff, chat, "Copper is a red metal that melts.")
            page = staff.get(response["Location"]).text
            assert "The tutor gave no answer: it is asleep." in page
            assert "Let it answer" in page
        assert say(staff, chat, "Hello?").status_code == 409
        before = last(chat)
        for _ in range(2):  # the button may be pressed twice as well
            staff.post(reverse("talk-reply", args=[chat.pk]))
        assert chat.messages.filter(position__gt=before.position).count() == 1

    def test_a_turn_that_another_process_plays_is_not_played_here(
        self, staff: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chat = begin(staff)

        def tried_elsewhere(*_: Any) -> Any:
            raise AssertionError("played twice")
            yield

        monkeypatch.setattr("osii.talk.turns._reply", tried_elsewhere)
        with held_elsewhere(chat.pk):
            response = staff.post(
                reverse("talk-say", args=[chat.pk]),
                {"after": last(chat).message_id, "text": "Tin is soft."},
                headers={"Accept": "text/event-stream"},
            )
            assert streamed(response) == [("busy", {})]


def _fails(*_: Any) -> Any:
    raise events.TurnFailed("it is asleep")
    yield


@contextmanager
def held_elsewhere(chat_id: UUID) -> Iterator[None]:
    """Another session of the database plays the chat's turn."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [chat_id.int % 2**63])
        yield
        other.execute("SELECT pg_advisory_unlock_all()")


def streamed(response: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, as a browser reads them."""
    assert response["Content-Type"] == "text/event-stream"
    blocks = b"".join(response.streaming_content).decode().split("\n\n")
    named = [block.removeprefix("event: ").split("\ndata: ") for block in blocks if block.startswith("event: ")]
    return [(name, json.loads(data)) for name, data in named]


class TestStream:
    def test_the_answer_comes_as_events(self, staff: Client) -> None:
        chat = begin(staff)
        sent = {"after": last(chat).message_id, "text": "Copper is a red metal that melts."}
        response = staff.post(reverse("talk-say", args=[chat.pk]), sent, headers={"Accept": "text/event-stream, */*"})
        assert streamed(response) == [("text", {"text": "Fill in the missing word."}), ("done", {})]
        assert "no-store" in response["Cache-Control"]
        fragment = staff.get(reverse("talk-chat", args=[chat.pk]), headers={"HX-Request": "true"}).text
        assert "Copper is a red metal that ____." in fragment
        assert "<html" not in fragment

    @pytest.mark.parametrize(("text", "reason"), [("  ", "Write something."), ("a\0b", "NUL character")])
    def test_what_cannot_be_said_is_refused_as_an_event(self, staff: Client, text: str, reason: str) -> None:
        chat = begin(staff)
        sent = {"after": last(chat).message_id, "text": text}
        response = staff.post(reverse("talk-say", args=[chat.pk]), sent, headers={"Accept": "text/event-stream"})
        ((name, data),) = streamed(response)
        assert (name, reason in data["reason"]) == ("refused", True)

    def test_a_turn_that_fails_says_so_and_frees_its_place(
        self, staff: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chat = begin(staff)
        sent = {"after": last(chat).message_id, "text": "Copper is a red metal that melts."}
        with monkeypatch.context() as patch:
            patch.setattr("osii.talk.turns._reply", _fails)
            response = staff.post(reverse("talk-say", args=[chat.pk]), sent, headers={"Accept": "text/event-stream"})
            assert streamed(response) == [("failed", {"reason": "The tutor gave no answer: it is asleep."})]
        again = staff.post(reverse("talk-reply", args=[chat.pk]), headers={"Accept": "text/event-stream"})
        assert [name for name, _ in streamed(again)] == ["text", "done"]

    def test_no_more_turns_are_played_than_leave_threads_for_the_pages(self, staff: Client) -> None:
        chat = begin(staff)
        writing.say(chat.pk, last(chat).message_id, "Copper is a red metal that melts.")
        played = [turns.play(begin(staff).pk) for _ in range(turns.AT_ONCE)]
        for one in played:
            next(one)
        assert list(turns.play(chat.pk)) == [events.Failed(turns.BUSY_HERE)]
        for one in played:
            one.close()
        assert list(turns.play(chat.pk))[-1] == events.Done()

    def test_a_page_that_was_closed_leaves_the_turn_owed_and_the_lock_free(self, staff: Client) -> None:
        chat = begin(staff)
        writing.say(chat.pk, last(chat).message_id, "Copper is a red metal that melts.")
        playing = turns.play(chat.pk)
        next(playing)
        playing.close()
        assert state.owed_after(last(chat))
        with held_elsewhere(chat.pk):
            pass
        assert [type(event) for event in turns.play(chat.pk)][-1] is events.Done


class TestPages:
    def test_only_chats_of_this_page_are_led_here(self, staff: Client) -> None:
        assert staff.get(reverse("talk-chat", args=[rows.chat().pk])).status_code == 404

    def test_beginning_needs_the_permission(self, client: Client) -> None:
        client.force_login(rows.staff_user())
        assert client.get(reverse("talk")).status_code == 200
        assert client.post(reverse("talk-begin"), {}).status_code == 403

    @pytest.mark.parametrize(
        ("field", "value", "said"),
        [
            ("tokens", "100", "0 to 4096 in steps of 128"),
            ("topic", " ", "Write something."),
            ("new_learner", "", "Choose a learner, or name a new one."),
            ("tutor", "llm:nobody", "Select a valid choice"),
        ],
    )
    def test_a_wrong_value_is_named_and_nothing_begins(self, staff: Client, field: str, value: str, said: str) -> None:
        sent = {"chat_id": uuid4(), "topic": TOPIC, "tutor": "scripted", "tokens": "1024", "new_learner": "Ada"}
        response = staff.post(reverse("talk-begin"), sent | {field: value})
        assert (response.status_code, said in response.text) == (422, True)
        assert not Chat.objects.exists()

    def test_a_question_does_not_give_its_answer_away(self, staff: Client, ada: Learner) -> None:
        add_propositions(ada, PLANTS[:1])
        chat = begin(staff, ada)
        page = staff.get(reverse("talk-chat", args=[chat.pk])).text
        assert "takes place in the ____." in page
        assert "stroma" not in page

    def test_a_long_chat_costs_the_page_as_many_queries(
        self, staff: Client, django_assert_max_num_queries: Any
    ) -> None:
        chat = begin(staff)
        url = reverse("talk-chat", args=[chat.pk])
        put_messages(chat.pk, [message(f"x{n}", "More words.", "assistant") for n in range(300)])
        with django_assert_max_num_queries(9):
            page = staff.get(url).text
        assert "102 earlier messages" in page


class TestCloze:
    @pytest.mark.parametrize(
        ("sentence", "question", "answer"),
        [
            ("Copper melts at 1,085 degrees.", "Copper melts at 1,085 ____.", "degrees"),
            ("The deadline moved to 16 October.", "The deadline moved to 16 ____.", "October"),
            ("The cycle was found by Calvin in 1950.", "The cycle was found by Calvin in ____.", "1950"),
            ("Die Ebbe kommt vom Mond.", "Die Ebbe kommt vom ____.", "Mond"),
        ],
    )
    def test_the_last_word_that_means_something_is_left_out(self, sentence: str, question: str, answer: str) -> None:
        made = scripted.make_cloze(sentence)
        assert (made.question, made.answer) == (question, answer)

    @pytest.mark.parametrize(
        "sentence", ["Too short.", "It is as it was then.", "Fill __ this in now please.", "猫が好きです。"]
    )
    def test_what_cannot_be_asked_is_left(self, sentence: str) -> None:
        assert scripted.make_cloze(sentence) is None

    @settings(max_examples=40)
    @given(st.lists(st.text("aZüß1,._-' 猫", min_size=1, max_size=9), max_size=9).map(" ".join))
    def test_the_answer_fills_the_gap(self, sentence: str) -> None:
        made = scripted.make_cloze(sentence)
        if made:
            assert made.question.replace(scripted.BLANK, made.answer) == sentence
            assert made.question.count(scripted.BLANK) == 1


class TestGrading:
    @pytest.mark.parametrize(
        ("right", "answered", "correct"),
        [
            ("stroma", "The Stroma.", True),
            ("1,085", "1,085", True),
            ("1.5", "15", False),
            ("-3", "3", False),
            ("C++", "c++", True),
            ("C++", "C", False),
            ("Müller", "mu\u0308ller", True),
            ("the", "the", True),
            ("…", "!", False),
        ],
    )
    def test_answers_are_compared_as_people_would(self, right: str, answered: str, correct: bool) -> None:
        part = quizzes.answered(quizzes.asked("q", "What?", right), answered)
        assert part["output"]["correct"] is correct

    def test_an_option_is_named_by_its_text(self) -> None:
        part = quizzes.answered(quizzes.asked("q", "Where?", "the stroma", ["The stroma", "The matrix"]), "stroma")
        assert part["output"] == {"answer": "The stroma", "correct": True, "correctAnswer": "the stroma"}
