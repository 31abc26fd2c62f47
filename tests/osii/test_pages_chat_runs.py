"""A chat's page while a run reads it, and what staff can do to a chat."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.services import get_or_create_learner
from extraction.models import Batch, LanguageModel, ModelUse, Run
from tests.osii import rows
from tests.osii.chat_pages import EXTRACT, HTMX, redis_of_this_test, staff, viewer

__all__ = ["redis_of_this_test", "staff", "viewer"]

pytestmark = pytest.mark.django_db


def poll(client: Client, html: str) -> HttpResponse:
    """What htmx asks for by the attributes of the live fragment in ``html``."""
    url = re.search(r'id="chat-live"[^>]* hx-get="([^"]+)"', html).group(1)
    return client.get(url.replace("&amp;", "&"), **HTMX)


def test_a_page_polls_only_while_a_run_is_active(staff):
    chat = rows.chat()
    page = reverse("chat", args=[chat.pk])
    assert "every 2s" not in staff.get(page).text
    run = rows.run(chat, "running")
    html = staff.get(page).text
    assert 'hx-trigger="every 2s"' in html
    with CaptureQueriesContext(connection) as captured:
        unchanged = poll(staff, html)
    assert unchanged.status_code == 204
    assert unchanged.content == b""
    assert not any('"bucket"' in query["sql"] for query in captured)
    rows.batch(chat, run=run, positions=range(1, 3))
    with CaptureQueriesContext(connection) as captured:
        moved = poll(staff, html)
    assert any('"bucket"' in query["sql"] for query in captured)
    assert moved.status_code == 200
    assert "40 of 80 tokens read" in moved.text
    assert 'hx-trigger="every 2s"' in moved.text
    assert moved.text.count('class="message-state" hx-swap-oob="true"') == 4
    Run.objects.filter(pk=run.pk).update(status=Run.Status.SUCCEEDED)
    ended = poll(staff, moved.text)
    assert "every 2s" not in ended.text
    assert "The run has ended: succeeded." in ended.text
    assert "<html" not in ended.text


def test_the_live_address_without_htmx_is_the_page(staff):
    chat = rows.chat()
    response = staff.get(reverse("chat-live", args=[chat.pk]))
    assert response["Location"] == reverse("chat", args=[chat.pk])


def test_a_queued_run_without_a_worker_says_so(staff):
    chat = rows.chat()
    rows.run(chat, "queued")
    assert "No worker is online" in staff.get(reverse("chat", args=[chat.pk])).text
    assert "1 run waits, and no worker is online" in staff.get("/").text


def test_extract_the_rest_starts_one_run(staff):
    chat = rows.chat()
    url = reverse("chat-extract", args=[chat.pk])
    assert "Extract the rest" in staff.get(reverse("chat", args=[chat.pk])).text
    for _ in range(2):
        response = staff.post(url, {"mode": "rest"}, follow=True)
        assert "The run that reads the rest, by rules, is queued." in response.text
    assert [run.mode for run in Run.objects.filter(chat=chat)] == ["rest"]


def test_the_worker_and_its_model_are_chosen_where_there_is_a_choice(staff, settings):
    chat = rows.chat()
    page, url = reverse("chat", args=[chat.pk]), reverse("chat-extract", args=[chat.pk])
    assert 'name="reader"' not in staff.get(page).text
    LanguageModel.objects.create(name="fast", model="m-1", key_variable="FAST_API_KEY")
    html = staff.get(page).text
    assert re.findall(r'<option value="([^"]*)">([^<]*)</option>', html) == [
        ("", "rules (default)"),
        ("llm:fast", "llm, fast"),
    ]
    settings.EXTRACTION_WORKER = "llm"
    assert '<option value="rules">' in staff.get(page).text
    for reader, said in (
        ("llm:slow", "there is no model &#x27;slow&#x27;; known: fast"),
        ("none", "there is no extract worker"),
    ):
        answer = staff.post(url, {"mode": "rest", "reader": reader}, follow=True).text
        assert "Nothing was started: " in answer and said in answer
    assert not Run.objects.exists()
    answer = staff.post(url, {"mode": "rest", "reader": "llm:fast"}, follow=True).text
    assert "The run that reads the rest, by llm fast, is queued." in answer
    assert Run.objects.values_list("worker", "model").get() == ("llm", "fast")


def test_what_models_cost_for_a_chat_stands_on_its_page(staff):
    chat = rows.chat()
    batch = rows.batch(chat)
    page = reverse("chat", args=[chat.pk])
    assert "Models cost" not in staff.get(page).text
    for attempt, cost in enumerate(("0.40", "0.10", None), start=1):
        ModelUse.objects.create(
            batch=batch, run=batch.run_id, attempt=attempt, agent="extract-worker", model={"name": "fast"},
            usage={"requests": 2}, cost=cost,
        )  # fmt: skip
    assert "Models cost 0.50 USD for this chat so far, and 1 attempt of unknown price." in staff.get(page).text


def test_extract_due_needs_something_due(staff):
    chat = rows.chat()
    response = staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "due"}, follow=True)
    assert "Nothing is due yet." in response.text
    assert not Run.objects.exists()
    large = rows.chat(count=1, tokens=4000)
    assert "Extract what is due" in staff.get(reverse("chat", args=[large.pk])).text
    staff.post(reverse("chat-extract", args=[large.pk]), {"mode": "due"})
    assert Run.objects.get().mode == "due"


def test_extract_refuses_other_modes_and_chats_that_are_read(staff):
    chat = rows.chat()
    assert (
        "Choose what to extract"
        in staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "all"}, follow=True).text
    )
    rows.batch(chat)
    before = Run.objects.count()
    assert (
        "Nothing is uncovered"
        in staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "rest"}, follow=True).text
    )
    assert Run.objects.count() == before


def test_the_note_of_an_abort_goes_when_the_run_has_ended(staff):
    chat = rows.chat()
    run = rows.run(chat, "running")
    assert "Abort requested." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    live = reverse("chat-live", args=[chat.pk])
    emptied = '<div id="messages" hx-swap-oob="true"></div>'
    assert emptied not in staff.get(live, headers={"HX-Request": "true"}).text
    Run.objects.filter(pk=run.pk).update(status=Run.Status.ABORTED, finished_at=timezone.now())
    assert emptied in staff.get(live, headers={"HX-Request": "true"}).text


def test_what_is_asked_for_while_a_run_stops_is_shown_and_can_be_stopped_too(staff):
    chat = rows.chat()
    rows.run(chat, "running", abort_requested_at=timezone.now())
    page = reverse("chat", args=[chat.pk])
    assert "Then extract the rest" in staff.get(page).text
    said = staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "rest"}, follow=True).text
    assert "The run was told to stop. One for the rest starts when it has." in said
    assert "Abort requested; then a run for the rest" in said
    assert "Then extract the rest" not in said
    assert "Abort that too" in said
    staff.post(reverse("chat-abort", args=[chat.pk]))
    assert "; then a run for" not in staff.get(page).text


def test_the_next_try_after_a_failure_of_the_model_is_told_until_another_run_follows(staff):
    chat = rows.chat(title="\u200b \u2060")
    at = timezone.now() + timedelta(minutes=7, seconds=30)
    rows.run(chat, "failed", error="The model does not answer.", finished_at=timezone.now(), retry_at=at)
    page = reverse("chat", args=[chat.pk])
    told = staff.get(page).text
    assert "Next try, by itself:" in told and f"{at:%Y-%m-%d %H:%M}" in told and "minutes from now" in told
    assert f'<h1 dir="auto">(no title) {chat.pk}</h1>' in told
    assert f'dir="auto">(no title) {chat.pk}</a>' in staff.get(reverse("chats")).text
    rows.run(chat, "queued")
    assert "Next try" not in staff.get(page).text


def test_abort_and_retry(staff):
    chat = rows.chat()
    run = rows.run(chat, "queued")
    assert "Run aborted." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    run.refresh_from_db()
    assert run.status == Run.Status.ABORTED
    assert "No run is active." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    parked = rows.batch(chat, "parked")
    assert "Retry this batch" in staff.get(reverse("batch", args=[parked.pk])).text
    assert "will be read again" in staff.post(reverse("batch-retry", args=[parked.pk]), follow=True).text
    assert Batch.objects.get(pk=parked.pk).status != Batch.Status.PARKED
    assert "is not parked" in staff.post(reverse("batch-retry", args=[parked.pk]), follow=True).text


def test_actions_need_their_permission_a_token_and_a_post(viewer):
    chat = rows.chat()
    parked = rows.batch(chat, "parked")
    urls = [
        reverse("chat-extract", args=[chat.pk]), reverse("chat-abort", args=[chat.pk]), reverse("batch-retry", args=[parked.pk]),
    ]  # fmt: skip
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rows.staff_user(*EXTRACT, username="strict"))
    for url in urls:
        assert viewer.post(url, {"mode": "rest"}).status_code == 403, url
        assert viewer.get(url).status_code == 405, url
        refused = strict.post(url, {"mode": "rest"})
        assert refused.status_code == 403, url
        assert "not sent from a current page" in refused.text
    assert not Run.objects.filter(status__in=Run.ACTIVE).exists()
    assert "Extract the rest" not in viewer.get(reverse("chat", args=[chat.pk])).text


def test_menus_sort_learners_whatever_their_case(staff):
    for name in ("bea", "Cleo", "Ada"):
        get_or_create_learner(name)
    page = staff.get(reverse("chats")).text
    assert re.findall(r"<option[^>]*>(Ada|bea|Cleo)<", page) == ["Ada", "bea", "Cleo"]
    assert "characters ÷ 4" in page
    staff.logout()
    assert "characters ÷ 4" not in staff.get(reverse("login")).text
