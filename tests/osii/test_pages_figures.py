"""What lists and counts show of many chats comes from memos, and is what the diff says."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage import services, summaries
from coverage.models import Chat, ChatSummary, Message
from extraction import figures
from extraction.models import Batch
from extraction.selectors import coverage_of_chats
from osii.models import ChatImport
from osii.web.chat_list import ChatFilter
from osii.web.paging import BothEnds
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def viewer(client: Client, rq_connection: Any) -> Client:
    client.force_login(rows.staff_user())
    return client


@pytest.fixture
def many() -> list[Chat]:
    """Chats in every state, with messages that are being written, old and new, and batches that run or are parked."""
    chance = random.Random(5)
    made = []
    for number in range(12):
        chat = rows.chat(count=4, tokens=chance.randint(300, 1500), title=f"chat {number}")
        part = factories.text("being written " * chance.randint(100, 400), state="streaming")
        if number % 3 == 0:
            services.put_messages(chat.pk, [factories.message("s", [part])])
        if number % 6 == 0:
            Message.objects.filter(chat=chat, message_id="s").update(changed_at=timezone.now() - timedelta(days=60))
        status = (Batch.Status.SUCCEEDED, Batch.Status.PARKED, Batch.Status.RUNNING)[number % 3]
        rows.batch(chat, status, positions=range(1, 2 + number % 4))
        made.append(chat)
    return made


@pytest.mark.parametrize("filled", [True, False])
def test_a_page_shows_what_the_diff_says(many: list[Chat], filled: bool) -> None:
    if filled:
        summaries.fill_all()
    held = figures.held_tokens()
    source, missing = summaries.listed() if filled else (figures.ChatFigures.objects.all(), 0)
    chats = list(Chat.objects.select_related("learner"))
    shown = figures.coverage_of(chats, {row.chat_id: row for row in source}, held)
    derived = {row["chat_id"]: row for row in coverage_of_chats()}
    assert missing == 0
    assert {str(pk): row for pk, row in shown.items()} == derived


def test_due_is_what_the_diff_says(many: list[Chat], settings: Any) -> None:
    source, _ = summaries.listed()
    held = figures.held_tokens()
    for budget in (500, 1500, 3000, 4500):
        settings.EXTRACTION_CHUNK_TOKENS = budget
        due = {row["chat_id"] for row in coverage_of_chats() if row["due"]}
        assert {str(row.chat_id) for row in figures.due(source, held)} == due
        assert figures.due_totals(source, held)[0] == len(due)


def test_totals_are_the_sums_of_the_diff(many: list[Chat]) -> None:
    source, _ = summaries.listed()
    derived = coverage_of_chats()
    totals = figures.totals(source, figures.held_tokens())
    for name in ("total_tokens", "covered_tokens", "parked_tokens"):
        assert totals[name] == sum(row[name] for row in derived)
    assert totals["messages"] == sum(row["message_count"] for row in derived)


def test_most_uncovered_first(viewer: Client, many: list[Chat]) -> None:
    shown = [chat.coverage["uncovered_tokens"] for chat in viewer.get("/chats/", {"sort": "uncovered"}).context["page"]]
    assert shown == sorted((row["uncovered_tokens"] for row in coverage_of_chats()), reverse=True)


def test_said_last_and_not_changed_last(viewer: Client) -> None:
    for days, title in ((3, "new"), (1, "old"), (2, "middle")):
        chat = factories.chat(source="chatgpt", external_id=title, title=title)
        said = factories.message("a", "Hello", said_at=MOMENT + timedelta(days=days))
        services.put_messages(chat.pk, [said])
    factories.chat(factories.message("a", "Hello"), source="chatgpt", external_id="x", title="untimed")
    order = [chat.title for chat in viewer.get("/chats/").context["page"]]
    assert order == ["new", "middle", "old", "untimed"]
    order = [chat.title for chat in viewer.get("/chats/", {"sort": "oldest"}).context["page"]]
    assert order == ["old", "middle", "new", "untimed"]
    assert ">unknown<" in viewer.get("/chats/").text
    note = "such chats come last, whether the list begins"
    assert [note in viewer.get("/chats/", {"sort": sort}).text for sort in ("", "oldest", "title")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("state", ["", "due", "unread", "read", "attention", "parked", "running", "failed"])
@pytest.mark.parametrize("sort", ["uncovered", "said"])
def test_the_list_asks_as_often_for_many_chats_as_for_few(viewer: Client, state: str, sort: str) -> None:
    counts = []
    for _ in range(2):
        for status in (Batch.Status.SUCCEEDED, Batch.Status.PARKED):
            for _ in range(3):
                rows.batch(rows.chat(count=4, tokens=1200), status, positions=range(1, 2), run=None)
                rows.run(rows.chat(count=4, tokens=1200), "failed")
                rows.run(rows.chat(count=4, tokens=1200), "running")
        chat = rows.chat(count=4, tokens=1200)
        rows.batch(chat, positions=range(1, 5))
        with CaptureQueriesContext(connection) as captured:
            response = viewer.get("/chats/", {"state": state, "sort": "" if sort == "said" else sort})
        assert response.context["page"].object_list
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_chats_that_are_not_counted_yet_are_told(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        rows.chat(title=f"chat {number}")
    ChatSummary.objects.update(summarised=None)
    monkeypatch.setattr(summaries, "fill", lambda *_: 0)
    monkeypatch.setattr(summaries, "IN_PLACE", 1)
    html = viewer.get("/chats/").text
    assert "2 chats changed just now and are still being counted" in html


ORDERS = ChatFilter.base_filters["sort"].orders


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_pages_from_the_end_are_the_pages_from_the_start(order: tuple[Any, ...]) -> None:
    learners = [services.get_or_create_learner(name) for name in ("Ada", "Bo")]
    for number in range(11):
        Chat.objects.create(learner=learners[number % 2], title=f"chat {number % 4}")
    ChatSummary.objects.filter(chat__title="chat 1").update(tokens=9, last_said_at=MOMENT)
    found = ChatSummary.objects.order_by(*order)
    pages = BothEnds(found, 3)
    assert [row.pk for number in pages.page_range for row in pages.page(number)] == [row.pk for row in found]


def test_home_lists_imports_that_failed(viewer: Client) -> None:
    files = [{"name": "export.json", "size": 10}]
    failed = ChatImport.objects.create(
        files=files, status="failed", error="the disk is full", finished_at=timezone.now()
    )
    for more in ({"status": "succeeded"}, {"status": "failed", "dry_run": True}):
        ChatImport.objects.create(files=[{"name": "other.json", "size": 1}], finished_at=timezone.now(), **more)
    html = viewer.get("/").text
    assert "1 import of chats that failed" in html
    assert "export.json" in html
    assert "the disk is full" in html
    assert "other.json" not in html
    assert 'href="/imports/' not in html  # its pages are for those who import
    viewer.force_login(rows.staff_user("add_chatimport", username="importer"))
    assert f'href="{reverse("import", args=[failed.pk])}"' in viewer.get("/").text
