"""What scripts add to the pages: single keys, focus that stays, the one live region, the strip, polling that rests, themes."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from extraction.models import Run
from tests.osii import rows
from tests.osii.test_graph import of_documents


@pytest.fixture
def three_chats(transactional_db) -> None:
    for title in ("A lamp", "A tree", "A wheel"):
        rows.chat(title=title)


def test_keys_go_through_a_list_and_a_swap_is_told_and_leaves_the_focus(page, three_chats):
    page.goto("/chats/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()

    titles = page.locator("main .data-table tbody th a")
    everything, filters = page.locator("#find-everything"), page.locator("#filter-q")
    page.keyboard.press("/")
    expect(everything).to_be_focused()
    page.keyboard.type("jx?")
    expect(everything).to_have_value("jx?")  # no key acts while somebody types
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    expect(filters).to_be_focused()
    page.keyboard.press("Escape")
    for key, at in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(titles.nth(at)).to_be_focused()
    page.keyboard.press("x")
    boxes = page.locator("tbody .cell-pick input")
    assert [box.is_checked() for box in boxes.all()] == [True, False, False]
    page.get_by_label("Choose all on this page").check()
    assert [box.is_checked() for box in boxes.all()] == [True] * 3

    told = page.locator("#announce")
    filters.fill("lamp")
    expect(told).to_have_text("1 chat found")
    expect(filters).to_be_focused()
    filters.fill("")
    expect(told).to_have_text("3 chats found")
    page.locator("#by-title").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Title")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#by-title")).to_be_focused()
    assert titles.all_inner_texts() == ["A lamp", "A tree", "A wheel"]
    expect(page).to_have_url(re.compile(r"[?&]sort=title"))

    titles.first.focus()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys of this page")
    expect(keys.get_by_text("search everything")).to_be_visible()
    expect(keys.get_by_text("next, previous page of the list")).to_be_hidden()  # this list has one page
    keys.get_by_label("Single keys act").uncheck()
    page.keyboard.press("Escape")
    expect(titles.first).to_be_focused()  # where it was
    page.keyboard.press("j")
    expect(titles.first).to_be_focused()


FIRST_THEME = """new MutationObserver((changes, observer) => {
    if (document.body) {
        window.firstTheme = document.documentElement.getAttribute("data-bs-theme") || "auto";
        observer.disconnect();
    }
}).observe(document, {childList: true, subtree: true})"""
"""Which theme a page has when its body begins: before anything is painted."""


def test_the_theme_goes_round_is_kept_and_is_there_from_the_first_paint(page):
    page.add_init_script(FIRST_THEME)
    page.emulate_media(color_scheme="light")
    page.goto("/chats/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light, toggle = page.evaluate(ground), page.locator("#theme-toggle")
    assert page.evaluate("firstTheme") == "auto"
    for name in ("light", "dark"):
        toggle.click()
        expect(page.locator("#theme-name")).to_have_text(name)
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate("firstTheme") == "dark"
    assert page.evaluate(ground) == dark
    toggle.click()
    expect(page.locator("#theme-name")).to_have_text("auto")
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == dark


@pytest.fixture
def asked(page) -> list[str]:
    """What pages ask by themselves of a chat's run."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if "/live/" in request.url else None)
    return found


def pass_time(page: Page, asked: list[str], turns: int) -> int:
    """How often the page asked in so many of its two seconds."""
    before = len(asked)
    for _ in range(turns):
        page.clock.run_for(2_000)
        page.wait_for_timeout(60)  # the answer comes in real time
    return len(asked) - before


def hide(page: Page, hidden: str) -> None:
    """As if its tab were behind another one, or ("false") in front again."""
    page.evaluate(f"Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {hidden}}})")


def test_the_strip_keeps_its_stop_while_a_run_is_polled_which_rests_hidden_and_slows_on_errors(page, asked, watch):
    chat = rows.chat(count=6)
    run = rows.run(chat, "running")
    page.clock.install()
    page.goto(f"/chats/{chat.pk}/")
    stops, told = page.locator("#strip a"), page.locator("#announce")
    expect(stops).to_have_count(6)
    assert [stop.get_attribute("tabindex") for stop in stops.all()] == ["0", *["-1"] * 5]
    assert stops.first.get_attribute("aria-label") == "Message 1, user, 20 tokens: uncovered"
    stops.first.focus()
    for key, at in (("ArrowLeft", 0), ("ArrowRight", 1), ("End", 5), ("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2)):
        page.keyboard.press(key)
        expect(stops.nth(at)).to_be_focused()
    hide(page, "true")
    assert pass_time(page, asked, 3) == 0
    hide(page, "false")
    Run.objects.filter(pk=run.pk).update(abort_requested_at=timezone.now())
    assert pass_time(page, asked, 2) > 0
    expect(page.locator("#chat-live")).to_contain_text("Abort requested")
    expect(told).to_have_text("0 of 120 tokens read.")
    expect(stops.nth(2)).to_be_focused()

    watch.expected.append("503")
    page.route("**/live/**", lambda route: route.fulfill(status=503))
    assert 1 <= pass_time(page, asked, 8) <= 3
    expect(told).to_have_text("The server does not answer. Trying again.")
    page.unroute("**/live/**")
    Run.objects.filter(pk=run.pk).update(status=Run.Status.ABORTED, finished_at=timezone.now())
    page.clock.run_for(30_000)
    expect(told).to_have_text("The run has ended: aborted. 0 of 120 tokens read.")
    assert pass_time(page, asked, 3) == 0
    stops.nth(2).focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#m-3$"))


def test_the_graph_is_walked_by_arrows_and_says_each_node(page):
    chat = rows.chat()
    claim = rows.proposition("Stomata close in drought.", chat.learner)
    rows.instance(claim, chat)
    of_documents(claim, rows.document("leaves.md"))
    page.goto(f"/graph/?learner={chat.learner_id}")
    canvas = page.locator("[data-graph-canvas]")
    expect(canvas).to_be_visible()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-graph-node]")).to_contain_text("Stomata close in drought.")
    expect(page.locator("[data-graph-node]")).to_contain_text("from document: leaves.md")
    expect(page.locator("[data-graph-count]")).to_have_text("Drawn: 1 proposition, 1 chat, 1 document.")
    expect(page.locator("#announce")).to_contain_text("Stomata close in drought.")
