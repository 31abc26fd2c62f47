"""Deciding about candidates by hand, and taking decisions back: one graph whatever the way there."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coverage.models import Chat
from coverage.services import put_messages
from extraction.invariants import check
from extraction.merging import resolving
from extraction.models import Candidate, Resolution, ReviewSetting, Run
from extraction.running import runs
from extraction.services import request_run
from graphctx.forgetting import forget
from graphctx.models import Instance, Link, Proposition
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)
T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORKS_AT_A, JOINED_B = "I work at Acme.", "I joined Borealis."


def at(days: int) -> dict[str, Any]:
    return {"said_at": T0 + timedelta(days=days)}


def read(*said: str, days: int = 0, manual: bool = False) -> Chat:
    chat = factories.chat(*(message(f"m{i}", text, **at(days)) for i, text in enumerate(said)))
    if manual:
        ReviewSetting.objects.update_or_create(learner=chat.learner, defaults={"mode": "manual"})
    run = runs.execute(request_run(chat.pk, Run.Mode.REST, "sentences", enqueue=False).pk)
    assert run.status == Run.Status.SUCCEEDED
    return chat


def candidate(claim: str) -> Candidate:
    return Candidate.objects.with_standing().filter(claim=claim).latest("created_at")


def proposition(text: str) -> Proposition:
    return Proposition.objects.get(text=text)


def states() -> dict[str, str]:
    return dict(Proposition.objects.values_list("text", "state"))


def decide(claim: str, decision: str, **more: Any) -> Resolution:
    return resolving.decide(candidate(claim).pk, decision, actor="kim", **more)


def healthy() -> bool:
    return list(check()) == []


def test_in_manual_mode_a_batch_is_covered_and_its_candidates_wait() -> None:
    read(WORKS_AT_A, JOINED_B, manual=True)
    assert [c.standing for c in Candidate.objects.with_standing()] == ["pending", "pending"]
    assert Candidate.objects.open().count() == 2
    assert not Proposition.objects.exists()
    assert healthy()


@pytest.mark.parametrize(
    ("own", "everywhere", "waits"), [("manual", "auto", 1), ("auto", "manual", 0), (None, "manual", 1)]
)
def test_a_learners_own_mode_comes_before_that_of_the_settings(
    settings: Any, own: str | None, everywhere: str, waits: int
) -> None:
    settings.OSII_REVIEW_MODE = everywhere
    if own:
        ReviewSetting.objects.create(learner=factories.chat(message("x", "hello")).learner, mode=own)
    read(WORKS_AT_A)
    assert Candidate.objects.open().count() == waits


def test_accepting_does_as_the_auditor_would() -> None:
    read(WORKS_AT_A)
    read(JOINED_B, days=1, manual=True)
    made = decide(JOINED_B, "accept")
    assert (made.outcome, made.target.text, made.actor) == ("supersedes", WORKS_AT_A, "kim")
    assert "employer" in made.reason
    assert states() == {WORKS_AT_A: "superseded", JOINED_B: "live"}
    assert healthy()


def test_an_edited_claim_keeps_its_candidate_and_its_evidence() -> None:
    read(JOINED_B, manual=True)
    made = decide(JOINED_B, "edit", text="  I work at   Borealis. ")
    assert made.proposition.text == "I work at Borealis."
    assert made.proposition.instances.get().quote == JOINED_B
    assert candidate(JOINED_B).standing == "new"


def test_merging_into_a_proposition_adds_the_evidence_to_it() -> None:
    read("Tea wakes one up.")
    read("Tea has caffeine.", manual=True)
    decide("Tea has caffeine.", "merge_into", target=proposition("Tea wakes one up.").pk)
    assert proposition("Tea wakes one up.").instances.count() == 2
    assert Proposition.objects.count() == 1


@pytest.mark.parametrize(("decision", "state"), [("supersede", "superseded"), ("contradict", "live")])
def test_superseding_and_contradicting_by_hand_link_the_two(decision: str, state: str) -> None:
    read("Tea is bad for sleep.")
    read("Green tea is fine.", manual=True)
    decide("Green tea is fine.", decision, target=proposition("Tea is bad for sleep.").pk)
    assert proposition("Tea is bad for sleep.").state == state
    link = Link.objects.exclude(type="follows").get()
    assert (link.source.text, link.target.text) == ("Green tea is fine.", "Tea is bad for sleep.")
    assert healthy()


def test_rejecting_and_deferring_leave_the_graph_alone() -> None:
    read(WORKS_AT_A, JOINED_B, manual=True)
    assert decide(WORKS_AT_A, "reject", reason="a joke").outcome == "discard"
    assert decide(JOINED_B, "defer").outcome == "pending"
    assert not Proposition.objects.exists()
    assert [c.claim for c in Candidate.objects.open()] == [JOINED_B]


@pytest.mark.parametrize(
    ("decision", "more", "said"),
    [
        ("reject", {}, "needs a reason"),
        ("merge_into", {}, "needs the proposition"),
        ("edit", {"text": " "}, "1 to 500"),
        ("edit", {"text": "x" * 501}, "1 to 500"),
        ("maybe", {}, "must be one of"),
        ("merge_into", {"target": uuid.uuid4()}, "not there any more"),
    ],
)
def test_what_cannot_be_is_refused_and_writes_nothing(decision: str, more: dict[str, Any], said: str) -> None:
    read(WORKS_AT_A, manual=True)
    with pytest.raises(resolving.Refused, match=said):
        decide(WORKS_AT_A, decision, **more)
    assert Resolution.objects.count() == 1


def test_another_learners_proposition_is_no_target() -> None:
    foreign = factories.chat(message("m", WORKS_AT_A), learner="Bo")
    runs.execute(request_run(foreign.pk, Run.Mode.REST, "sentences", enqueue=False).pk)
    read(JOINED_B, manual=True)
    with pytest.raises(resolving.Refused, match="another learner"):
        decide(JOINED_B, "supersede", target=proposition(WORKS_AT_A))


def test_a_decision_on_what_was_shown_is_refused_once_something_else_stands() -> None:
    read(WORKS_AT_A, manual=True)
    shown = candidate(WORKS_AT_A).standing_id
    decide(WORKS_AT_A, "defer", expected=shown)
    with pytest.raises(resolving.StandingChanged, match="kim decided: pending"):
        decide(WORKS_AT_A, "accept", expected=shown)
    decide(WORKS_AT_A, "accept", expected=candidate(WORKS_AT_A).standing_id)
    with pytest.raises(resolving.Refused, match="undo that first"):
        decide(WORKS_AT_A, "accept")


def test_what_a_learner_forgot_is_no_target_and_not_learned_by_accepting() -> None:
    read(WORKS_AT_A)
    forget(proposition(WORKS_AT_A).pk)
    read(WORKS_AT_A, JOINED_B, manual=True)
    with pytest.raises(resolving.Refused, match="asked to forget"):
        decide(JOINED_B, "merge_into", target=proposition(WORKS_AT_A))
    assert decide(WORKS_AT_A, "accept").outcome == "discard"


def test_undo_takes_back_evidence_and_links_and_what_was_superseded_returns() -> None:
    read(WORKS_AT_A)
    read(JOINED_B, days=1)
    assert states()[WORKS_AT_A] == "superseded"
    undone = resolving.undo(candidate(JOINED_B).pk, actor="kim", reason="another company")
    assert (undone.outcome, undone.undoes.outcome) == ("undone", "supersedes")
    assert states()[WORKS_AT_A] == "live"
    assert [p.text for p in Proposition.objects.retrievable()] == [WORKS_AT_A]
    assert Link.objects.filter(type="supersedes", withdrawn_at=None).count() == 0
    assert [c.claim for c in Candidate.objects.open()] == [JOINED_B]
    assert healthy()


def test_what_was_undone_can_be_decided_again_and_stands_as_before() -> None:
    read(WORKS_AT_A)
    read(JOINED_B, days=1)
    resolving.undo(candidate(JOINED_B).pk, actor="kim")
    decide(JOINED_B, "accept")
    assert states() == {WORKS_AT_A: "superseded", JOINED_B: "live"}
    assert proposition(JOINED_B).instances.filter(live=True).count() == 1
    assert healthy()


def test_undo_keeps_the_evidence_that_another_candidate_brought_too() -> None:
    chat = read("Tea has caffeine.\nMore.")
    put_messages(chat.pk, [message("m0", "Tea has caffeine.\nMuch more.", **at(0))])
    runs.execute(request_run(chat.pk, Run.Mode.REST, "sentences", enqueue=False).pk)
    first, second = Candidate.objects.order_by("created_at")
    resolving.undo(second.pk, actor="kim")
    assert Instance.objects.get().live
    resolving.undo(first.pk, actor="kim")
    assert not Proposition.objects.retrievable().exists()
    assert healthy()


def test_undoing_a_return_puts_what_it_replaced_back() -> None:
    read("I live in Oslo.")
    read("I live in Bergen.", days=1)
    read("i live in Oslo", days=2)
    assert states() == {"I live in Oslo.": "live", "I live in Bergen.": "superseded"}
    resolving.undo(candidate("i live in Oslo").pk, actor="kim")
    assert states() == {"I live in Oslo.": "superseded", "I live in Bergen.": "live"}
    assert healthy()


def test_there_is_nothing_to_undo_about_what_waits() -> None:
    read(WORKS_AT_A, manual=True)
    with pytest.raises(resolving.Refused, match="nothing to undo"):
        resolving.undo(candidate(WORKS_AT_A).pk, actor="kim")


def test_a_withdrawn_piece_of_evidence_does_not_come_back_with_its_message() -> None:
    chat = read(WORKS_AT_A)
    resolving.undo(candidate(WORKS_AT_A).pk, actor="kim")
    put_messages(chat.pk, [message("m0", "Something else.", **at(0))])
    put_messages(chat.pk, [message("m0", WORKS_AT_A, **at(0))])
    assert not Proposition.objects.retrievable().exists()


def test_nominations_show_the_nearest_with_what_the_auditor_makes_of_each() -> None:
    read(WORKS_AT_A, "Tea has caffeine.")
    read(JOINED_B, days=1, manual=True)
    found = {one.proposition.text: (one.verdict, one.reason) for one in resolving.nominations(candidate(JOINED_B))}
    assert found[WORKS_AT_A][0] == "replaces"
    assert found["Tea has caffeine."][0] == "other"
