"""The built-in chat as it is streamed, read, and begun again with what was learned; and the dock that watches it."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from coverage.models import Chat
from coverage.services import get_or_create_learner
from extraction.models import Run
from extraction.running import runs
from graphctx.models import Steer
from graphctx.steers import prepare, steer_id
from tests.browser.people import WAYS
from tests.graphctx.conftest import add_propositions


def test_what_is_learned_in_one_chat_opens_the_next(page):
    page.goto("/talk/")
    page.get_by_label("What do you want to learn?").fill("How does the Calvin cycle work?")
    page.get_by_label("Or a new learner").fill("Ada")
    page.get_by_label("What may the graph contribute?").press("ArrowRight")
    expect(page.locator("#budget-value")).to_have_text("1,152 tokens")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#last")).to_contain_text("Tell me in a sentence or two")
    expect(page).not_to_have_url(re.compile("#play"))
    page.get_by_label("Your words").fill("The Calvin cycle takes place in the stroma.")
    page.get_by_role("button", name="Send").dblclick()
    answer = page.get_by_label("The Calvin cycle takes place in the ____.")
    expect(answer).to_be_focused()  # ready to be answered without the mouse
    answer.fill("Stroma")
    answer.press("Enter")
    expect(page.locator("#last")).to_contain_text("Right!")
    first = Chat.objects.get()
    assert first.messages.count() == 5
    page.reload()
    expect(page.locator("#talk")).to_contain_text("Right!")
    page.get_by_role("button", name="Read it now").click()

    # The dock says that nobody reads it, stays open from page to page, and shows when somebody has.
    page.locator("#dock-head").click()
    expect(page.locator("#dock")).to_contain_text("Worker offline: nobody works on chats")
    page.goto("/talk/")
    expect(page.locator("#dock .dock-body")).to_be_visible()
    expect(page.locator("#dock .dock-body")).to_contain_text("How does the Calvin cycle work?")
    prepare(steer_id(first.pk))
    runs.execute(Run.objects.get().pk)
    expect(page.locator("#dock")).to_contain_text("Nothing in the background", timeout=30_000)

    page.get_by_label("What do you want to learn?").fill("More about the Calvin cycle")
    page.get_by_label("Learner", exact=True).select_option("Ada")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_label("The Calvin cycle takes place in the ____.")).to_be_visible()
    prepare(steer_id(Chat.objects.exclude(pk=first.pk).get().pk))
    page.get_by_role("button", name="I don't know").click()
    expect(page.locator("#steer > summary")).to_contain_text("1 proposition")
    expect(page.locator("#last")).to_contain_text("1 thing (1 solid)")
    page.locator("#steer > summary").click()
    expect(page.locator("#steer table")).to_contain_text("The Calvin cycle takes place in the stroma.")
    assert Steer.objects.order_by("-created_at").first().offers == 1


@pytest.mark.parametrize("way", ["keyboard", "no script"])  # by mouse it is part of the way above
def test_a_new_chat_with_a_budget_shows_the_card_of_its_steer(open_context, way):
    page = open_context(java_script_enabled=way != "no script").new_page()
    person, learner = WAYS[way](page), get_or_create_learner("Ada")
    add_propositions(learner, ["The Calvin cycle takes place in the stroma."])
    page.goto("/talk/")
    person.write(page.get_by_label("What do you want to learn?"), "How does the Calvin cycle work?")
    person.choose(page.get_by_label("Learner", exact=True), str(learner.pk))
    person.slide(page.get_by_label("What may the graph contribute?"), 1280)
    person.press(page.get_by_role("button", name="Start"))
    expect(page.get_by_label("The Calvin cycle takes place in the ____.")).to_be_visible()
    chat = Chat.objects.get()
    assert chat.graph_context_tokens == 1280
    prepare(steer_id(chat.pk))
    person.press(page.get_by_role("button", name="I don't know"))
    person.until(lambda: expect(page.locator("#steer > summary")).to_contain_text("1 proposition"))
    person.press(page.locator("#steer > summary"))
    expect(page.locator("#steer table")).to_contain_text("The Calvin cycle takes place in the stroma.")
    expect(page.locator("#steer")).to_contain_text("of at most 1,280")


def test_the_talk_of_an_expired_session_goes_to_the_login_and_keeps_what_was_said(page, watch):
    page.goto("/talk/")
    page.get_by_label("What do you want to learn?").fill("How does the Calvin cycle work?")
    page.get_by_label("Or a new learner").fill("Ada")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#last")).to_contain_text("Tell me in a sentence or two")
    messages = Chat.objects.get().messages.count()
    Session.objects.all().delete()
    page.get_by_label("Your words").fill("The Calvin cycle takes place in the stroma.")
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(re.compile("/login/"))
    assert Chat.objects.get().messages.count() == messages
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("a lamp in the dark")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_label("Your words")).to_be_visible()
