"""The built-in chat with the scripted tutor: forms without a script, steer, grading, repeats; and the whole loop."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from coverage.models import Chat, Learner, Message
from coverage.services import get_or_create_learner
from extraction import runs, services
from extraction.models import Run
from graphctx.models import Level, Steer
from graphctx.steers import prepare, steer_id
from osii.talk import quizzes, scripted, state
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
    given = {"chat_id": chat_id, "topic": topic, "tutor": "scripted", "tokens": 1024, **who, **more}
    response = staff.post(reverse("talk-begin"), given)
    assert response.status_code == 302, response.text
    return Chat.objects.get(pk=chat_id)


def last(chat: Chat) -> Message:
    return state.last_message(chat.pk)


def question(chat: Chat) -> dict[str, Any]:
    return state.question_of(last(chat))["input"]


def answer(staff: Client, chat: Chat, text: str, **more: Any) -> Any:
    given = {"after": last(chat).message_id, "text": text, **more}
    return staff.post(reverse("talk-answer", args=[chat.pk]), given)


def say(staff: Client, chat: Chat, text: str, **more: Any) -> Any:
    given = {"after": last(chat).message_id, "text": text, **more}
    return staff.post(reverse("talk-say", args=[chat.pk]), given)


def read_all(chat: Chat) -> None:
    """What a worker does with "read it now"."""
    run = services.request_run(chat.pk, Run.Mode.REST, enqueue=False)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.SUCCEEDED, run.error


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
