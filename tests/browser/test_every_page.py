"""Every page, wide and on a phone, light and dark: it fits, it is accessible, and nothing is refused or fetched.

The pages are those of the routes: a new one is visited because it is there.
"""

from urllib.parse import urlencode
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from coverage.models import Chat
from extraction.merging import resolving
from extraction.models import Run
from osii.library import methods
from osii.models import ChatImport, Collection
from osii.talk import turns, writing
from osii.web import urls
from tests.osii import review_rows, rows
from tests.osii.library import rows as library_rows

LONG = "A-very-long-name-without-any-space-" * 6 + "光合作用と気孔の開閉について.md"

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 800}

AXE = {"resultTypes": ["violations"], "preload": False}

SAID_IN = "[...document.querySelectorAll('[role=status], [role=log], [aria-live], output')].map(one => one.id)"
"""Where screen readers are told what changes; alerts interrupt, and are another thing."""

LEAVES = "logout"
"""The one route that no visit may follow."""

SENT_ON = {"intake-upload", "import-create", "chat-live", "import-live", "processing-live"}
"""Addresses of forms and of fragments, which send whoever goes there to their page."""

WITHOUT_FILES = {"document-source", "document-artifact"}
"""Of a document whose files are not there."""


@pytest.fixture
def arguments(transactional_db) -> dict[str, object]:
    """Something that is there for each kind of argument that a route takes, with long names."""
    chat = rows.chat(count=6, title=LONG)
    batch = rows.batch(chat, positions=range(1, 4))
    proposition = rows.proposition(f"Stomata close in drought ({LONG}).")
    rows.instance(proposition, chat)
    talk = review_rows.read(review_rows.talk("Snow melts.", "Yes.", "Lead sinks.", title=LONG))
    decided = review_rows.waiting(talk, f"Lead sinks ({LONG}).", review_rows.item(talk, "m3.0", "Lead sinks"))
    resolving.decide(decided.pk, "accept", actor="somebody")
    document = rows.document(LONG)
    library_rows.version(document)
    library_rows.output(rows.version(document), methods.wanted("chunks"))
    return {
        "chat_id": chat.pk,
        "batch_id": batch.pk,
        "candidate_id": decided.pk,
        "resolution_id": decided.resolutions.latest("created_at").pk,
        "proposition_id": proposition.pk,
        "file_id": document.pk,
        "extraction_id": document.primary_id,
        "collection_id": Collection.objects.create(name=LONG[:100]).pk,
        "import_id": ChatImport.objects.create(files=[{"name": LONG, "size": 1}]).pk,
        "run_id": library_rows.run(document, learner=chat.learner).pk,
        "action": "cancel",
        "name": "chats",
    }


def uploaded(user: User) -> str:
    """Where the upload of a file is looked at before it is added."""
    client = Client()
    client.force_login(user)
    data = {"files": SimpleUploadedFile(LONG, b"Ice floats."), "complete": "yes"}
    return client.post(reverse("intake-upload"), data)["Location"]


@pytest.fixture
def addresses(arguments, admin, rq_connection, settings, tmp_path) -> dict[str, str]:
    """One address of each route, and more of those that look another way in another state."""
    settings.OSII_SOURCE_ROOTS = [str(tmp_path)]
    (tmp_path / "notes.md").write_text("Ice floats.")
    waits = review_rows.waiting(review_rows.read(review_rows.talk("Snow melts.", title=LONG)), f"Snow melts {LONG}.")
    parked = rows.batch(rows.chat(title=LONG), "parked", error=f"It failed at {LONG}")
    rows.run(rows.chat(title=LONG), Run.Status.FAILED, error=f"It failed at {LONG}")
    learner = Chat.objects.get(pk=arguments["chat_id"]).learner
    talk = writing.begin(learner, uuid4(), LONG, 1024, "scripted", "")
    list(turns.play(talk.pk))
    document = reverse("document", args=[arguments["file_id"]])
    plan = urlencode({"planned": 1, "ids": arguments["file_id"], "chunks": "on"})
    found = {}
    for route in urls.urlpatterns:
        wanted = {name: arguments.get(name, uuid4()) for name in route.pattern.converters}
        found[route.name] = reverse(route.name, kwargs=wanted)
    tabs = ("text", "source", "extractions", "outputs", "propositions", "lineage")
    return found | {
        "talk-chat": reverse("talk-chat", args=[talk.pk]),
        "intake-uploaded": uploaded(admin),
        "intake-preview": f"{found['intake-preview']}?{urlencode({'path': tmp_path})}",
        "intake-process-documents": f"{found['intake-process-documents']}?{plan}",
        "a plan": f"{found['intake-process']}?{plan}",
        "a candidate that waits": reverse("review-candidate", args=[waits.pk]),
        "a batch that is parked": reverse("batch", args=[parked.pk]),
        "what a topic is given": f"{found['context']}?{urlencode({'topic': LONG, 'learner': learner.pk})}",
        "what a search finds": f"{found['search']}?{urlencode({'q': LONG})}",
        "nothing found": f"{found['chats']}?q=nothing+of+this+name",
        **{f"document {tab}": f"{document}?tab={tab}" for tab in tabs},
    }


def pages_of(addresses: dict[str, str], user: User) -> dict[str, str]:
    """Those that answer a GET with a page: not actions, fragments, files and data. Every one answers as it should."""
    client = Client()
    client.force_login(user)
    found = {}
    for name, address in addresses.items():
        if name == LEAVES:
            continue
        answer = client.get(address)
        allowed = {200, 405} | ({302} if name in SENT_ON else set()) | ({404} if name in WITHOUT_FILES else set())
        assert answer.status_code in allowed, (name, address, answer.status_code)
        is_html = answer.status_code == 200 and answer["Content-Type"].startswith("text/html")
        if is_html and b"<html" in answer.content:
            found[name] = address
    return found


def violations(page: Page) -> list[dict]:
    if page.evaluate("'axe' in window"):  # looked at before in another size
        return page.evaluate("options => axe.run(document, options)", AXE)["violations"]
    return Axe().run(page, options=AXE).response["violations"]


def faults(page: Page) -> list[str]:
    """What is wrong with the page as it stands, one line each."""
    found = [
        f"{violation['impact']} {violation['id']}: {violation['nodes'][0]['target']}"
        for violation in violations(page)
        if violation["impact"] in {"serious", "critical"}
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append("scrolls sideways")
    if (said := page.evaluate(SAID_IN)) != ["announce"]:
        found.append(f"not one polite live region: {said}")
    return found


def faults_everywhere(page: Page, address: str) -> list[str]:
    """What is wrong with it wide and light, and on a phone in the dark."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == 200, address
    found = [f"wide: {one}" for one in faults(page)]
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    return found + [f"phone: {one}" for one in faults(page)]


@pytest.mark.timeout(600)  # some fifty pages, each in two looks
def test_every_page_fits_and_is_accessible(open_context, addresses, admin):
    pages = pages_of(addresses, admin)
    assert len(pages) > 40
    page = open_context(reduced_motion="reduce").new_page()  # no colour is on its way to another when it is looked at
    found = {name: faults_everywhere(page, address) for name, address in pages.items()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_every_page_says_what_to_do_when_it_is_empty(open_context):
    page = open_context(viewport=PHONE, color_scheme="dark").new_page()
    found = {}
    for name in ("home", "chats", "activity", "imports", "review", "propositions", "graph", "documents", "collections"):
        page.goto(reverse(name))
        if wrong := faults(page):
            found[name] = wrong
        assert page.locator("main a, main button, main form").count() > 0, name
    assert found == {}


def test_what_is_wrong_is_found(open_context, watch):
    page = open_context(viewport=PHONE, color_scheme="dark").new_page()
    page.goto(reverse("chats"))
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">styled</p>')")
    page.evaluate("setTimeout(() => { throw new Error('it broke'); })")
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => null)")
    page.wait_for_timeout(100)
    watch.on_request("http://127.0.0.1:9/")
    seen = "\n".join(watch.seen).lower()
    watch.seen.clear()
    assert "inline style" in seen
    assert "connect" in seen
    assert "it broke" in seen
    assert "request to another host: http://127.0.0.1:9/" in seen
    page.set_content("<html><body><img src='data:,'><table width='900'><tr><td>wide</td></tr></table></body></html>")
    found = " ".join(faults(page))
    assert "image-alt" in found
    assert "scrolls sideways" in found
    assert "not one polite live region: []" in found
