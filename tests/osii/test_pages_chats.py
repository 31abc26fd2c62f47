"""The chats list: its filters, order and pages."""

import re

import pytest

from tests.osii import rows
from tests.osii.chat_pages import HTMX, redis_of_this_test, staff, viewer

__all__ = ["redis_of_this_test", "staff", "viewer"]

pytestmark = pytest.mark.django_db


def titles(html: str) -> set[str]:
    return set(re.findall(r'href="/chats/[0-9a-f-]{36}/" dir="auto">([^<]+)</a>', html))


@pytest.fixture
def chats() -> None:
    """One chat in each state of the filter, named after it."""
    rows.batch(rows.chat(title="read"))
    rows.chat(title="unread")
    rows.chat(count=1, tokens=4000, title="due")
    rows.batch(rows.chat(title="parked"), "parked", run=None)
    rows.run(rows.chat(title="running"), "running")
    rows.run(rows.chat(title="failed", learner="Berta"), "failed")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("read", {"read"}),
        ("unread", {"unread", "due", "parked", "running", "failed"}),
        ("due", {"due"}),
        ("parked", {"parked"}),
        ("attention", {"parked", "failed"}),
        ("running", {"running"}),
        ("failed", {"failed"}),
        ("", {"read", "unread", "due", "parked", "running", "failed"}),
    ],
)
def test_the_state_filter(viewer, chats, state, expected):
    assert titles(viewer.get("/chats/", {"state": state}).text) == expected


def test_search_learner_and_order(viewer, chats):
    assert titles(viewer.get("/chats/", {"q": "NREA"}).text) == {"unread"}
    response = viewer.get("/chats/", {"q": "nothing like it"})
    assert "No chat matches these filters" in response.text
    learner = next(chat.learner for chat in viewer.get("/chats/").context["page"] if chat.title == "failed")
    assert titles(viewer.get("/chats/", {"learner": learner.pk}).text) == {"failed"}
    page = viewer.get("/chats/", {"sort": "title"}).context["page"]
    assert [chat.title for chat in page] == sorted(chat.title for chat in page)


def test_a_filter_that_is_not_allowed_is_named_and_filters_nothing(viewer, chats):
    html = viewer.get("/chats/", {"state": "bogus", "learner": "bogus", "page": "bogus"}).text
    assert len(titles(html)) == 6
    assert "bogus is not one of the available choices" in html


def test_the_fraction_and_the_badges(viewer):
    rows.batch(rows.chat(count=4, tokens=1450, title="partly"), positions=range(1, 3))
    html = viewer.get("/chats/").text
    assert "2,900 of 5,800 tokens read" in html
    assert "<span>uncovered</span>" in html
    assert "<span>due</span>" not in html


def test_htmx_gets_the_table_alone_and_a_short_url(viewer, chats):
    response = viewer.get("/chats/", {"q": "due", "learner": "", "state": ""}, **HTMX)
    assert response["HX-Push-Url"] == "/chats/?q=due"
    assert "<html" not in response.text
    assert response.text.count('id="results"') == 1
    assert titles(response.text) == {"due"}


def test_fifty_chats_on_a_page_and_links_that_keep_the_filter(viewer):
    for number in range(53):
        rows.chat(count=1, title=f"chat {number}")
    first = viewer.get("/chats/", {"q": "chat"})
    assert len(titles(first.text)) == 50
    assert "1–50 of 53 chats" in first.text
    assert 'href="/chats/?q=chat&amp;page=2"' in first.text
    assert len(titles(viewer.get("/chats/", {"q": "chat", "page": 99}).text)) == 3
