"""One steer per chat: when it begins, when it does not, and that it is prepared once."""

import threading
import uuid

import pytest
from django.db import connection
from django.utils.module_loading import import_string

from coverage.models import Chat, Learner
from coverage.services import IncomingMessage, put_messages
from graphctx import jobs, steers
from graphctx.embedding import EmbeddingError
from graphctx.models import Steer
from graphctx.vectors import backfill

from .conftest import SOLAR, add_propositions

FILE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def say(chat: Chat, message_id: str, role: str = "user", *parts: dict) -> None:
    put_messages(chat.pk, [IncomingMessage(message_id, role, list(parts) or [text("What causes the tides?")])])


@pytest.fixture
def chat(learner: Learner) -> Chat:
    return Chat.objects.create(learner=learner)


def test_the_id_follows_from_the_chat() -> None:
    chat_id = uuid.UUID(int=7)
    assert steers.steer_id(chat_id) == steers.steer_id(chat_id) == uuid.UUID("f5908db6-837c-5f01-acf2-e17743fbf851")


def test_the_first_user_message_is_the_topic(chat: Chat) -> None:
    put_messages(chat.pk, [IncomingMessage("s", "system", [text("You are a tutor.")])])
    assert steers.begin(chat.pk) is None  # nobody has said anything yet
    say(chat, "u1", "user", text("What causes"), FILE, text("the tides?"))
    steer = steers.begin(chat.pk)
    assert steer.topic == "What causes\n\nthe tides?"
    assert (steer.status, steer.budget, steer.pk) == (Steer.Status.PREPARING, 1024, steers.steer_id(chat.pk))


def test_it_is_enqueued_once_and_on_commit(chat: Chat, monkeypatch, django_capture_on_commit_callbacks) -> None:
    jobs_put: list = []
    monkeypatch.setattr("coverage.queueing.enqueue_now", lambda *args, **kwargs: jobs_put.append((args, kwargs)))
    say(chat, "u1")
    with django_capture_on_commit_callbacks(execute=True):
        first = steers.begin(chat.pk)
        assert jobs_put == []
    with django_capture_on_commit_callbacks(execute=True):
        assert steers.begin(chat.pk).pk == first.pk
    ((queue, job, argument), options) = jobs_put[0]
    assert len(jobs_put) == 1
    assert (queue, job, argument) == ("steers", steers.PREPARE, str(first.pk))
    assert options == {"job_id": f"steer-{first.pk}"}
    assert import_string(job) is jobs.prepare_steer


def test_the_answer_that_came_with_the_first_message_does_not_matter(chat: Chat) -> None:
    say(chat, "u1")
    say(chat, "a1", "assistant", text("Let us see."))
    assert steers.begin(chat.pk).topic == "What causes the tides?"


def test_a_chat_under_way_gets_none(chat: Chat) -> None:
    say(chat, "u1")
    say(chat, "a1", "assistant", text("Let us see."))
    say(chat, "u2")
    assert steers.begin(chat.pk) is None
    assert not Steer.objects.exists()


def test_an_imported_chat_gets_none(learner: Learner) -> None:
    chat = Chat.objects.create(learner=learner, source="chatgpt", external_id="x")
    say(chat, "u1")
    assert steers.begin(chat.pk) is None


def test_later_messages_and_edits_change_nothing(chat: Chat) -> None:
    say(chat, "u1")
    first = steers.begin(chat.pk)
    steers.prepare(first.pk)
    say(chat, "u1", "user", text("Something else"))
    say(chat, "u2")
    again = steers.begin(chat.pk)
    assert (again.pk, again.topic) == (first.pk, "What causes the tides?")
    assert Steer.objects.count() == 1


@pytest.mark.parametrize("parts", [[FILE], [text("  \n")], [text("\u200b\ufeff"), FILE]])
def test_a_first_message_without_text_is_no_topic(chat: Chat, parts: list) -> None:
    say(chat, "u1", "user", *parts)
    steer = steers.begin(chat.pk)
    assert (steer.status, steer.reason) == (Steer.Status.EMPTY, steers.NO_TOPIC)
    say(chat, "u1", "user", text("Now with words"))
    assert steers.begin(chat.pk).status == Steer.Status.EMPTY


def test_budget_zero_is_recorded(chat: Chat) -> None:
    Chat.objects.filter(pk=chat.pk).update(graph_context_tokens=0)
    say(chat, "u1")
    steer = steers.begin(chat.pk)
    assert (steer.status, steer.reason) == (Steer.Status.EMPTY, steers.OFF)


def test_a_very_long_topic_is_stored_in_part(chat: Chat) -> None:
    say(chat, "u1", "user", text("tides " * 100_000))
    assert len(steers.begin(chat.pk).topic) == steers.TOPIC_CHARACTERS


def test_preparing_stores_the_block_and_its_numbers(chat: Chat, learner: Learner) -> None:
    rows = add_propositions(learner, SOLAR)
    say(chat, "u1")
    steer = steers.prepare(steers.begin(chat.pk).pk)
    assert steer.status == Steer.Status.READY
    assert (steer.count, len(steer.items), steer.space.name) == (5, 5, "hashing")
    assert steer.text.startswith("<osii-context ")
    assert steer.tokens == -(-len(steer.text) // 4)
    assert steer.items[0]["proposition_id"] == str(rows[0].pk)
    assert steer.ready_at is not None


def test_preparing_again_changes_nothing(chat: Chat, learner: Learner) -> None:
    add_propositions(learner, SOLAR[:1])
    say(chat, "u1")
    first = steers.prepare(steers.begin(chat.pk).pk)
    add_propositions(learner, SOLAR[1:])
    again = steers.prepare(first.pk)
    assert (again.text, again.ready_at) == (first.text, first.ready_at)
    assert jobs.prepare_steer(str(first.pk)) == "ready"


def test_a_worker_that_comes_second_does_not_overwrite(chat: Chat, learner: Learner, monkeypatch) -> None:
    add_propositions(learner, SOLAR)
    say(chat, "u1")
    steer = steers.begin(chat.pk)
    original = steers.select

    def overtaken(*args) -> object:
        Steer.objects.filter(pk=steer.pk).update(status=Steer.Status.READY, text="prepared meanwhile")
        return original(*args)

    monkeypatch.setattr(steers, "select", overtaken)
    assert steers.prepare(steer.pk).text == "prepared meanwhile"


def test_an_empty_graph_is_recorded_as_such(chat: Chat) -> None:
    say(chat, "u1")
    steer = steers.prepare(steers.begin(chat.pk).pk)
    assert (steer.status, steer.count, steer.text) == (Steer.Status.EMPTY, 0, "")
    assert "holds nothing" in steer.reason


def test_an_error_is_final_and_says_why(chat: Chat, monkeypatch) -> None:
    def fail(*_args) -> None:
        raise EmbeddingError("the weights are gone")

    say(chat, "u1")
    steer = steers.begin(chat.pk)
    monkeypatch.setattr(steers, "select", fail)
    assert steers.prepare(steer.pk).status == Steer.Status.FAILED
    monkeypatch.undo()
    steer = steers.prepare(steer.pk)
    assert (steer.status, steer.reason) == (Steer.Status.FAILED, "the weights are gone")
    assert steers.begin(chat.pk).status == Steer.Status.FAILED


def test_an_unforeseen_error_is_final_too_and_not_swallowed(chat: Chat, monkeypatch) -> None:
    def fail(*_args) -> None:
        raise TypeError("a mistake")

    say(chat, "u1")
    steer = steers.begin(chat.pk)
    monkeypatch.setattr(steers, "select", fail)
    with pytest.raises(TypeError):
        steers.prepare(steer.pk)
    steer.refresh_from_db()
    assert (steer.status, steer.reason) == (Steer.Status.FAILED, "TypeError: a mistake")


def test_a_job_whose_steer_is_gone_ends(db: None) -> None:
    assert jobs.prepare_steer(str(uuid.uuid4())) == "gone"


def test_what_never_started_is_enqueued_again(chat: Chat, rq_connection) -> None:
    say(chat, "u1")
    steer = steers.begin(chat.pk)
    assert steers.enqueue_waiting() == 1
    assert steers.enqueue_waiting() == 0  # it is on the queue
    steers.prepare(steer.pk)
    rq_connection.flushdb()
    assert steers.enqueue_waiting() == 0


@pytest.mark.django_db(transaction=True)
def test_parallel_deliveries_of_the_first_message_make_one_steer(monkeypatch) -> None:
    learner = Learner.objects.create(name="Aiko")
    chat = Chat.objects.create(learner=learner)
    add_propositions(learner, SOLAR, vectors=False)
    monkeypatch.setattr("coverage.queueing.enqueue_now", lambda *_args, **_kwargs: True)
    say(chat, "u1")
    barrier, results = threading.Barrier(4), []

    def work() -> None:
        try:
            barrier.wait()
            results.append(steers.begin(chat.pk).pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [steers.steer_id(chat.pk)] * 4
    assert Steer.objects.count() == 1


def test_a_backlog_of_vectors_does_not_fail_the_steer(chat: Chat, learner: Learner) -> None:
    add_propositions(learner, SOLAR[:2])
    add_propositions(learner, SOLAR[2:], vectors=False)
    say(chat, "u1")
    assert steers.prepare(steers.begin(chat.pk).pk).count == 2
    assert backfill(Steer.objects.get().space).added == 3
