"""The dock of background work: what it counts, that it costs the same whatever there is, and that it disturbs nobody."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.models import Chat
from coverage.services import get_or_create_learner
from extraction.models import Run
from graphctx import steers
from graphctx.models import Steer
from osii import health
from osii.models import ChatImport
from osii.web.dock import SHOWN, read_dock
from tests.osii import rows

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection: object) -> None:
    """Where something waits, the workers are looked for."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("add_chatimport"))
    return client


def steer(status: str, **more: Any) -> Steer:
    chat = Chat.objects.create(learner=get_or_create_learner("Ada"), title=f"A steer that is {status}")
    given = {"text": "x", "tokens": 1, "count": 1, "items": [{}]} if status in {"ready", "offered"} else {}
    reason = {"reason": "the weights are gone"} if status == "failed" else {}
    return Steer.objects.create(
        pk=steers.steer_id(chat.pk), chat=chat, topic="t", budget=1024, status=status, **given, **reason, **more
    )


def fill(times: int = 1) -> None:
    for number in range(times):
        rows.run(rows.chat(title=f"Rome {number}"), "running")
        rows.run(rows.chat(), "queued")
        rows.run(rows.chat(), "failed", error="no model")
        ChatImport.objects.create(files=[{"name": "a.json", "size": 9}], bytes_total=9)
        for status in ("preparing", "ready", "failed"):
            steer(status)


def test_an_empty_dock_says_so(staff: Client) -> None:
    page = staff.get(reverse("dock"), headers=HTMX).text
    assert "Nothing in the background" in page
    assert "Worker offline" not in page


def test_what_runs_waits_and_failed_is_counted_and_listed(staff: Client) -> None:
    fill()
    state = read_dock()
    assert (state.running, state.queued, state.failed, state.failed_steers) == (1, 4, 1, 1)
    page = staff.get(reverse("dock"), headers=HTMX).text
    for text in ("1 running", "4 waiting", "2 failed", "Rome 0", "A steer that is ready", "the weights are gone"):
        assert text in page
    assert f"{reverse('activity')}?view=attention" in page


def test_a_steer_is_in_it_from_the_first_message_to_its_delivery() -> None:
    preparing = steer("preparing")
    assert [row.status for row in read_dock().rows] == ["preparing"]
    Steer.objects.filter(pk=preparing.pk).update(status="ready", text="x", tokens=1, count=1)
    assert [row.status for row in read_dock().rows] == ["ready"]
    Steer.objects.filter(pk=preparing.pk).update(status="offered", offered_at=timezone.now())
    assert [row.status for row in read_dock().rows] == ["offered"]
    Steer.objects.filter(pk=preparing.pk).update(status="delivered", delivered_at=timezone.now())
    assert read_dock().rows == []


def test_a_steer_that_no_turn_took_is_not_shown_for_ever() -> None:
    old = timezone.now() - timedelta(days=2)
    for status in ("ready", "failed"):
        steer(status, created_at=old)
    assert read_dock().rows == []


def test_more_than_fits_is_counted(staff: Client) -> None:
    fill(3)
    state = read_dock()
    assert (len(state.rows), state.more) == (SHOWN, 3 * 6 - SHOWN)
    assert f"{state.more} more in Activity" in staff.get(reverse("dock")).text


def test_it_asks_as_often_whatever_there_is(staff: Client) -> None:
    counts = []
    for times in (1, 4):
        fill(times)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            staff.get(reverse("dock"), headers=HTMX)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 20


def test_an_unchanged_dock_is_not_sent_again(staff: Client) -> None:
    fill()
    seen = {"seen": read_dock().token}
    assert staff.get(reverse("dock"), seen, headers=HTMX).status_code == 204
    Run.objects.filter(status="queued").update(status="aborted", finished_at=timezone.now())
    assert staff.get(reverse("dock"), seen, headers=HTMX).status_code == 200


def test_where_something_waits_and_nobody_works_it_says_so(staff: Client) -> None:
    rows.run(rows.chat(), "queued")
    steer("preparing")
    assert "Worker offline: nobody works on chats and steers." in staff.get(reverse("dock"), headers=HTMX).text
    with patch("osii.web.live.health.workers", return_value=health.Finding("Workers", "ok", "1 alive")):
        assert "Worker offline" not in staff.get(reverse("dock"), headers=HTMX).text


def test_every_page_has_it_and_without_a_script_it_is_a_link(staff: Client) -> None:
    page = staff.get(reverse("chats")).text
    assert f'href="{reverse("dock")}"' in page
    assert f'hx-get="{reverse("dock")}"' in page
    assert "<html" in staff.get(reverse("dock")).text


def test_a_session_that_ended_ends_the_polling_and_takes_no_page_away(client: Client) -> None:
    """htmx stops at 286; a redirect would take the page away from under whoever writes in it."""
    response = client.get(reverse("dock"), headers=HTMX)
    assert (response.status_code, response.content) == (286, b"")
    assert "HX-Redirect" not in response.headers
    assert client.get(reverse("dock")).status_code == 302
    client.force_login(User.objects.create_user("learner"))
    assert client.get(reverse("dock"), headers=HTMX).status_code == 286
    assert client.get(reverse("dock")).status_code == 403
