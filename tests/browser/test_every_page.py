"""Every page, wide and on a phone, light and dark: it fits, it is accessible, and nothing is refused or fetched."""

from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page

from osii.models import ChatImport, Collection
from osii.talk import turns, writing
from tests.osii import rows
from tests.osii.library import rows as library_rows

LONG = "A-very-long-name-without-any-space-" * 6 + "光合作用と気孔の開閉について.md"

LOOKS = {
    "wide": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
}


@pytest.fixture
def addresses(transactional_db) -> dict[str, str]:
    chat = rows.chat(count=6, title=LONG)
    batch = rows.batch(chat, positions=range(1, 4))
    proposition = rows.proposition(f"Stomata close in drought ({LONG}).")
    rows.instance(proposition, chat)
    candidate = rows.candidate(batch)
    rows.resolution(candidate, proposition)
    document = rows.document(LONG)
    rows.version(document)
    library_rows.version(document)
    Collection.objects.create(name=LONG[:100])
    talk = writing.begin(chat.learner, uuid4(), LONG, 1024, "scripted", "")
    list(turns.play(talk.pk))
    run = library_rows.run(document)
    tabs = ("text", "source", "extractions", "outputs", "propositions", "lineage")
    names = (
        *("home", "chats", "activity", "intake", "intake-process", "imports", "review", "propositions"),
        *("context", "graph", "search", "documents", "collections", "talk", "dock", "styleguide"),
    )
    return {
        **{name: reverse(name) for name in names},
        "chat": reverse("chat", args=[chat.pk]),
        "talk chat": reverse("talk-chat", args=[talk.pk]),
        "batches": reverse("chat-batches", args=[chat.pk]),
        "batch": reverse("batch", args=[batch.pk]),
        "candidate": reverse("review-candidate", args=[candidate.pk]),
        "proposition": reverse("proposition", args=[proposition.pk]),
        "import": reverse("import", args=[ChatImport.objects.create(files=[{"name": LONG, "size": 1}]).pk]),
        "run": reverse("processing", args=[run.pk]),
        "remove": reverse("document-remove", args=[document.pk]),
        "clean up": reverse("document-clean-up", args=[document.pk]),
        **{f"document {tab}": reverse("document", args=[document.pk]) + f"?tab={tab}" for tab in tabs},
    }


def faults(page: Page) -> list[str]:
    """What is wrong with the page as it stands, one line each."""
    found = [
        f"{violation['impact']} {violation['id']}: {violation['nodes'][0]['target']}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append("scrolls sideways")
    return found


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_fits_and_is_accessible(open_context, addresses, look):
    page = open_context(**LOOKS[look]).new_page()
    found = {}
    for name, address in addresses.items():
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, name
        if wrong := faults(page):
            found[name] = wrong
    assert found == {}


def test_every_page_says_what_to_do_when_it_is_empty(open_context):
    page = open_context(**LOOKS["phone"]).new_page()
    found = {}
    for name in ("home", "chats", "activity", "imports", "review", "propositions", "graph", "documents", "collections"):
        page.goto(reverse(name))
        if wrong := faults(page):
            found[name] = wrong
        assert page.locator("main a, main button, main form").count() > 0, name
    assert found == {}


def test_what_is_wrong_is_found(open_context):
    page = open_context(**LOOKS["phone"]).new_page()
    page.set_content("<html><body><img src='data:,'><table width='900'><tr><td>wide</td></tr></table></body></html>")
    found = " ".join(faults(page))
    assert "image-alt" in found
    assert "scrolls sideways" in found
