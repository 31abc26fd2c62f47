"""Review in the admin: candidates are read-only, decided in bulk by those who may, and a learner's mode is set there."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from coverage.models import Learner
from extraction.admin import review as review_admin
from extraction.merging import merge
from extraction.models import Candidate, Resolution, ReviewSetting
from graphctx.models import Proposition
from tests.osii import review_rows as review
from tests.osii import rows
from tests.osii.test_admin import act, admin_url

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """Nothing is enqueued; the admin's index looks at the queues."""


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def candidates() -> list[Candidate]:
    batch = review.read(review.talk("Ice floats.", "Yes.", "Lead sinks."))
    return [
        review.waiting(batch, "Ice floats.", review.item(batch, "m1.0", "Ice floats")),
        review.waiting(batch, "Lead sinks.", review.item(batch, "m3.0", "Lead sinks")),
    ]


def outcomes() -> list[str]:
    return list(Resolution.objects.order_by("candidate", "created_at").values_list("outcome", flat=True))


def ids(candidates: list[Candidate]) -> list[object]:
    return [candidate.pk for candidate in candidates]


def seen(candidates: list[Candidate]) -> dict[str, object]:
    """What the confirmation page sends along."""
    return {f"seen-{one.pk}": one.resolutions.latest("created_at").pk for one in candidates}


def test_many_are_accepted_at_once_and_the_rest_is_explained(superuser, candidates):
    assert "Each enters its learner" in act(superuser, Candidate, "accept", *ids(candidates)).text
    assert "go on waiting for a decision" in act(superuser, Candidate, "defer", *ids(candidates)).text
    assert outcomes() == ["pending", "pending"]
    act(superuser, Candidate, "accept", candidates[0].pk, confirmed="yes")
    said = act(superuser, Candidate, "accept", *ids(candidates), confirmed="yes").text
    assert "1 candidate accepted." in said
    assert "1 candidate left as before: this candidate does not wait for a decision" in said
    assert outcomes() == ["pending", "new", "pending", "new"]
    assert set(Resolution.objects.filter(outcome="new").values_list("actor", flat=True)) == {"root"}


def test_rejecting_asks_for_a_reason_first(superuser, candidates):
    asked = act(superuser, Candidate, "reject", *ids(candidates)).text
    assert "Ice floats." in asked
    assert "Say why" not in asked
    assert "Say why" in act(superuser, Candidate, "reject", *ids(candidates), confirmed="yes", reason=" ").text
    assert outcomes() == ["pending", "pending"]
    said = act(superuser, Candidate, "reject", *ids(candidates), confirmed="yes", reason="Passing talk").text
    assert "2 candidates rejected." in said
    assert set(Resolution.objects.filter(outcome="discard").values_list("reason", flat=True)) == {"Passing talk"}
    assert Proposition.objects.count() == 0


def test_deferring_leaves_them_open(superuser, candidates):
    assert "2 candidates deferred." in act(superuser, Candidate, "defer", *ids(candidates), confirmed="yes").text
    assert outcomes() == ["pending"] * 4
    assert Candidate.objects.open().count() == 2


def test_undo_names_its_effect_and_takes_back(superuser, candidates):
    act(superuser, Candidate, "accept", *ids(candidates), confirmed="yes")
    asked = act(superuser, Candidate, "undo", *ids(candidates)).text
    assert "its evidence is withdrawn" in asked
    assert Proposition.objects.retrievable().count() == 2
    said = act(superuser, Candidate, "undo", *ids(candidates), confirmed="yes", **seen(candidates)).text
    assert "2 candidates taken back." in said
    assert Proposition.objects.retrievable().count() == 0
    assert "nothing to undo" in act(superuser, Candidate, "undo", candidates[0].pk, confirmed="yes").text


def test_what_was_decided_while_the_page_was_open_is_left_alone(superuser, candidates):
    shown = seen(candidates)
    act(superuser, Candidate, "accept", candidates[0].pk, confirmed="yes")
    said = act(superuser, Candidate, "reject", *ids(candidates), confirmed="yes", reason="No", **shown).text
    assert "1 candidate rejected." in said
    assert "meanwhile root decided" in said
    assert outcomes() == ["pending", "new", "pending", "discard"]


def test_too_many_are_refused(superuser, candidates, monkeypatch):
    monkeypatch.setattr(review_admin, "MOST", 1)
    assert (
        "Choose at most 1 candidates at a time."
        in act(superuser, Candidate, "accept", *ids(candidates), confirmed="yes").text
    )
    assert outcomes() == ["pending", "pending"]


def test_django_takes_as_many_fields_as_the_largest_confirmation_has(superuser, candidates, settings):
    def fields(*chosen: object) -> int:
        text = act(superuser, Candidate, "reject", *chosen).text
        return len(re.findall(r'<(?:input|select)[^>]* name="', text))

    one, two = fields(candidates[0].pk), fields(*ids(candidates))
    assert two > one
    assert one + (review_admin.MOST - 1) * (two - one) <= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS


def test_actions_need_the_permission(client, candidates):
    client.force_login(rows.staff_user("view_candidate"))
    listed = client.get(admin_url(Candidate, "changelist")).text
    assert "Ice floats." in listed
    assert 'value="accept"' not in listed
    for action in ("accept", "reject", "defer", "undo"):
        act(client, Candidate, action, candidates[0].pk, confirmed="yes", reason="No")
    assert outcomes() == ["pending", "pending"]
    client.force_login(review.reviewer("rita", "view_candidate"))
    assert 'value="accept"' in client.get(admin_url(Candidate, "changelist")).text


def test_candidates_are_filtered_by_what_became_of_them(superuser, candidates):
    act(superuser, Candidate, "accept", candidates[0].pk, confirmed="yes")
    for value, there, gone in (("open", "Lead sinks.", "Ice floats."), ("new", "Ice floats.", "Lead sinks.")):
        shown = superuser.get(admin_url(Candidate, "changelist"), {"standing": value}).text
        assert there in shown
        assert gone not in shown
    assert "Ice floats." in superuser.get(admin_url(Candidate, "changelist"), {"standing": "nonsense"}).text


def test_candidates_are_filtered_by_whether_there_is_something_to_mind(superuser, candidates):
    review.waiting(candidates[0].batch, "Snow melts.", marks=["the claim has a relative date"])
    listed = {
        value: superuser.get(admin_url(Candidate, "changelist"), {"marked": value}).text for value in ("yes", "no")
    }
    assert ["Snow melts." in listed["yes"], "Snow melts." in listed["no"]] == [True, False]
    assert ["Ice floats." in listed["yes"], "Ice floats." in listed["no"]] == [False, True]


def test_the_confirmation_shows_hostile_claims_as_text(superuser, candidates):
    made = review.waiting(candidates[0].batch, "<script>alert(1)</script>")
    asked = act(superuser, Candidate, "reject", made.pk).text
    assert "<script>alert" not in asked
    assert "&lt;script&gt;alert(1)" in asked


def test_the_review_mode_of_a_learner_is_set_at_the_learner(superuser, candidates, settings):
    settings.OSII_REVIEW_MODE = "auto"
    learner = Learner.objects.get()
    form = {
        "name": learner.name,
        "review_setting-TOTAL_FORMS": 1,
        "review_setting-INITIAL_FORMS": 0,
        "review_setting-0-learner": learner.pk,
        "review_setting-0-mode": "manual",
    }
    assert superuser.post(admin_url(Learner, "change", learner.pk), form).status_code == 302
    assert ReviewSetting.objects.get().mode == "manual"
    assert merge.review_mode(learner.pk) == "manual"
    listed = superuser.get(admin_url(Learner, "changelist")).text
    assert "manual" in listed
    assert learner.name in superuser.get(admin_url(ReviewSetting, "changelist")).text
