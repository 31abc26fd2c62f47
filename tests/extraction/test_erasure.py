"""Deleting and forgetting: what was learned follows what was said."""

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from coverage import invariants as coverage_invariants
from coverage.models import Chat, CoverageEntry, Learner, Message
from coverage.services import lock_chat, put_messages
from extraction import erasure, invariants, jobs
from extraction.erasure import Fate, delete_message, erase_chat
from extraction.exploring.staging import BatchStaging
from extraction.models import Batch, Candidate, ReferenceEnvironment, Resolution, Run
from extraction.services import request_run
from graphctx.embedding import active_space
from graphctx.forgetting import ERASED_TEXT, NothingToRestore, forget, restore
from graphctx.models import Instance, Proposition, PropositionVector, Steer
from graphctx.selection import select
from tests import factories
from tests.extraction.running.test_runs import execute
from tests.extraction.test_locking import Outcome
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

COPPER, TIN, ZINC = "Copper melts at 1085 degrees.", "Tin melts at 232 degrees.", "Zinc melts at 420 degrees."


def read_chat(*claims: str, learner: str = "Ada") -> Chat:
    """A chat in which each message is one claim, read by the worker that stages just that."""
    chat = factories.chat(*[message(f"m{n}", claim) for n, claim in enumerate(claims)], learner=learner)
    assert execute(chat).status == Run.Status.SUCCEEDED
    return chat


def proposition(claim: str, learner: str = "Ada") -> Proposition:
    return Proposition.objects.get(text=claim, learner__name=learner)


def retrieved(topic: str = "melting", learner: str = "Ada") -> set[str]:
    return {line.text for line in select(Learner.objects.get(name=learner), topic, 1024).items}


def revision(learner: str = "Ada") -> int:
    return Learner.objects.get(name=learner).graph_revision


@pytest.fixture(autouse=True)
def _sound() -> Any:
    yield
    assert [*coverage_invariants.check(), *invariants.check()] == []


# --- a message -------------------------------------------------------------------------------------------------------


def test_a_deleted_message_takes_its_evidence_out_of_retrieval() -> None:
    chat = read_chat(COPPER, TIN)
    before = revision()
    assert delete_message(chat.pk, "m0") == Fate(kept=0, out_of_retrieval=1)
    assert proposition(COPPER).instances.get().live is False
    assert retrieved() == {TIN}
    assert revision() > before


def test_evidence_in_another_chat_keeps_a_proposition() -> None:
    chat = read_chat(COPPER, TIN)
    read_chat(COPPER)
    assert delete_message(chat.pk, "m0") == Fate(kept=1, out_of_retrieval=0)
    assert retrieved() == {COPPER, TIN}


def test_a_message_that_returns_is_read_again_and_nothing_is_doubled() -> None:
    chat = read_chat(COPPER)
    delete_message(chat.pk, "m0")
    put_messages(chat.pk, [message("m0", COPPER)])
    assert retrieved() == {COPPER}
    assert execute(chat).batches.count() == 1
    assert proposition(COPPER).instances.count() == 1


def test_a_message_that_nothing_was_learned_from() -> None:
    chat = factories.chat(message("a", "Hello"))
    assert delete_message(chat.pk, "a") == Fate()
    with pytest.raises(Message.DoesNotExist):
        delete_message(chat.pk, "a")


# --- a chat ----------------------------------------------------------------------------------------------------------


def test_an_erased_chat_takes_everything_with_it() -> None:
    chat = read_chat(COPPER, TIN)
    other = read_chat(ZINC, learner="Bo")
    Steer.objects.create(pk=uuid4(), chat=chat, budget=0)
    active_space()
    assert PropositionVector.objects.count() == 3
    assert erase_chat(chat.pk) == (2, Fate(removed=2))
    for model in (Chat, Message, CoverageEntry, Run, Batch, ReferenceEnvironment, Candidate, Resolution, Instance):
        rows = model.objects.all()
        assert len(rows) == 1, model
    assert Chat.objects.get() == other
    assert Proposition.objects.get().text == ZINC
    assert PropositionVector.objects.count() == 1
    assert not Steer.objects.exists()
    assert retrieved() == set()
    assert retrieved(learner="Bo") == {ZINC}


def test_what_is_known_from_elsewhere_stays() -> None:
    chat = read_chat(COPPER, TIN, ZINC)
    elsewhere = read_chat(COPPER, TIN)
    delete_message(elsewhere.pk, "m1")
    assert erase_chat(chat.pk) == (3, Fate(kept=1, out_of_retrieval=1, removed=1))
    assert retrieved() == {COPPER}
    assert set(Proposition.objects.values_list("text", flat=True)) == {COPPER, TIN}


def test_a_chat_that_nothing_was_learned_from_changes_no_graph() -> None:
    chat = factories.chat(message("a", "Hello"))
    before = revision()
    assert erase_chat(chat.pk) == (1, Fate())
    assert revision() == before
    with pytest.raises(Chat.DoesNotExist):
        erase_chat(chat.pk)


def test_erasing_a_chat_that_returns_learns_it_anew() -> None:
    erase_chat(read_chat(COPPER).pk)
    read_chat(COPPER)
    assert retrieved() == {COPPER}


def test_a_candidate_of_another_chat_keeps_a_resolution() -> None:
    """Chat B's candidate was discarded into a claim that then loses its only evidence, in chat A."""
    a = read_chat(COPPER)
    forget(proposition(COPPER).pk)
    read_chat(COPPER)
    restore(proposition(COPPER).pk)
    assert erase_chat(a.pk) == (1, Fate(removed=1))
    resolution = Resolution.objects.get()
    assert (resolution.outcome, resolution.proposition, resolution.actor) == ("discard", None, erasure.ACTOR)


def test_outside_an_erasure_the_rows_stay_guarded() -> None:
    chat = read_chat(COPPER, TIN)
    erase_chat(factories.chat(message("a", "Hello")).pk)
    with pytest.raises(Exception, match="append-only"), transaction.atomic():
        chat.delete()


# --- forget this -----------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_not_retrieved_nor_learned_again_and_can_be_taken_back() -> None:
    read_chat(COPPER, TIN)
    before = revision()
    assert forget(proposition(COPPER).pk).state == "forgotten"
    assert revision() == before + 1
    assert retrieved() == {TIN}
    forget(proposition(COPPER).pk)
    assert revision() == before + 1
    chat = read_chat(COPPER)
    assert proposition(COPPER).state == "forgotten"
    assert not Instance.objects.filter(chat=chat).exists()
    assert restore(proposition(COPPER).pk).state == "live"
    assert retrieved() == {COPPER, TIN}
    assert revision() > before + 1


def test_restoring_touches_only_what_was_forgotten() -> None:
    read_chat(COPPER)
    Proposition.objects.update(state="superseded")
    before = revision()
    assert restore(proposition(COPPER).pk).state == "superseded"
    assert revision() == before
    for change in (forget, restore):
        with pytest.raises(Proposition.DoesNotExist):
            change(uuid4())


def test_a_tombstone_outlives_its_chat_without_its_text() -> None:
    chat = read_chat(COPPER)
    forgotten = forget(proposition(COPPER).pk)
    assert erase_chat(chat.pk) == (1, Fate(forgotten=1))
    forgotten.refresh_from_db()
    assert (forgotten.text, forgotten.state) == (ERASED_TEXT, "forgotten")
    assert not PropositionVector.objects.exists()
    read_chat(COPPER)
    assert retrieved() == set()
    assert Resolution.objects.get().outcome == "discard"
    with pytest.raises(NothingToRestore):
        restore(forgotten.pk)


# --- while a run reads it ---------------------------------------------------------------------------------------------


def test_erasing_during_a_run_ends_the_run() -> None:
    chat = factories.chat(message("a", COPPER), message("b", TIN))
    run = request_run(chat.pk, "rest", "sentences", enqueue=False)
    erased = threading.Event()
    add = BatchStaging.add

    def erase_then_add(self: BatchStaging, record: Any) -> Any:
        if not erased.is_set():
            erased.set()
            Outcome(lambda: erase_chat(chat.pk)).outcome()
        return add(self, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchStaging, "add", erase_then_add)
        assert jobs.run_chat(str(run.pk)) == "erased"
    assert not Chat.objects.filter(pk=chat.pk).exists()
    assert not Proposition.objects.exists()
    assert jobs.run_chat(str(run.pk)) == "erased"


def test_erasing_waits_for_a_checkpoint_and_a_put_for_the_erasure() -> None:
    chat = read_chat(COPPER)
    locked, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            lock_chat(chat.pk)
            locked.set()
            assert go_on.wait(20)

    holder = Outcome(hold)
    assert locked.wait(20)
    erasing = Outcome(lambda: erase_chat(chat.pk))
    erasing.join(0.3)
    putting = Outcome(lambda: put_messages(chat.pk, [message("late", TIN)]))
    putting.join(0.3)
    assert erasing.is_alive()
    assert putting.is_alive()
    go_on.set()
    holder.outcome()
    assert erasing.outcome() == (1, Fate(removed=1))
    with pytest.raises(Chat.DoesNotExist):
        putting.outcome()
    connection.close()
