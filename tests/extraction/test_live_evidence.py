"""Evidence stays live as long as what was read stands in the transcript, under whatever message id."""

import random

import pytest

from coverage.models import Chat, Message
from coverage.services import delete_message, put_messages
from coverage.view import part_text, transcript_view
from extraction import services
from extraction.merging import merge
from extraction.running import runs
from extraction.selectors import chat_coverage
from graphctx import invariants
from graphctx.models import Instance, Proposition
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db

OSLO = "I live in Oslo with my two cats."
VIOLA = "I play the viola in a small orchestra."


def read(chat: Chat) -> None:
    runs.execute(services.request_run(chat.pk, "rest", enqueue=False).pk)


def retrievable() -> set[str]:
    return set(Proposition.objects.retrievable().values_list("text", flat=True))


def test_a_transcript_under_new_message_ids_is_covered_and_still_known() -> None:
    chat = factories.chat(message("a1", OSLO), message("a2", VIOLA))
    read(chat)
    known = retrievable()
    assert len(known) == 2

    put_messages(chat.pk, [message("b1", OSLO), message("b2", VIOLA)], whole_transcript=True)

    assert [row["state"] for row in chat_coverage(chat.pk)["messages"]] == ["covered", "covered"]
    assert retrievable() == known


def test_what_a_new_id_carries_goes_when_that_message_changes() -> None:
    chat = factories.chat(message("a", OSLO))
    read(chat)
    put_messages(chat.pk, [message("b", OSLO)], whole_transcript=True)
    revision = Chat.objects.get().learner.graph_revision

    put_messages(chat.pk, [message("b", VIOLA)])

    assert retrievable() == set()
    assert Chat.objects.get().learner.graph_revision > revision
    put_messages(chat.pk, [message("b", OSLO)])
    assert len(retrievable()) == 1
    delete_message(chat.pk, "b")
    assert retrievable() == set()


def test_a_second_message_of_the_same_words_carries_the_evidence_of_the_first() -> None:
    chat = factories.chat(message("a", OSLO))
    read(chat)
    put_messages(chat.pk, [message("b", OSLO)])

    put_messages(chat.pk, [message("a", "Something else now.")])

    states = {row["id"]: row["state"] for row in chat_coverage(chat.pk)["messages"]}
    assert states["b"] == "covered"
    assert len(retrievable()) == 1


def test_what_moves_to_a_new_id_while_it_is_read_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = factories.chat(message("a", OSLO))
    prepare = merge.prepare_vectors

    def meanwhile(*arguments: object) -> object:
        put_messages(chat.pk, [message("b", OSLO)], whole_transcript=True)
        return prepare(*arguments)

    monkeypatch.setattr(merge, "prepare_vectors", meanwhile)
    read(chat)
    assert [row["state"] for row in chat_coverage(chat.pk)["messages"]] == ["covered"]
    assert len(retrievable()) == 1


@pytest.mark.parametrize("live", [True, False])
def test_a_wrong_mark_is_a_violation(live: bool) -> None:
    chat = factories.chat(message("a", OSLO))
    read(chat)
    if live:
        put_messages(chat.pk, [message("a", VIOLA)])
    assert list(invariants.check()) == []
    Instance.objects.update(live=live)
    assert [line.partition("evidence")[0] for line in invariants.check()] == [f"chat {chat.pk}, message a: "]


def stands(instance: Instance) -> bool:
    """What live must be, computed naively over the whole transcript."""
    for stored in Message.objects.filter(chat=instance.chat_id, position__isnull=False):
        if instance.message_id == stored.message_id or instance.fingerprint == stored.fingerprint:
            parts = transcript_view(stored.role, stored.parts)["parts"]
            if any(instance.quote in part_text(part) for part in parts):
                return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_live_is_what_a_look_at_the_whole_transcript_says(seed: int) -> None:
    chance = random.Random(seed)
    words = [OSLO, VIOLA, f"{OSLO} {VIOLA}", "I own a small bakery in Hamburg."]
    chat = factories.chat(*[message(f"m{n}", chance.choice(words)) for n in range(4)])
    read(chat)
    for step in range(25):
        ids = list(Message.objects.filter(chat=chat).values_list("message_id", flat=True))
        match chance.randrange(4):
            case 0:
                put_messages(chat.pk, [message(f"n{step}", chance.choice(words))])
            case 1 if ids:
                put_messages(chat.pk, [message(chance.choice(ids), chance.choice(words))])
            case 2 if ids:
                delete_message(chat.pk, chance.choice(ids))
            case _:
                kept = [message(key, chance.choice(words)) for key in ids if chance.random() < 0.7]
                put_messages(chat.pk, kept, whole_transcript=True)
        for instance in Instance.objects.filter(chat=chat):
            assert instance.live == stands(instance), f"step {step}: {instance}"
        if chance.random() < 0.2:
            read(chat)
