"""Decisions from a candidate's page: each kind of them, refusals, two reviewers at once, and taking one back."""

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from extraction.models import Candidate, Resolution
from graphctx.models import Instance, Link, Proposition
from tests.osii import review_rows as review
from tests.osii import rows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """The home page looks at the queues."""


@pytest.fixture
def reviewer(client: Client) -> Client:
    client.force_login(review.reviewer())
    return client


@pytest.fixture
def candidates() -> list[Candidate]:
    batch = review.read(review.talk("I work at Alder Ltd since May.", "Noted.", "Ice floats on water."))
    return [
        review.waiting(batch, "The learner works at Alder Ltd.", review.item(batch, "m1.0", "I work at Alder Ltd")),
        review.waiting(batch, "Ice floats on water.", review.item(batch, "m3.0", "Ice floats on water")),
        review.waiting(batch, "Noted is what the assistant says.", review.item(batch, "m2.0", "Noted")),
    ]


@pytest.fixture
def known(candidates) -> Proposition:
    """A proposition of the same learner with evidence of another chat."""
    learner = candidates[0].batch.chat.learner
    made = rows.proposition("The learner works at Birch & Sons.", learner)
    rows.instance(made, rows.chat(learner=learner))
    return made


def page(candidate: Candidate, query: str = "") -> str:
    return reverse("review-candidate", args=[candidate.pk]) + query


def standing(candidate: Candidate) -> Resolution:
    return candidate.resolutions.latest("created_at")


def send(client: Client, candidate: Candidate, decision: str, **more):
    """Post a decision as the form of the page as it is now would."""
    given = {"decision": decision, "expected": standing(candidate).pk} | more
    return client.post(reverse("review-decide", args=[candidate.pk]), given)


def test_accepting_makes_a_proposition_with_evidence_and_shows_the_next(reviewer, candidates):
    answer = send(reviewer, candidates[0], "accept")
    made = Proposition.objects.get()
    assert (made.text, Instance.objects.get(proposition=made).quote) == (candidates[0].claim, "I work at Alder Ltd")
    assert (standing(candidates[0]).outcome, standing(candidates[0]).actor) == ("new", "rita")
    assert urlsplit(answer["Location"]).path == page(candidates[1])
    after = reviewer.get(answer["Location"]).text
    assert 'class="undo-bar"' in after
    assert candidates[0].claim in after
    assert 'data-key="u"' in after


def test_accepting_another_wording_keeps_the_quote(reviewer, candidates):
    send(reviewer, candidates[0], "edit", text="  The learner is employed by Alder Ltd.  ")
    made = Proposition.objects.get()
    assert (made.text, made.instances.get().quote) == ("The learner is employed by Alder Ltd.", "I work at Alder Ltd")


def test_merging_adds_evidence_to_the_chosen_proposition(reviewer, candidates, known):
    send(reviewer, candidates[0], "merge_into", target=known.pk)
    assert Proposition.objects.get() == known
    assert known.instances.count() == 2
    assert (standing(candidates[0]).outcome, standing(candidates[0]).proposition) == ("same", known)


def test_superseding_retires_the_chosen_proposition_and_undo_brings_it_back(reviewer, candidates, known):
    send(reviewer, candidates[0], "supersede", target=known.pk)
    known.refresh_from_db()
    assert known.state == "superseded"
    resolution = standing(candidates[0])
    asked = reviewer.get(reverse("review-undo", args=[resolution.pk])).text
    assert "1 piece of evidence is withdrawn from “The learner works at Alder Ltd”" in asked
    assert "is left without evidence" in asked
    assert "“The learner works at Birch &amp; Sons” is no longer superseded" in asked
    assert known.state == "superseded"
    done = reviewer.post(reverse("review-undo", args=[resolution.pk]))
    assert urlsplit(done["Location"]).path == page(candidates[0])
    known.refresh_from_db()
    assert (known.state, standing(candidates[0]).outcome) == ("live", "undone")
    assert list(Proposition.objects.retrievable()) == [known]
    again = reviewer.get(done["Location"]).text
    assert "The decision is taken back" in again
    assert 'name="decision" value="accept"' in again


def test_contradicting_links_the_two_and_both_stay(reviewer, candidates, known):
    send(reviewer, candidates[0], "contradict", target=known.pk)
    link = Link.objects.get(type="contradicts")
    assert {link.source.text, link.target.text} == {candidates[0].claim, known.text}
    assert Proposition.objects.filter(state="live").count() == 2
    asked = reviewer.get(reverse("review-undo", args=[standing(candidates[0]).pk])).text
    assert "It no longer stands against “The learner works at Birch &amp; Sons”" in asked


def test_rejecting_keeps_the_reason_and_nothing_enters_the_graph(reviewer, candidates):
    send(reviewer, candidates[0], "reject", reason="Only passing talk")
    assert (standing(candidates[0]).outcome, standing(candidates[0]).reason) == ("discard", "Only passing talk")
    assert Proposition.objects.count() == 0
    shown = reviewer.get(page(candidates[0])).text
    assert "Only passing talk" in shown
    assert 'name="decision"' not in shown
    assert "no longer rejected" in reviewer.get(reverse("review-undo", args=[standing(candidates[0]).pk])).text


def test_a_deferred_candidate_leaves_the_queue_and_can_be_gone_back_to(reviewer, candidates):
    answer = send(reviewer, candidates[0], "defer")
    assert (standing(candidates[0]).outcome, standing(candidates[0]).actor) == ("pending", "rita")
    after = reviewer.get(answer["Location"]).text
    assert f'href="{page(candidates[0])}" data-key="u"' in after.replace("&amp;", "&")
    assert candidates[0].claim not in reviewer.get(reverse("review")).text
    assert candidates[0].claim in reviewer.get(reverse("review"), {"state": "deferred"}).text
    send(reviewer, candidates[0], "accept")
    assert standing(candidates[0]).outcome == "new"


def test_the_last_one_leads_to_those_passed_over_and_then_to_the_empty_queue(reviewer, candidates):
    assert urlsplit(send(reviewer, candidates[2], "accept")["Location"]).path == page(candidates[0])
    assert urlsplit(send(reviewer, candidates[0], "accept")["Location"]).path == page(candidates[1])
    answer = send(reviewer, candidates[1], "accept")
    assert urlsplit(answer["Location"]).path == reverse("review")
    after = reviewer.get(answer["Location"]).text
    assert "Nothing waits for review" in after
    assert 'class="undo-bar"' in after


def test_the_filters_go_along(reviewer, candidates):
    answer = send(reviewer, candidates[0], "accept", queue="q=learner&kind=fact&next=https%3A%2F%2Felsewhere.example")
    assert answer["Location"].startswith("/review/?q=learner&kind=fact&last=")
    kept = send(reviewer, candidates[1], "accept", queue="kind=fact&state=nonsense")
    assert kept["Location"].startswith(f"{page(candidates[2])}?kind=fact&last=")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"decision": "reject", "reason": "  "}, "Say why"),
        ({"decision": "edit", "text": " "}, "Write the claim"),
        ({"decision": "edit", "text": "x" * 501}, "at most 500 characters"),
        ({"decision": "merge_into"}, "Choose which proposition it is to merge into."),
        ({"decision": "supersede", "target": "no uuid"}, "Choose which proposition it is to supersede."),
        ({"decision": "contradict", "target": "00000000-0000-0000-0000-000000000000"}, "Choose which proposition"),
        ({"decision": "destroy"}, "Load it again"),
        ({"decision": "accept", "expected": ""}, "Load it again"),
        ({"decision": "accept", "expected": "x"}, "Load it again"),
    ],
)
def test_what_cannot_be_decided_says_why_and_changes_nothing(reviewer, candidates, known, given, said):
    answer = send(reviewer, candidates[0], given.pop("decision"), **given)
    assert (answer.status_code, said in answer.text) == (400, True)
    assert candidates[0].resolutions.count() == 1
    assert list(Proposition.objects.all()) == [known]


def test_what_was_typed_is_still_there_after_a_refusal(reviewer, candidates):
    shown = send(reviewer, candidates[0], "edit", text="y" * 501).text
    assert "y" * 501 in shown
    assert 'aria-describedby="error-text"' in shown


def test_a_proposition_of_another_learner_is_no_target(reviewer, candidates):
    foreign = rows.proposition("Grace works at Birch.", rows.chat(learner="Grace").learner)
    assert send(reviewer, candidates[0], "merge_into", target=foreign.pk).status_code == 400
    assert foreign.instances.count() == 0


def test_the_claim_itself_is_no_target_to_supersede(reviewer, candidates):
    same = rows.proposition(candidates[0].claim, candidates[0].batch.chat.learner)
    send(reviewer, candidates[1], "accept")
    send(reviewer, candidates[0], "accept")
    made = Proposition.objects.get(resolutions__candidate=candidates[1])
    again = review.waiting(candidates[0].batch, candidates[1].claim)
    refused = send(reviewer, again, "supersede", target=made.pk)
    assert refused.status_code == 409
    assert "merge it instead" in refused.text
    assert same.state == "live"


# --- Two reviewers ----------------------------------------------------------------------------------------------------


def test_the_slower_of_two_reviewers_is_told_and_decides_nothing(reviewer, candidates):
    seen = standing(candidates[0]).pk
    other = Client()
    other.force_login(review.reviewer("otto"))
    assert send(other, candidates[0], "accept", expected=seen).status_code == 302
    late = send(reviewer, candidates[0], "reject", expected=seen, reason="Only passing talk")
    assert late.status_code == 409
    assert "otto was faster: this candidate is new since" in late.text
    assert 'name="decision"' not in late.text
    assert [row.outcome for row in candidates[0].resolutions.order_by("created_at")] == ["pending", "new"]
    assert f'href="{page(candidates[1])}' in late.text


def test_a_form_that_is_sent_twice_decides_once(reviewer, candidates):
    seen = standing(candidates[0]).pk
    send(reviewer, candidates[0], "accept", expected=seen)
    twice = send(reviewer, candidates[0], "accept", expected=seen)
    assert twice.status_code == 409
    assert "You decided about this candidate already: it is new." in twice.text
    assert candidates[0].resolutions.count() == 2
    assert Instance.objects.count() == 1


def test_after_somebody_deferred_it_the_page_offers_to_decide_again(reviewer, candidates):
    seen = standing(candidates[0]).pk
    other = Client()
    other.force_login(review.reviewer("otto"))
    send(other, candidates[0], "defer", expected=seen)
    late = send(reviewer, candidates[0], "accept", expected=seen)
    assert late.status_code == 409
    assert "otto was faster: this candidate is deferred since" in late.text
    assert "it still waits, so decide again if you like" in late.text
    assert f'name="expected" value="{standing(candidates[0]).pk}"' in late.text


# --- Undo and history -------------------------------------------------------------------------------------------------


def test_the_quick_undo_takes_the_last_decision_back(reviewer, candidates):
    after = reviewer.get(send(reviewer, candidates[0], "accept")["Location"]).text
    action = re.search(r'<form method="post" action="([^"]+)" class="undo-bar"', after)[1]
    reviewer.post(action, {"queue": ""})
    assert standing(candidates[0]).outcome == "undone"
    assert not Proposition.objects.retrievable().exists()


def test_nobody_is_offered_to_undo_what_another_decided_or_what_no_longer_stands(reviewer, candidates):
    where = send(reviewer, candidates[0], "accept")["Location"]
    other = Client()
    other.force_login(review.reviewer("otto"))
    assert "undo-bar" not in other.get(where).text
    other.post(reverse("review-undo", args=[standing(candidates[0]).pk]))
    assert "undo-bar" not in reviewer.get(where).text
    assert "undo-bar" not in reviewer.get(reverse("review"), {"last": "nonsense"}).text


def test_an_undo_that_comes_too_late_changes_nothing(reviewer, candidates):
    send(reviewer, candidates[0], "accept")
    first = standing(candidates[0])
    address = reverse("review-undo", args=[first.pk])
    assert reviewer.post(address).status_code == 302
    late = reviewer.post(address)
    assert late.status_code == 409
    assert "You decided about this candidate already: it is undone." in late.text
    assert candidates[0].resolutions.count() == 3
    pending = candidates[1].resolutions.get()
    assert "There is nothing to take back" in reviewer.get(reverse("review-undo", args=[pending.pk])).text
    assert reviewer.post(reverse("review-undo", args=[pending.pk])).status_code == 409


def test_evidence_that_another_candidate_brought_too_is_not_counted(reviewer, candidates):
    twin = review.waiting(
        candidates[1].batch, "Ice floats on water!", review.item(candidates[1].batch, "m3.0", "Ice floats on water")
    )
    send(reviewer, candidates[1], "accept")
    send(reviewer, twin, "merge_into", target=Proposition.objects.get().pk)
    asked = reviewer.get(reverse("review-undo", args=[standing(twin).pk])).text
    assert "0 pieces of evidence are withdrawn" in asked
    assert "left without evidence" not in asked


def test_the_history_is_on_both_pages_with_what_stands_marked(reviewer, candidates, known):
    send(reviewer, candidates[0], "merge_into", target=known.pk)
    reviewer.post(reverse("review-undo", args=[standing(candidates[0]).pk]))
    send(reviewer, candidates[0], "merge_into", target=known.pk, reason="It is the same firm.")
    html = reviewer.get(page(candidates[0])).text
    assert html.count('class="resolution ') + html.count('class="resolution"') == 4
    assert html.count("no longer stands") == 3
    assert "It is the same firm." in html
    assert html.count(reverse("review-undo", args=[standing(candidates[0]).pk])) >= 1


# --- Without JavaScript -----------------------------------------------------------------------------------------------


def test_every_decision_is_a_plain_form_that_csrf_protects(candidates, known):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(review.reviewer())
    html = strict.get(page(candidates[0])).text
    forms = re.findall(r'<form method="post" action="(/review/[^"]+)".*?</form>', html, re.DOTALL)
    assert set(forms) == {reverse("review-decide", args=[candidates[0].pk])}
    bodies = re.findall(r'<form method="post" action="/review/[^"]+".*?</form>', html, re.DOTALL)
    offered = {value for body in bodies for value in re.findall(r'name="decision" value="([a-z_]+)"', body)}
    assert offered == {"accept", "edit", "merge_into", "supersede", "contradict", "reject", "defer"}
    assert all('name="csrfmiddlewaretoken"' in body and 'name="expected"' in body for body in bodies)
    assert strict.post(forms[0], {"decision": "accept", "expected": standing(candidates[0]).pk}).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', bodies[0])[1]
    given = {"decision": "accept", "expected": standing(candidates[0]).pk, "csrfmiddlewaretoken": token}
    assert strict.post(forms[0], given).status_code == 302
