"""The main job of chats in a browser: import, read the rest, abort, again, review, and back to the evidence; by mouse, by
keyboard alone and without script.

Also what goes wrong around it: an expired session, the Back button, two tabs.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from coverage.models import Chat
from extraction.models import ReviewSetting, Run
from graphctx.models import Proposition
from tests.browser.people import WAYS, Mouse
from tests.osii import review_rows, rows

EXPORT = Path(settings.BASE_DIR, "osii", "samples", "chats", "tutoring-photosynthesis.json")


def imported(person: Mouse, work: Callable[[str], None]) -> Chat:
    page = person.page
    page.goto("/imports/")
    person.give(page.get_by_label("Files"), EXPORT)
    person.press(page.get_by_role("button", name="Upload and import"))
    expect(page.locator("#import-live")).to_be_visible()
    work("library")
    person.until(lambda: expect(page.locator("#import-live")).to_contain_text("1 conversation"))
    person.press(page.get_by_role("link", name="See chats"))
    person.press(page.get_by_role("link", name="Photosynthesis before the biology test"))
    return Chat.objects.get()


@pytest.mark.parametrize("way", WAYS)
def test_from_an_export_to_the_evidence_of_a_proposition(
    open_context, work, work_here, reading, hold, settings, rq_connection, way
):
    page = open_context(java_script_enabled=way != "no script").new_page()
    person = WAYS[way](page)
    settings.EXTRACTION_CHUNK_TOKENS = 1_000
    chat = imported(person, work if way == "mouse" else work_here)
    ReviewSetting.objects.create(learner=chat.learner, mode="manual")
    percent, live = page.locator(".live-percent"), page.locator("#chat-live")
    expect(percent).to_have_text("0 %")

    # The page follows the run; it is told to stop while it reads, and what was read stays read.
    person.press(page.locator("#extract-rest"))
    expect(page.locator("#abort-run")).to_be_visible()
    first = reading(Run.objects.get(), hold)
    assert hold.reached.wait(timeout=30)
    person.until(lambda: expect(live).to_contain_text("1 batch done"))
    expect(percent).not_to_have_text("0 %")
    person.press(page.locator("#abort-run"))
    expect(live).to_contain_text("Abort requested")
    hold.go.set()
    first.result(timeout=30)
    person.until(lambda: expect(page.locator("#extract-rest")).to_be_visible())
    expect(percent).not_to_have_text("0 %")
    expect(percent).not_to_have_text("100 %")

    person.press(page.locator("#extract-rest"))
    expect(page.locator("#abort-run")).to_be_visible()
    reading(Run.objects.latest("queued_at")).result(timeout=60)
    person.until(lambda: expect(percent).to_have_text("100 %"))
    assert [run.status for run in Run.objects.order_by("queued_at")] == ["aborted", "succeeded"]

    assert not Proposition.objects.exists()
    page.goto(f"/review/?chat={chat.pk}")
    person.press(page.locator("a[data-queue-row]").first)
    claim = page.get_by_role("heading", level=1).inner_text()
    if way == "keyboard":
        page.keyboard.press("a")
    else:
        person.press(page.get_by_role("button", name="Accept", exact=False).first)
    expect(page.get_by_role("heading", level=1)).not_to_have_text(claim)  # on to the next one
    proposition = Proposition.objects.get()
    assert proposition.text == claim

    page.goto(f"/propositions/{proposition.pk}/")
    quote = page.locator(".evidence .quote").first.inner_text()
    person.press(page.locator(".evidence figcaption a").first)
    expect(page).to_have_url(re.compile(rf"/chats/{chat.pk}/.*#"))
    shown = page.locator(f"{'#' + page.url.partition('#')[2]}").inner_text()
    assert " ".join(quote.split()) in " ".join(shown.split())
    page.go_back()
    expect(page.locator(".evidence .quote").first).to_have_text(quote)


def log_in(page: Page) -> None:
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("a lamp in the dark")
    page.get_by_role("button", name="Log in").click()
    expect(page).not_to_have_url(re.compile("/login/"))


def test_an_expired_session_asks_to_log_in_and_comes_back(page):
    chat = rows.chat(title="A lamp")
    page.goto(f"/chats/{chat.pk}/")
    Session.objects.all().delete()
    page.locator("#extract-rest").click()
    expect(page).to_have_url(re.compile("/login/"))
    assert not Run.objects.exists()
    log_in(page)
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    # A page that asks by itself how far a run is: the whole page goes to the login, no form appears inside of it.
    rows.run(chat, "queued")
    page.goto(f"/chats/{chat.pk}/")
    expect(page.locator("#abort-run")).to_be_visible()
    Session.objects.all().delete()
    expect(page).to_have_url(re.compile(rf"/login/\?next=/chats/{chat.pk}/"))
    log_in(page)
    expect(page.locator("#abort-run")).to_be_visible()


def test_filters_are_in_the_address_and_back_returns_to_them(page):
    for title in ("A lamp", "A tree"):
        rows.chat(title=title)
    page.goto("/chats/")
    search = page.locator("main").get_by_role("searchbox")
    search.fill("lamp")
    search.press("Enter")
    expect(page.get_by_role("link", name="A tree")).to_have_count(0)
    page.get_by_role("link", name="A lamp").click()
    page.go_back()
    expect(page.get_by_role("link", name="A lamp")).to_be_visible()
    expect(page.get_by_role("link", name="A tree")).to_have_count(0)
    assert "lamp" in page.url
    page.go_back()  # inside of the list: the page is loaded anew, with all that its scripts set up
    expect(page.get_by_role("link", name="A tree")).to_be_visible()
    assert "lamp" not in page.url
    for shown in (page.locator("#theme-toggle"), page.locator("[data-pick-all]")):
        expect(shown).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


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
