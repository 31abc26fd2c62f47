"""The main job of chats in a browser: import, read the rest, abort, again, review by keyboard, and back to the evidence.

Also what goes wrong around it: no script, an expired session, the Back button, two tabs.
"""

import re
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from coverage.models import Chat
from extraction.models import ReviewSetting, Run
from graphctx.models import Proposition
from tests.osii import review_rows, rows

EXPORT = Path(settings.BASE_DIR, "osii", "samples", "chats", "tutoring-photosynthesis.json")


def imported(page: Page, work: Callable[[str], None]) -> Chat:
    page.goto("/imports/")
    page.get_by_label("Files").set_input_files(EXPORT)
    page.get_by_role("button", name="Upload and import").click()
    work("library")
    page.reload()
    expect(page.locator("#import-live")).to_contain_text("1 conversation")
    page.get_by_role("link", name="See chats").click()
    page.get_by_role("link", name="Photosynthesis before the biology test").click()
    return Chat.objects.get()


def test_from_an_export_to_the_evidence_of_a_proposition(page, work):
    chat = imported(page, work)
    ReviewSetting.objects.create(learner=chat.learner, mode="manual")
    expect(page.locator(".live-percent")).to_have_text("0 %")

    page.locator("#extract-rest").click()
    page.locator("#abort-run").click()
    work("chats")
    page.reload()
    page.locator("#extract-rest").click()
    work("chats")
    expect(page.locator(".live-percent")).to_have_text("100 %")  # the page follows the run by itself
    assert [run.status for run in Run.objects.order_by("queued_at")] == ["aborted", "succeeded"]

    assert not Proposition.objects.exists()
    page.goto(f"/review/?chat={chat.pk}")
    page.locator("[data-queue-row]").first.click()
    claim = page.get_by_role("heading", level=1).inner_text()
    page.keyboard.press("a")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(claim)  # on to the next one
    proposition = Proposition.objects.get()
    assert proposition.text == claim

    page.goto(f"/propositions/{proposition.pk}/")
    quote = page.locator(".evidence .quote").first.inner_text()
    page.locator(".evidence figcaption a").first.click()
    expect(page).to_have_url(re.compile(rf"/chats/{chat.pk}/.*#"))
    shown = page.locator(f"{'#' + page.url.partition('#')[2]}").inner_text()
    assert " ".join(quote.split()) in " ".join(shown.split())


def test_the_same_without_script(open_context, work):
    page = open_context(java_script_enabled=False).new_page()
    imported(page, work)
    page.locator("#extract-rest").click()
    work("chats")
    page.reload()
    expect(page.locator(".live-percent")).to_have_text("100 %")


def test_an_expired_session_asks_to_log_in_and_comes_back(page):
    chat = rows.chat(title="A lamp")
    page.goto(f"/chats/{chat.pk}/")
    Session.objects.all().delete()
    page.locator("#extract-rest").click()
    expect(page).to_have_url(re.compile("/login/"))
    assert not Run.objects.exists()
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("a lamp in the dark")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page).not_to_have_url(re.compile("/login/"))


def test_filters_are_in_the_address_and_back_returns_to_them(page):
    for title in ("A lamp", "A tree"):
        rows.chat(title=title)
    page.goto("/chats/")
    search = page.get_by_role("searchbox").first
    search.fill("lamp")
    search.press("Enter")
    expect(page.get_by_role("link", name="A tree")).to_have_count(0)
    page.get_by_role("link", name="A lamp").click()
    page.go_back()
    expect(page.get_by_role("link", name="A lamp")).to_be_visible()
    expect(page.get_by_role("link", name="A tree")).to_have_count(0)
    assert "lamp" in page.url


def test_two_tabs_decide_one_candidate_once(open_context, watch):
    watch.expected.append("409 (Conflict)")
    candidate = review_rows.waiting(review_rows.read(review_rows.talk("Ice floats on water.")), "Ice floats.")
    context = open_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(f"/review/{candidate.pk}/")
    first.locator("#reject-reason").fill("Too vague to be useful")
    first.get_by_role("button", name="Reject").click()
    expect(first.get_by_role("heading", level=1)).to_be_visible()
    second.get_by_role("button", name="Accept", exact=False).first.click()
    expect(second.get_by_role("alert").first).to_be_visible()
    assert not Proposition.objects.exists()
    assert candidate.resolutions.filter(outcome="discard").count() == 1
