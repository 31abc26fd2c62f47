"""Reading again by releases, purging what was learned, and splitting what is parked."""

import threading
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from coverage import invariants as coverage_invariants
from coverage.guards import allow_erase
from coverage.models import Chat, CoverageEntry, Learner
from coverage.services import lock_chat, put_messages
from extraction import invariants
from extraction.erasure import Fate
from extraction.models import Batch, BatchMessage, Candidate, Run
from extraction.repair import (
    BeingRead,
    Reread,
    Scope,
    preview_purge,
    preview_reread,
    purge_chat,
    request_reread,
)
from extraction.running import leases
from extraction.services import request_run, split_parked
from graphctx.forgetting import forget
from graphctx.models import Instance, Proposition, PropositionVector
from graphctx.selection import select
from tests import factories
from tests.extraction.running.test_runs import execute, long_message, states
from tests.extraction.test_locking import Outcome
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

COPPER, TIN, ZINC = "Copper melts at 1085 degrees.", "Tin melts at 232 degrees.", "Zinc melts at 420 degrees."


def read_chat(*claims: str) -> Chat:
    """A chat in which each message is one claim, m0 and on, read to the end."""
    chat = factories.chat(*[message(f"m{n}", claim) for n, claim in enumerate(claims)])
    assert execute(chat).status == Run.Status.SUCCEEDED
    return chat


def lines(chat: Chat, kind: str = "release") -> int:
    return CoverageEntry.objects.filter(chat=chat, kind=kind).count()


def retrieved() -> set[str]:
    return {line.text for line in select(Learner.objects.get(), "melting", 1024).items}


@pytest.fixture(autouse=True)
def _sound() -> Any:
    yield
    assert [*coverage_invariants.check(), *invariants.check()] == []


# --- reading again ---------------------------------------------------------------------------------------------------


def test_a_message_is_read_again_and_nothing_is_doubled() -> None:
    chat = read_chat(COPPER, TIN, ZINC)
    effect = request_reread(chat.pk, Scope(message_id="m1"))
    assert effect == Reread(messages=1, tokens=7, releases=1)
    assert states(chat) == {"m0": "covered", "m1": "reopened", "m2": "covered"}
    run = execute(chat)
    assert [m.message_id for m in BatchMessage.objects.filter(batch__run=run)] == ["m1"]
    assert states(chat) == {"m0": "covered", "m1": "covered", "m2": "covered"}
    assert (Proposition.objects.count(), Instance.objects.count()) == (3, 3)
    assert (lines(chat), lines(chat, "cover")) == (1, 4)


def test_a_range_and_the_whole_chat() -> None:
    chat = read_chat(COPPER, TIN, ZINC)
    assert preview_reread(chat.pk, Scope(2, 3)) == Reread(messages=2, tokens=14, releases=2)
    assert lines(chat) == 0
    request_reread(chat.pk, Scope(first=2))
    assert states(chat) == {"m0": "covered", "m1": "reopened", "m2": "reopened"}
    assert request_reread(chat.pk, Scope()) == Reread(messages=1, tokens=8, releases=1, waiting=2)
    assert set(states(chat).values()) == {"reopened"}


def test_asking_twice_releases_once() -> None:
    chat = read_chat(COPPER, TIN)
    request_reread(chat.pk, Scope(1, 1))
    assert request_reread(chat.pk, Scope(1, 1)) == Reread(waiting=1)
    assert request_reread(chat.pk, Scope()).releases == 1
    assert request_reread(chat.pk, Scope()) == Reread(waiting=2)
    assert lines(chat) == 2


def test_what_was_never_read_has_nothing_to_release() -> None:
    chat = factories.chat(message("a", COPPER), message("b", ""))
    assert request_reread(chat.pk, Scope()) == Reread(waiting=1)
    assert states(chat) == {"a": "uncovered", "b": "empty"}


def test_copies_of_a_message_count() -> None:
    """The ledger covers the first n of equal messages: what is named opens, so those after it do too."""
    chat = read_chat(COPPER, TIN, COPPER, COPPER)
    effect = request_reread(chat.pk, Scope(3, 3))
    assert effect == Reread(messages=2, tokens=16, copies=1, releases=2)
    assert list(states(chat).values()) == ["covered", "covered", "reopened", "reopened"]
    assert request_reread(chat.pk, Scope(1, 2)) == Reread(messages=2, tokens=15, releases=2)
    execute(chat)
    assert set(states(chat).values()) == {"covered"}


def test_a_branch_that_is_not_active_goes_with_the_whole_chat_only() -> None:
    chat = read_chat(COPPER, TIN, COPPER)
    put_messages(chat.pk, [message("m0", COPPER), message("new", ZINC)], whole_transcript=True)
    execute(chat)
    # The copy on the other branch holds a cover line too: the one in the transcript opens only when both are released.
    assert request_reread(chat.pk, Scope(1, 1)).releases == 2
    assert states(chat) == {"m0": "reopened", "new": "covered"}
    assert request_reread(chat.pk, Scope()).releases == 2
    put_messages(chat.pk, [message("m0", COPPER), message("m1", TIN)], whole_transcript=True)
    assert states(chat) == {"m0": "reopened", "m1": "reopened"}


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (Scope(0, 1), "has messages 1 to 2"),
        (Scope(2, 1), "not a range"),
        (Scope(1, 3), "has messages 1 to 2"),
        (Scope(message_id="x"), "not in this chat"),
        (Scope(message_id="m2"), "another branch"),
    ],
)
def test_what_names_nothing_is_refused(scope: Scope, said: str) -> None:
    chat = read_chat(COPPER, TIN, ZINC)
    put_messages(chat.pk, [message("m0", COPPER), message("m1", TIN)], whole_transcript=True)
    with pytest.raises(ValueError, match=said):
        request_reread(chat.pk, scope)
    assert lines(chat) == 0


def test_two_requests_at_once_release_once() -> None:
    chat = read_chat(COPPER)
    with transaction.atomic():
        lock_chat(chat.pk)
        outcomes = [Outcome(lambda: request_reread(chat.pk, Scope())) for _ in range(2)]
        threading.Event().wait(0.2)
        assert all(outcome.is_alive() for outcome in outcomes)
    assert sorted(outcome.outcome().releases for outcome in outcomes) == [0, 1]
    assert lines(chat) == 1


def test_without_a_release_a_second_reading_is_a_violation() -> None:
    """Negative control of the invariant: the same two cover lines, once without and once with a release."""
    chat = read_chat(COPPER)
    first = Batch.objects.get()
    request_reread(chat.pk, Scope())
    execute(chat)
    assert list(invariants.check()) == []
    with transaction.atomic():
        allow_erase()
        CoverageEntry.objects.filter(kind="release").delete()
        assert [line for line in invariants.check() if "was read 2 times" in line]
        transaction.set_rollback(True)
    assert Batch.objects.exclude(pk=first.pk).count() == 1


def test_the_ledger_still_refuses_a_delete() -> None:
    chat = read_chat(COPPER)
    request_reread(chat.pk, Scope())
    with pytest.raises(IntegrityError, match="append-only"):
        CoverageEntry.objects.filter(chat=chat).delete()


# --- purging ---------------------------------------------------------------------------------------------------------


def test_a_purge_that_keeps_coverage_is_read_no_more() -> None:
    chat = read_chat(COPPER, TIN)
    revision = Learner.objects.get().graph_revision
    effect = purge_chat(chat.pk, "keep")
    assert (effect.instances, effect.fate, effect.reread) == (2, Fate(removed=2), Reread())
    assert not Proposition.objects.exists()
    assert not PropositionVector.objects.exists()
    assert retrieved() == set()
    assert Learner.objects.get().graph_revision > revision
    assert set(states(chat).values()) == {"covered"}
    assert lines(chat) == 0
    assert {c.resolutions.latest("created_at").outcome for c in Candidate.objects.all()} == {"discard"}


def test_a_purge_that_resets_coverage_is_learned_again() -> None:
    chat = read_chat(COPPER, TIN)
    effect = purge_chat(chat.pk, "reset")
    assert effect.reread == Reread(messages=2, tokens=15, releases=2)
    assert set(states(chat).values()) == {"reopened"}
    assert execute(chat).batches.get().staged_count == 2
    assert retrieved() == {COPPER, TIN}
    assert set(states(chat).values()) == {"covered"}


def test_the_preview_says_what_the_purge_does() -> None:
    chat = read_chat(COPPER, TIN, ZINC)
    other = read_chat(COPPER)
    forget(Proposition.objects.get(text=ZINC).pk)
    expected = preview_purge(chat.pk)
    assert expected.fate == Fate(kept=1, removed=1, forgotten=1)
    assert Instance.objects.filter(chat=chat).count() == expected.instances == 3
    assert purge_chat(chat.pk, "reset") == expected
    assert list(Instance.objects.values_list("chat", flat=True)) == [other.pk]
    assert purge_chat(chat.pk, "reset").fate == Fate()


def test_what_was_forgotten_is_not_learned_again() -> None:
    chat = read_chat(COPPER)
    forget(Proposition.objects.get().pk)
    purge_chat(chat.pk, "reset")
    execute(chat)
    assert Proposition.objects.get().state == Proposition.State.FORGOTTEN
    assert not Instance.objects.exists()


def test_an_unknown_choice_and_a_running_run_are_refused() -> None:
    chat = read_chat(COPPER)
    with pytest.raises(ValueError, match="keep, reset"):
        purge_chat(chat.pk, "")
    run = request_run(chat.pk, "rest", "sentences", enqueue=False)
    assert leases.claim(run.pk) is not None
    with pytest.raises(BeingRead):
        purge_chat(chat.pk, "keep")
    assert Instance.objects.count() == 1
    Run.objects.filter(pk=run.pk).update(status="aborted", finished_at=timezone.now())
    with pytest.raises(Chat.DoesNotExist):
        purge_chat(run.pk, "keep")


# --- splitting -------------------------------------------------------------------------------------------------------


def park(chat: Chat, settings: Any) -> Batch:
    settings.EXTRACTION_MAX_FAILURES = 1
    settings.EXTRACTION_WORKER = "fails-on-poison"
    execute(chat, worker="fails-on-poison")
    return Batch.objects.get(chat=chat, status="parked")


def test_a_parked_batch_is_split_until_only_the_poison_is_parked(rq_connection: object, settings: Any) -> None:
    poison = message("m2", "The poison is here.")
    chat = factories.chat(long_message(0), long_message(1), poison)
    batch = park(chat, settings)
    assert list(states(chat).values()) == ["parked"] * 3
    assert split_parked([batch.pk]) == 1
    batch.refresh_from_db()
    assert batch.status == Batch.Status.ABORTED
    assert "the model choked" in batch.error
    execute(chat)
    rest = Batch.objects.get(status="parked")
    assert rest.messages.count() < 3
    if rest.messages.count() > 1:
        assert split_parked([rest.pk]) == 1
        execute(chat)
    assert states(chat) == {"m0": "covered", "m1": "covered", "m2": "parked"}
    assert split_parked([Batch.objects.get(status="parked").pk]) == 0


def test_only_a_parked_batch_is_split(rq_connection: object) -> None:
    chat = read_chat(COPPER, TIN)
    assert split_parked(Batch.objects.values_list("pk", flat=True)) == 0
    assert Run.objects.filter(chat=chat).count() == 1
