"""The page that explains a context: what would be given, what was left out, and how levels went."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from coverage.models import Learner
from graphctx.embedding import EmbeddingError
from tests.graphctx.conftest import SOLAR, add_evidence, add_propositions
from tests.osii import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client


@pytest.fixture
def learner() -> Learner:
    return Learner.objects.create(name="Aiko")


def page(client: Client, **asked: object) -> str:
    response = client.get(reverse("context"), asked)
    assert response.status_code == 200
    return response.content.decode()


def test_without_a_learner_it_says_so(staff: Client) -> None:
    assert "There is no learner yet" in page(staff)


def test_candidates_levels_the_cut_and_the_times_are_shown(staff: Client, learner: Learner) -> None:
    tides, *_rest = add_propositions(learner, SOLAR)
    add_evidence(tides, "shaky", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    add_evidence(tides, "solid", occurred_at=datetime(2026, 2, 1, tzinfo=UTC))
    shown = page(staff, topic="What does the moon's gravity cause?", learner=learner.pk, budget=1024)
    assert "5 propositions" in shown
    assert shown.index("2026-01-01") < shown.index("2026-02-01")
    assert "every candidate is in" in shown
    assert "embed" in shown
    assert "&lt;osii-context" in shown
    assert shown.count('data-label="Similarity"') == 5  # on a narrow screen a row is a list


def test_the_budget_cuts_and_says_where(staff: Client, learner: Learner) -> None:
    add_propositions(learner, [f"{text} It was said in part {n} of a long talk." for n, text in enumerate(SOLAR * 3)])
    shown = page(staff, topic="tides", learner=learner.pk, budget=128)
    assert "more than 128" in shown
    assert "row-quiet" in shown


def test_an_empty_graph_is_told(staff: Client, learner: Learner) -> None:
    assert "the graph holds nothing for this learner yet" in page(staff, topic="tides", learner=learner.pk)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"topic": " "}, "This field is required"),
        ({"topic": "a\ud800".encode("utf-8", "surrogatepass")}, ""),
        ({"budget": 100}, "not one of the available choices"),
        ({"learner": "nobody"}, "is not a valid UUID"),
    ],
)
def test_a_wrong_value_is_named(staff: Client, learner: Learner, wrong: dict, said: str) -> None:
    assert said in page(staff, **({"topic": "tides", "learner": learner.pk, "budget": 128} | wrong))


def test_an_embedder_that_cannot_be_used_is_told(staff: Client, learner: Learner, monkeypatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise EmbeddingError("no weights: put them there")

    monkeypatch.setattr("osii.web.explain.select", refuse)
    assert "no weights: put them there" in page(staff, topic="tides", learner=learner.pk)


def test_the_queries_do_not_grow_with_the_graph(staff: Client, learner: Learner, django_assert_max_num_queries) -> None:
    add_propositions(learner, [f"{text} {n}" for n in range(12) for text in SOLAR])
    page(staff, topic="tides", learner=learner.pk, budget=4096)
    with django_assert_max_num_queries(15):
        page(staff, topic="tides", learner=learner.pk, budget=4096)
