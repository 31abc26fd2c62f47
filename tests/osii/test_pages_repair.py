"""Repair from the pages: read again, purge, split; and when each message was read."""

import re
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coverage.importers.checkpoints import imported_batch
from coverage.models import Chat, CoverageEntry
from coverage.services import append_entries, put_messages
from extraction.models import Batch, Run
from extraction.repair import Scope, request_reread
from extraction.selectors import chat_coverage
from graphctx.models import Instance, Proposition
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db

REPAIR = ("add_run", "change_batch", "add_coverageentry", "delete_instance")


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """A split starts a run."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user(*REPAIR))
    return client


@pytest.fixture
def chat() -> Chat:
    made = rows.chat()
    rows.batch(made)
    rows.instance(rows.proposition(), made, 2)
    return made


def page(name: str, row: Chat | Batch) -> str:
    return reverse(name, args=[row.pk])


def states(chat: Chat) -> list[str]:
    return [row["state"] for row in chat_coverage(chat.pk)["messages"]]


def readings(html: str) -> dict[int, str]:
    """The text beside each message's state, by position."""
    found = re.findall(r'id="state-(\d+)" class="message-state"[^>]*>(.*?)<span class="badge-state', html, re.DOTALL)
    return {int(position): " ".join(re.sub(r"<[^>]+>", "", text).split()) for position, text in found}


# --- Read again -------------------------------------------------------------------------------------------------------


def test_a_range_is_named_before_it_is_released(staff, chat):
    assert page("chat-reread", chat) in staff.get(page("chat", chat)).text
    shown = staff.get(page("chat-reread", chat), {"first": 2, "last": 3}).text
    assert "2 messages, 40 tokens" in shown
    assert "2 releases will be appended" in shown
    assert CoverageEntry.objects.filter(kind="release").count() == 0
    done = staff.post(page("chat-reread", chat), {"first": 2, "last": 3}, follow=True).text
    assert "2 messages, 40 tokens, will be read again by the next run." in done
    assert "to be read again" in done
    assert states(chat) == ["covered", "reopened", "reopened", "covered"]
    again = staff.post(page("chat-reread", chat), {"first": 2, "last": 3}, follow=True).text
    assert "Nothing was released" in again


def test_the_whole_chat(staff, chat):
    assert "The whole chat" in staff.get(page("chat-reread", chat)).text
    staff.post(page("chat-reread", chat), {"first": "", "last": ""})
    assert states(chat) == ["reopened"] * 4
    assert "wait to be read anyway" in staff.get(page("chat-reread", chat)).text


@pytest.mark.parametrize(
    ("given", "said"),
    [({"first": 3, "last": 9}, "messages 1 to 4"), ({"first": "x"}, "whole number"), ({"last": 0}, "1")],
)
def test_a_range_that_is_none_changes_nothing(staff, chat, given, said):
    assert said in staff.get(page("chat-reread", chat), given).text
    refused = staff.post(page("chat-reread", chat), given)
    assert (refused.status_code, said in refused.text) == (400, True)
    assert states(chat) == ["covered"] * 4


# --- Purge ------------------------------------------------------------------------------------------------------------


def test_a_purge_names_the_numbers_and_needs_a_choice(staff, chat):
    shown = staff.get(page("chat-purge", chat)).text
    assert "1 piece of evidence" in shown
    assert "1 proposition</strong>" in shown
    assert "4 messages, 80 tokens, will be read again" in shown
    assert "checked" not in shown
    unchosen = staff.post(page("chat-purge", chat))
    assert unchosen.status_code == 400
    assert "Choose what becomes of coverage." in unchosen.text
    assert Proposition.objects.count() == 1


@pytest.mark.parametrize(
    ("choice", "state", "said"),
    [
        ("keep", "covered", "Coverage is kept: nothing of this chat"),
        ("reset", "reopened", "the next run reads 4 messages"),
    ],
)
def test_both_choices_of_a_purge(staff, chat, choice, state, said):
    done = staff.post(page("chat-purge", chat), {"coverage": choice}, follow=True).text
    assert "Removed 1 piece of evidence and 1 proposition." in done
    assert said in done
    assert (Proposition.objects.count(), Instance.objects.count()) == (0, 0)
    assert states(chat) == [state] * 4


def test_a_purge_waits_for_a_run_that_reads(staff, chat):
    rows.run(chat, "running")
    refused = staff.post(page("chat-purge", chat), {"coverage": "keep"})
    assert refused.status_code == 400
    assert "abort it and wait" in refused.text
    assert Instance.objects.count() == 1


def test_a_reset_needs_the_permission_of_a_release(client, chat):
    client.force_login(rows.staff_user("delete_instance"))
    assert "coverage-reset" not in client.get(page("chat-purge", chat)).text
    assert client.post(page("chat-purge", chat), {"coverage": "reset"}).status_code == 403
    assert Instance.objects.count() == 1
    assert client.post(page("chat-purge", chat), {"coverage": "keep"}).status_code == 302


# --- Split ------------------------------------------------------------------------------------------------------------


def test_a_parked_batch_is_split(staff):
    chat = rows.chat()
    parked = rows.batch(chat, "parked", error="It choked.")
    assert page("batch-split", parked) in staff.get(page("chat", chat)).text
    assert "Split between messages and retry" in staff.get(page("batch", parked)).text
    done = staff.post(page("batch-split", parked), follow=True).text
    assert "will be read again as two smaller batches" in done
    halves = Batch.objects.filter(status="failed").order_by("first_position")
    assert [(half.first_position, half.last_position) for half in halves] == [(1, 2), (3, 4)]
    assert Run.objects.get(status="queued").mode == "rest"
    assert states(chat) == ["uncovered"] * 4
    assert "is not parked" in staff.post(page("batch-split", parked), follow=True).text


def test_a_single_message_is_not_split(staff):
    parked = rows.batch(rows.chat(1), "parked")
    assert "Split" not in staff.get(page("batch", parked)).text
    assert "no message is ever split" in staff.post(page("batch-split", parked), follow=True).text
    parked.refresh_from_db()
    assert parked.status == Batch.Status.PARKED


def test_repair_needs_its_permission_and_a_token(client, chat):
    parked = rows.batch(chat, "parked")
    urls = {
        page("chat-reread", chat): {},
        page("chat-purge", chat): {"coverage": "keep"},
        page("batch-split", parked): {},
    }
    client.force_login(rows.staff_user())
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rows.staff_user(*REPAIR, username="strict"))
    shown = client.get(page("chat", chat)).text
    for url, data in urls.items():
        assert client.post(url, data).status_code == 403, url
        assert client.get(url).status_code in {403, 405}, url
        assert strict.post(url, data).status_code == 403, url
        assert url not in shown
    assert states(chat) == ["covered"] * 4
    assert Instance.objects.count() == 1


# --- When a message was read ------------------------------------------------------------------------------------------


def test_each_message_tells_when_it_was_read_and_what_came_of_it(staff):
    chat = factories.chat(*[factories.message(f"m{n}", f"Text {n}.") for n in range(1, 6)])
    batch = rows.batch(chat, positions=range(1, 4), finished_at=datetime(2024, 5, 6, tzinfo=UTC))
    rows.instance(rows.proposition(), chat, 1)
    request_reread(chat.pk, Scope(2, 2))
    put_messages(chat.pk, [factories.message("m3", "Text 3, edited.")])
    imported = imported_batch(chat.pk, datetime(2023, 1, 2, tzinfo=UTC))
    append_entries(chat, chat.messages.filter(message_id="m4"), batch_id=imported)
    html = staff.get(page("chat", chat)).text
    said = readings(html)
    assert re.fullmatch(r"read .* 2024-05-06 00:00 · 1 proposition", said[1])
    assert re.fullmatch(r"read .* 2024-05-06 00:00, to be read again · 0 propositions", said[2])
    assert said[3].startswith("an earlier version was read")
    assert re.fullmatch(r"read .*, before it was imported · 0 propositions", said[4])
    assert said[5] == ""
    assert page("batch", batch) in html
    assert str(imported) not in html


def test_an_equal_message_tells_so(staff):
    chat = factories.chat(factories.message("a", "Yes."))
    rows.batch(chat)
    put_messages(chat.pk, [factories.message("b", "Yes.")], whole_transcript=True)
    assert readings(staff.get(page("chat", chat)).text)[1].startswith("an equal message was read")


@pytest.mark.parametrize("name", ["chat", "chat-reread", "chat-purge"])
def test_as_many_queries_for_a_long_chat_as_for_a_short_one(staff, name):
    def queries(count: int) -> int:
        chat = rows.chat(count)
        rows.batch(chat, positions=range(1, count))
        for position in range(1, count):
            rows.instance(rows.proposition(f"Claim {count} {position}."), chat, position)
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(page(name, chat)).status_code == 200
        return len(captured)

    staff.get(page(name, rows.chat()))
    assert queries(3) == queries(40)
