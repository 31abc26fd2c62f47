"""The review queue and a candidate's page: who sees them, what they show, what they ask of the database."""

import re
from html import escape, unescape
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from extraction.models import Candidate, Resolution, ReviewSetting
from osii.web.review import SHOWN_IN_NAVIGATION
from tests.osii import review_rows as review
from tests.osii import rows

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """The home page looks at the queues."""


@pytest.fixture
def reviewer(client: Client) -> Client:
    client.force_login(review.reviewer())
    return client


@pytest.fixture
def candidate() -> Candidate:
    batch = review.read(review.talk("I know that ice floats.", "Yes, it does.", "Lead sinks.", title="On density"))
    return review.waiting(
        batch, "Ice floats on water.", review.item(batch, "m1.0", "ice floats"), understanding="solid"
    )


def url(candidate: Candidate, query: str = "") -> str:
    return reverse("review-candidate", args=[candidate.pk]) + query


def claims(html: str) -> list[str]:
    """The claims of the queue, in order."""
    return [unescape(claim) for claim in re.findall(r"data-queue-row>(.*?)</a>", html)]


def many(count: int, title: str = "Plans", **more) -> list[Candidate]:
    chat = review.talk("Ice floats.", "Yes.", title=title, **more)
    batch = review.read(chat)
    return [review.waiting(batch, f"{title} {number}.") for number in range(1, count + 1)]


def defer(candidate: Candidate) -> None:
    Resolution.objects.create(candidate=candidate, outcome=Resolution.Outcome.PENDING, actor="rita")


# --- Who may ----------------------------------------------------------------------------------------------------------


def addresses(candidate: Candidate) -> list[tuple[str, str]]:
    resolution = candidate.resolutions.get()
    return [
        ("get", reverse("review")),
        ("get", url(candidate)),
        ("post", reverse("review-decide", args=[candidate.pk])),
        ("get", reverse("review-undo", args=[resolution.pk])),
        ("post", reverse("review-undo", args=[resolution.pk])),
    ]


def test_staff_without_the_permission_are_told_so_and_are_offered_nothing(client, candidate):
    client.force_login(rows.staff_user())
    for method, address in addresses(candidate):
        refused = getattr(client, method)(address, {"decision": "accept"})
        assert refused.status_code == 403, address
        assert "This account may not do that" in refused.text
        assert "extraction.review_candidate" in refused.text
    home = client.get(reverse("home")).text
    assert 'href="/review/' not in home
    assert "wait for review" not in home
    assert Resolution.objects.count() == 1


def test_anonymous_visitors_log_in_and_accounts_that_are_not_staff_are_refused(client, candidate):
    for method, address in addresses(candidate):
        assert getattr(client, method)(address)["Location"].startswith("/login/?next=")
    learner = User.objects.create_user("learner")
    learner.user_permissions.add(*review.reviewer("other").user_permissions.all())
    client.force_login(learner)
    for method, address in addresses(candidate):
        assert getattr(client, method)(address).status_code == 403
    assert Resolution.objects.count() == 1


def test_superusers_and_staff_with_the_permission_may(client, reviewer, candidate):
    assert reviewer.get(url(candidate)).status_code == 200
    client.force_login(User.objects.create_superuser("root"))
    assert client.get(reverse("review")).status_code == 200


def test_home_and_navigation_count_what_waits(reviewer, candidate):
    home = reviewer.get(reverse("home")).text
    assert "1 candidate waits for review" in home
    assert '<span class="nav-count">1<' in home
    defer(many(1)[0])
    assert '<span class="nav-count">1<' in reviewer.get(reverse("chats")).text


def test_the_navigation_stops_counting(reviewer):
    many(SHOWN_IN_NAVIGATION + 2)
    assert '<span class="nav-count">99+<' in reviewer.get(reverse("chats")).text
    assert "101 candidates wait for review" in reviewer.get(reverse("home")).text


def test_every_page_has_one_button_for_its_keys(reviewer, candidate):
    for page in (reverse("review"), url(candidate), reverse("chats")):
        assert reviewer.get(page).text.count("data-open-keys") == 1, page


# --- The queue --------------------------------------------------------------------------------------------------------


def test_an_empty_queue_says_when_candidates_come(reviewer, settings):
    settings.OSII_REVIEW_MODE = "auto"
    assert "set to manual review in the admin" in reviewer.get(reverse("review")).text
    settings.OSII_REVIEW_MODE = "manual"
    assert "when a chat has been read" in reviewer.get(reverse("review")).text
    assert "nav-count" not in reviewer.get(reverse("review")).text
    defer(many(1)[0])
    assert "Only deferred candidates are left" in reviewer.get(reverse("review")).text


def test_only_open_candidates_are_listed_oldest_first(reviewer):
    made = many(4)
    Resolution.objects.create(candidate=made[1], outcome="discard", actor="rita")
    defer(made[2])
    assert claims(reviewer.get(reverse("review")).text) == ["Plans 1.", "Plans 4."]
    assert claims(reviewer.get(reverse("review"), {"state": "deferred"}).text) == ["Plans 3."]
    assert claims(reviewer.get(reverse("review"), {"state": "all"}).text) == ["Plans 1.", "Plans 3.", "Plans 4."]


def test_filters_are_kept_in_the_links(reviewer):
    ada, grace = many(2, "Ada's"), many(2, "Grace's", learner="Grace")
    learner = grace[0].batch.chat.learner_id
    chat = ada[0].batch.chat_id
    for given, found in (
        ({"learner": learner}, ["Grace's 1.", "Grace's 2."]),
        ({"chat": chat}, ["Ada's 1.", "Ada's 2."]),
        ({"q": "grace's 2"}, ["Grace's 2."]),
        ({"kind": "fact", "worker": "rules"}, ["Ada's 1.", "Ada's 2.", "Grace's 1.", "Grace's 2."]),
        ({"worker": "llm"}, []),
        ({"kind": "decision"}, []),
    ):
        html = reviewer.get(reverse("review"), given).text
        assert claims(html) == found, given
        assert html.count(f'?{escape(urlencode(given))}" dir="auto" data-queue-row') == len(found), given
    shown = reviewer.get(reverse("review"), {"chat": chat}).text
    assert "Show all chats" in shown
    assert f'name="chat" value="{chat}"' in shown
    assert claims(reviewer.get(reverse("review"), {"chat": "no uuid"}).text) != []


def test_the_queue_is_paged_and_htmx_gets_the_table_only(reviewer):
    many(60)
    first = reviewer.get(reverse("review")).text
    assert (len(claims(first)), "1–50 of 60 candidates" in first) == (50, True)
    assert claims(reviewer.get(reverse("review"), {"page": 2}).text)[-1] == "Plans 60."
    table = reviewer.get(reverse("review"), {"q": "Plans 7"}, HTTP_HX_REQUEST="true", HTTP_HX_TARGET="results")
    assert table.text.lstrip().startswith('<div id="results"')
    assert table["HX-Push-Url"] == "/review/?q=Plans+7"


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_the_queue_asks_as_often_for_thirty_candidates_as_for_three(reviewer):
    many(3)
    few = queries(reviewer, reverse("review"))
    for number in range(9):
        many(3, f"More {number}", learner=f"Learner {number}")
    assert queries(reviewer, reverse("review")) == few


def test_a_candidate_asks_as_often_with_much_around_it_as_with_little(reviewer, candidate):
    rows.instance(rows.proposition("Ice floats on seas.", candidate.batch.chat.learner), candidate.batch.chat)
    reviewer.get(url(candidate))  # the first embedding sets the space up
    few = queries(reviewer, url(candidate))
    chat = review.talk(*(f"Message {n} says ice floats." for n in range(1, 31)))
    batch = review.read(chat)
    rich = review.waiting(batch, "Ice floats.", *(review.item(batch, f"m{n}.0", "ice floats") for n in range(1, 20, 2)))
    many(30)
    for number in range(12):
        rows.instance(rows.proposition(f"Ice floats, claim {number}."), chat)
        Resolution.objects.create(candidate=rich, outcome="pending", actor="rita")
    assert queries(reviewer, url(rich)) == few


# --- A candidate ------------------------------------------------------------------------------------------------------


def test_a_candidate_is_shown_with_everything_to_decide(reviewer, candidate):
    html = reviewer.get(url(candidate)).text
    assert "Ice floats on water." in html
    assert "It explains lakes." in html
    assert "<mark>ice floats</mark>" in html
    assert f"/chats/{candidate.batch.chat_id}/#m-1" in html
    assert "said by user" in html
    assert "solid" in html
    assert "Yes, it does." in html
    assert "1 of 1" in html
    assert str(candidate.resolutions.get().pk) in html


def test_what_to_know_of_a_candidate_is_shown(reviewer):
    batch = review.read(review.talk("Ice floats since yesterday."))
    made = review.waiting(batch, "Ice floats since yesterday.", marks=["the claim has a relative date"])
    review.waiting(batch, "Ice floats.")
    assert "the claim has a relative date" in reviewer.get(url(made)).text
    assert "the claim has a relative date" in reviewer.get(reverse("batch", args=[batch.pk])).text
    marked = reviewer.get(reverse("review"), {"marks": "marked"}).text
    assert claims(marked) == ["Ice floats since yesterday."] and "the claim has a relative date" in marked
    assert f"{url(made)}?marks=marked" in marked
    assert claims(reviewer.get(reverse("review"), {"marks": "unmarked"}).text) == ["Ice floats."]


def test_the_review_mode_of_the_learner_is_shown(reviewer, candidate, settings):
    settings.OSII_REVIEW_MODE = "auto"
    assert "auto, as OSII_REVIEW_MODE says" in reviewer.get(url(candidate)).text
    ReviewSetting.objects.create(learner=candidate.batch.chat.learner, mode="manual")
    html = reviewer.get(url(candidate)).text
    assert "manual, set for this learner" in html
    assert "/admin/coverage/learner/" not in html
    reviewer.force_login(review.reviewer("root", "change_reviewsetting", "change_learner"))
    assert f"/admin/coverage/learner/{candidate.batch.chat.learner_id}/change/" in reviewer.get(url(candidate)).text


def test_previous_and_next_stay_within_the_filters(reviewer):
    plans, others = many(3), many(1, "Others")
    html = reviewer.get(url(plans[1], "?q=Plans")).text
    assert f'href="{url(plans[0])}?q=Plans" rel="prev"' in html
    assert f'href="{url(plans[2])}?q=Plans" rel="next"' in html
    assert "2 of 3" in html
    assert 'rel="next"' not in reviewer.get(url(plans[2], "?q=Plans")).text
    assert f'href="{url(others[0])}" rel="next"' in reviewer.get(url(plans[2])).text


def test_a_candidate_of_an_attempt_that_failed_cannot_be_decided(reviewer):
    html = reviewer.get(url(review.staged(review.read(review.talk("Ice floats.")), "Ice floats."))).text
    assert "never merged" in html
    assert 'name="decision"' not in html


def test_another_proposition_is_found_by_its_words(reviewer, candidate):
    learner = candidate.batch.chat.learner
    wanted = rows.proposition("Water is densest at 4 °C.", learner)
    rows.proposition("Water boils at 100 °C.", learner)
    rows.proposition("Forgotten water is densest.", learner, state="forgotten")
    rows.proposition("The densest water of Grace.", rows.chat(learner="Grace").learner)
    html = reviewer.get(url(candidate), {"find": "densest water", "q": "ice"}).text
    assert re.findall(r'name="target" id="target-\d+" value="([^"]+)"', html) == [str(wanted.pk)]
    assert '<input type="hidden" name="q" value="ice">' in html
    assert "has these words" in reviewer.get(url(candidate), {"find": "no such"}).text


def test_words_with_a_nul_are_looked_for_without_it(reviewer, candidate):
    wanted = rows.proposition("Water is densest at four degrees.", candidate.batch.learner)
    found = reviewer.get(url(candidate), {"find": "densest\x00water"})
    assert found.status_code == 200 and str(wanted.pk) in found.text
    # A form that is refused keeps what was looked for.
    refused = reviewer.post(reverse("review-decide", args=[candidate.pk]), {"find": "densest\x00", "queue": "q=%00"})
    assert refused.status_code == 400 and str(wanted.pk) in refused.text


# --- Hostile text and the keyboard ------------------------------------------------------------------------------------


def test_hostile_text_is_shown_as_text(reviewer):
    chat = review.talk(f"{SCRIPT} \u202eevil", SCRIPT, title=SCRIPT, learner=SCRIPT)
    batch = review.read(chat)
    made = review.waiting(
        batch, f"{SCRIPT} {'x' * 400}", review.item(batch, "m1.0", SCRIPT), why_useful=SCRIPT, staleness=SCRIPT
    )
    rows.instance(rows.proposition(SCRIPT, chat.learner), chat)
    for address in (reverse("review"), url(made), url(made, "?find=script"), url(made, f"?find={SCRIPT}&q={SCRIPT}")):
        html = reviewer.get(address).text
        assert "<script>alert" not in html, address
        assert "&lt;script&gt;" in html, address
    assert f"<mark>{'&lt;script&gt;alert(1)&lt;/script&gt;'}</mark>" in reviewer.get(url(made)).text


def test_keys_are_a_file_of_their_own_and_each_means_one_thing(reviewer, candidate):
    rows.instance(rows.proposition("Ice floats on seas."), candidate.batch.chat)
    for address in (reverse("review"), url(candidate)):
        response = reviewer.get(address)
        html = response.text
        assert "osii/review.js" in html
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", html)
        assert "unsafe" not in response["Content-Security-Policy"]
        keys = re.findall(r'data-key="(.)"', html)
        assert len(keys) == len(set(keys))
        listed = html[html.index('<dialog id="keys"') :]
        for key in keys:
            assert f"<kbd>{key}</kbd>" in listed, key
        for key in re.findall(r'<kbd class="key">([a-z])</kbd>', html):
            assert key in keys, key


def test_pages_have_one_heading_named_tables_and_labelled_fields(reviewer, candidate):
    rows.instance(rows.proposition("Ice floats on seas."), candidate.batch.chat)
    for address in (reverse("review"), url(candidate), url(candidate, "?find=ice")):
        html = reviewer.get(address).text
        assert len(re.findall(r"<h1[ >]", html)) == 1
        assert html.count("<table") == html.count("<caption")
        ids = re.findall(r'\sid="([^"]+)"', html)
        assert len(ids) == len(set(ids))
        fields = re.findall(r'<(?:input|textarea|select)(?![^>]*type="(?:hidden|submit)")[^>]*\sid="([^"]+)"', html)
        assert fields
        for field in fields:
            assert f'for="{field}"' in html, field
