"""Each invariant of graph context finds its violation, and a healthy graph has none."""

import pytest

from coverage.models import Chat, Learner
from coverage.services import IncomingMessage, put_messages
from graphctx import steers
from graphctx.invariants import check
from graphctx.models import Instance, PropositionVector, Steer

from .conftest import SOLAR, add_evidence, add_propositions, unguarded, without_constraint


@pytest.fixture
def steer(learner: Learner) -> Steer:
    add_propositions(learner, SOLAR)
    chat = Chat.objects.create(learner=learner)
    put_messages(chat.pk, [IncomingMessage("u1", "user", [{"type": "text", "text": "tides"}])])
    return steers.prepare(steers.begin(chat.pk).pk)


def test_a_healthy_graph_has_no_violation(steer: Steer) -> None:
    assert list(check()) == []


def test_a_vector_under_another_learner(steer: Steer, other_learner: Learner) -> None:
    vector = PropositionVector.objects.first()
    with unguarded("graphctx_propositionvector"):
        PropositionVector.objects.filter(pk=vector.pk).update(learner=other_learner)
    assert [f"vector {vector.pk}: its learner" in line for line in check()] == [True]


@pytest.mark.parametrize("embedding", [[1.0, 0.0], [0.5] + [0.0] * 255])
def test_a_vector_of_another_shape(steer: Steer, embedding: list[float]) -> None:
    with unguarded("graphctx_propositionvector"):
        PropositionVector.objects.filter(pk=PropositionVector.objects.first().pk).update(embedding=embedding)
    assert [f"{len(embedding)} dimensions and length {embedding[0]:.4f}" in line for line in check()] == [True]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": "short"}, "2 in its text"),
        ({"budget": 16}, "16 allowed"),
        ({"count": 4}, "4 lines stored, 5 kept"),
        ({"text": "", "tokens": 0}, "there is no text"),
    ],
)
def test_a_steer_whose_numbers_are_not_its_own(steer: Steer, change: dict, says: str) -> None:
    # The database refuses an offer without a text by itself.
    without_constraint("graphctx_steer", "steer_offers_something")
    Steer.objects.update(**change)
    assert [says in line for line in check()] == [True]


def test_a_steer_that_offers_a_claim_of_another_learner(steer: Steer, other_learner: Learner) -> None:
    claim = add_propositions(other_learner, ["The boat is green."])[0]
    Steer.objects.update(items=[steer.items[0] | {"proposition_id": str(claim.pk)}, *steer.items[1:]])
    assert [f"it offers proposition {claim.pk} of another learner" in line for line in check()] == [True]


def test_evidence_in_a_chat_of_another_learner(steer: Steer, other_learner: Learner) -> None:
    chat = Chat.objects.create(learner=other_learner)
    claim = add_propositions(steer.chat.learner, ["The boat is green."])[0]
    evidence = add_evidence(claim, chat=steer.chat)
    with unguarded("graphctx_instance"):
        Instance.objects.filter(pk=evidence.pk).update(chat=chat, live=False)
    assert [f"instance {evidence.pk}: its chat is of another learner" in line for line in check()] == [True]
