"""The merge with its auditor: what a graph becomes as chats are read, in whatever order and by however many workers."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from coverage.models import Chat, Learner
from coverage.services import put_messages
from extraction.auditing import audit as auditing
from extraction.erasure import erase_chat
from extraction.invariants import check
from extraction.merging import merge
from extraction.models import Candidate, Resolution, Run
from extraction.running import runs
from extraction.services import request_run
from graphctx import invariants as graph
from graphctx.forgetting import forget
from graphctx.models import Instance, Link, Proposition
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)
T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACME, BOREALIS = "I work at Acme.", "I joined Borealis."


def chat_of(*said: str, days: int = 0) -> Chat:
    when = {"said_at": T0 + timedelta(days=days)}
    return factories.chat(*(message(f"m{i}", text, **when) for i, text in enumerate(said)))


def read(chat: Chat) -> Run:
    run = runs.execute(request_run(chat.pk, Run.Mode.REST, "sentences", enqueue=False).pk)
    assert run.status == Run.Status.SUCCEEDED, run.error
    return run


def states() -> dict[str, str]:
    return dict(Proposition.objects.values_list("text", "state"))


def outcomes() -> list[str]:
    return list(Resolution.objects.order_by("created_at", "id").values_list("outcome", flat=True))


def superseded_by() -> set[tuple[str, str]]:
    standing = Link.objects.filter(type="supersedes", withdrawn_at=None)
    return set(standing.values_list("source__text", "target__text"))


@pytest.fixture(autouse=True)
def _always_healthy() -> Iterator[None]:
    yield
    assert [*check(), *graph.check()] == []


def test_a_claim_restated_in_other_words_is_one_proposition_with_all_its_evidence() -> None:
    told = (
        "We use PostgreSQL for the ledger.",
        "For the ledger we use PostgreSQL.",
        "For the ledger, we use Postgres.",
    )
    for days, text in enumerate(told):
        read(chat_of(text, days=days))
    assert Proposition.objects.get().instances.count() == 3
    assert outcomes() == ["new", "same", "same"]


def test_two_messages_of_one_batch_with_the_same_fact_are_one_proposition_with_two_instances() -> None:
    read(chat_of("Metals expand with heat.", "Metal expands with heat."))
    assert Proposition.objects.get().instances.count() == 2


@pytest.mark.parametrize(
    "pair",
    [
        ("The exam is on the 15th.", "The course is on the 16th."),
        ("Water boils at 100 °C.", "Water boils at 90 °C."),
        ("Deployment is allowed.", "Deployment is not allowed."),
    ],
)
def test_what_differs_stays_two(pair: tuple[str, str]) -> None:
    for text in pair:
        read(chat_of(text))
    assert Proposition.objects.retrievable().count() == 2


def test_a_denial_is_linked_as_a_contradiction_and_both_stay() -> None:
    read(chat_of("Deployment is allowed."))
    read(chat_of("Deployment is not allowed.", days=1))
    link = Link.objects.get(type="contradicts")
    assert (link.source.text, link.target.text) == ("Deployment is not allowed.", "Deployment is allowed.")
    assert "negation" in link.reason


def test_a_later_value_supersedes_and_the_earlier_one_stays_out_of_retrieval() -> None:
    read(chat_of(ACME))
    read(chat_of(BOREALIS, days=1))
    assert states() == {ACME: "superseded", BOREALIS: "live"}
    assert superseded_by() == {(BOREALIS, ACME)}
    resolution = Resolution.objects.get(outcome="supersedes")
    assert resolution.target.text == ACME
    assert "employer: borealis after acme" in resolution.reason
    assert [p.text for p in Proposition.objects.retrievable()] == [BOREALIS]


def test_chats_read_in_the_wrong_order_end_as_those_read_in_the_right_one() -> None:
    read(chat_of(BOREALIS, days=1))
    read(chat_of(ACME))
    assert states() == {ACME: "superseded", BOREALIS: "live"}
    assert superseded_by() == {(BOREALIS, ACME)}
    assert outcomes() == ["new", "new"]


def test_a_correction_in_the_same_batch_supersedes() -> None:
    read(chat_of("The deadline is October 15th.", "The deadline is October 16th."))
    assert states() == {"The deadline is October 15th.": "superseded", "The deadline is October 16th.": "live"}


def test_five_years_and_later_six_years() -> None:
    for days, years in enumerate((5, 5, 6)):
        read(chat_of(f"I have worked at Acme for {years} years.", days=days))
    assert sorted(states().values()) == ["live", "superseded"]
    assert outcomes() == ["new", "same", "supersedes"]


def test_what_was_superseded_and_is_said_again_takes_its_place_back() -> None:
    for days, town in enumerate(("Oslo", "Bergen", "Oslo")):
        read(chat_of(f"I live in {town}.", days=days))
    assert states() == {"I live in Oslo.": "live", "I live in Bergen.": "superseded"}
    assert superseded_by() == {("I live in Oslo.", "I live in Bergen.")}


def test_an_old_chat_that_repeats_what_was_superseded_changes_nothing_but_the_evidence() -> None:
    read(chat_of("I live in Oslo.", days=2))
    read(chat_of("I live in Bergen.", days=5))
    read(chat_of("I live in Oslo.", days=1))
    assert states() == {"I live in Oslo.": "superseded", "I live in Bergen.": "live"}
    assert Proposition.objects.get(text="I live in Oslo.").instances.count() == 2


def test_a_superseded_claim_returns_when_what_superseded_it_is_edited_away_and_leaves_when_it_is_back() -> None:
    read(chat_of("I live in Oslo."))
    read(chat_of("I live in Bergen.", days=1))
    last = chat_of("I live in Molde.", days=2)
    read(last)
    assert states() == {"I live in Oslo.": "superseded", "I live in Bergen.": "superseded", "I live in Molde.": "live"}
    put_messages(last.pk, [message("m0", "Never mind.", said_at=T0)])
    assert [p.text for p in Proposition.objects.retrievable()] == ["I live in Bergen."]
    put_messages(last.pk, [message("m0", "I live in Molde.", said_at=T0 + timedelta(days=2))])
    assert [p.text for p in Proposition.objects.retrievable()] == ["I live in Molde."]


def test_a_superseded_claim_returns_when_the_chat_that_superseded_it_is_erased() -> None:
    read(chat_of(ACME))
    later = chat_of(BOREALIS, days=1)
    read(later)
    erase_chat(later.pk)
    assert states() == {ACME: "live"}


def test_an_edited_message_that_is_read_again_supersedes_what_others_said_before() -> None:
    read(chat_of(ACME))
    chat = chat_of("Hello there.", days=1)
    read(chat)
    put_messages(chat.pk, [message("m0", BOREALIS, said_at=T0 + timedelta(days=2))])
    read(chat)
    assert states()[ACME] == "superseded"


def test_what_was_forgotten_is_not_learned_in_other_words() -> None:
    read(chat_of("Metals expand with heat."))
    forget(Proposition.objects.get().pk)
    read(chat_of("Metal expands with heat.", days=1))
    assert Proposition.objects.count() == 1
    assert outcomes() == ["new", "discard"]


def test_a_superseding_claim_that_is_forgotten_does_not_bring_the_old_one_back() -> None:
    read(chat_of(ACME))
    read(chat_of(BOREALIS, days=1))
    forget(Proposition.objects.get(text=BOREALIS).pk)
    assert not Proposition.objects.retrievable().exists()


def test_consecutive_propositions_of_a_chat_follow_each_other_and_reading_again_adds_nothing() -> None:
    chat = chat_of("Tin melts early.", "Zinc melts later.", "Iron melts last.")
    read(chat)

    def followed() -> set[tuple[str, str]]:
        return set(Link.objects.filter(type="follows").values_list("source__text", "target__text"))

    expected = {("Zinc melts later.", "Tin melts early."), ("Iron melts last.", "Zinc melts later.")}
    assert followed() == expected
    put_messages(chat.pk, [message("m1", "Zinc melts later.\nMuch later.", said_at=T0)])
    read(chat)
    assert followed() == expected
    assert Link.objects.count() == 2
    put_messages(chat.pk, [message("m3", "Lead is soft.", said_at=T0)])
    read(chat)
    assert ("Lead is soft.", "Iron melts last.") in followed()


def test_a_graph_that_is_too_large_to_be_shown_whole_is_searched_by_nearness(settings: Any) -> None:
    settings.OSII_AUDIT_GRAPH_TOKENS, settings.OSII_AUDIT_NEAREST = 0, 3
    read(chat_of(*(f"Metal number {i} melts at {i + 300} degrees." for i in range(12)), "Metals expand with heat."))
    read(chat_of("Metal expands with heat.", days=1))
    same = Resolution.objects.get(outcome="same")
    assert same.proposition.text == "Metals expand with heat."
    assert "similarity" in same.reason


def test_superseded_and_forgotten_propositions_are_nominated_in_a_large_graph_too(settings: Any) -> None:
    settings.OSII_AUDIT_GRAPH_TOKENS, settings.OSII_AUDIT_NEAREST = 0, 2
    read(chat_of("Metals expand with heat.", *(f"Fact number {i} about tin." for i in range(6))))
    forget(Proposition.objects.get(text="Metals expand with heat.").pk)
    read(chat_of("Metal expands with heat.", days=1))
    assert "discard" in outcomes()


def at_once(monkeypatch: pytest.MonkeyPatch, *chats: Chat) -> None:
    """Merge these chats in threads that all have decided before the first one writes."""
    barrier, errors, prepare = threading.Barrier(len(chats)), [], merge.prepare

    def meet(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        barrier.wait(timeout=20)
        return prepared

    monkeypatch.setattr(merge, "prepare", meet)

    def work(chat: Chat) -> None:
        try:
            read(chat)
        except Exception as error:  # noqa: BLE001  told to the test
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(chat,)) for chat in chats]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.setattr(merge, "prepare", prepare)
    assert errors == []


def test_two_workers_with_the_same_fact_in_other_words_make_one_proposition(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch, chat_of("Metals expand with heat."), chat_of("Metal expands with heat."))
    assert Proposition.objects.get().instances.count() == 2
    assert sorted(outcomes()) == ["new", "same"]


def test_without_a_second_look_under_the_lock_they_would_make_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "appeared", lambda *_given: {})
    at_once(monkeypatch, chat_of("Metals expand with heat."), chat_of("Metal expands with heat."))
    assert Proposition.objects.count() == 2


def test_a_target_that_is_forgotten_while_the_auditor_thinks_is_not_merged_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read(chat_of("Metals expand with heat."))
    prepare = merge.prepare

    def forget_meanwhile(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        forget(Proposition.objects.get().pk)
        return prepared

    monkeypatch.setattr(merge, "prepare", forget_meanwhile)
    read(chat_of("Metal expands with heat.", days=1))
    assert outcomes() == ["new", "discard"]
    assert Instance.objects.count() == 1


def test_a_target_that_is_erased_while_the_auditor_thinks_makes_the_claim_new(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = chat_of("Metals expand with heat.")
    read(gone)
    prepare = merge.prepare

    def erase_meanwhile(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        erase_chat(gone.pk)
        return prepared

    monkeypatch.setattr(merge, "prepare", erase_meanwhile)
    read(chat_of("Metal expands with heat.", days=1))
    assert states() == {"Metal expands with heat.": "live"}
    assert Candidate.objects.with_standing().get().standing == "new"


def test_learners_never_meet() -> None:
    read(chat_of(ACME))
    other = factories.chat(message("m0", BOREALIS, said_at=T0 + timedelta(days=1)), learner="Bo")
    read(other)
    assert set(states().values()) == {"live"}
    assert Learner.objects.count() == 2
