"""Every page: who sees it, what it asks of the database, what it never contains."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from extraction.models import Document
from graphctx.models import Proposition
from osii.templatetags.osii import with_code
from osii.web.statuses import FAMILIES
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """The home page looks at the queues."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client


@pytest.fixture
def pages() -> dict[str, str]:
    """Every page, with something on it."""
    chat = rows.chat()
    done = rows.batch(chat)
    proposition = rows.proposition()
    rows.instance(proposition, chat)
    rows.resolution(rows.candidate(done), proposition)
    document = rows.document()
    return {
        "home": reverse("home"),
        "chats": reverse("chats"),
        "chat": reverse("chat", args=[chat.pk]),
        "activity": reverse("activity"),
        "dock": reverse("dock"),
        "talk": reverse("talk"),
        "batches": reverse("chat-batches", args=[chat.pk]),
        "batch": reverse("batch", args=[done.pk]),
        "propositions": reverse("propositions"),
        "proposition": reverse("proposition", args=[proposition.pk]),
        "graph": reverse("graph"),
        "documents": reverse("documents"),
        "search": reverse("search"),
        "document": reverse("document", args=[document.pk]),
    }


def test_staff_see_every_page(staff, pages):
    for name, url in pages.items():
        response = staff.get(url)
        assert response.status_code == 200, name
        assert "HX-Request" in response["Vary"], name
        assert "no-store" in response["Cache-Control"], name


def test_anonymous_visitors_log_in_and_come_back(client, pages):
    for url in pages.values():
        response = client.get(url)
        assert response.status_code == 302
        assert response["Location"] == f"/login/?next={url}"


def test_accounts_that_are_not_staff_are_refused(client, pages):
    client.force_login(User.objects.create_user("learner"))
    for url in pages.values():
        response = client.get(url)
        assert response.status_code == 403
        assert "These pages are for staff accounts." in response.text


def test_an_expired_session_moves_the_whole_page_to_the_login(client, pages):
    response = client.get(pages["chats"], **HTMX, HTTP_HX_CURRENT_URL=f"http://testserver{pages['chat']}")
    assert response.status_code == 200
    assert response["HX-Redirect"] == f"/login/?next={pages['chat']}"
    assert response.content == b""
    elsewhere = client.get(pages["chats"], **HTMX, HTTP_HX_CURRENT_URL="https://elsewhere.example/x")
    assert elsewhere["HX-Redirect"] == "/login/?next=/"


def test_login_takes_staff_only_and_logout_is_a_post(client):
    User.objects.create_user("learner", password="pw")
    User.objects.create_user("staff", password="pw", is_staff=True)
    refused = client.post("/login/", {"username": "learner", "password": "pw"})
    assert refused.status_code == 200
    assert "This account has no staff status" in refused.text
    assert "no staff status" not in client.post("/login/", {"username": "learner", "password": "no"}).text
    entered = client.post("/login/", {"username": "staff", "password": "pw", "next": "/documents/"})
    assert entered["Location"] == "/documents/"
    assert client.get("/admin/login/").status_code == 302
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_the_address_of_a_form_says_that_it_is_no_page(staff):
    for name, arguments in (("bulk", ["chats", "rest"]), ("collection-create", []), ("talk-begin", [])):
        url = reverse(name, args=arguments)
        for client in (staff, Client()):
            answer = client.get(url)
            assert (answer.status_code, answer["Allow"]) == (405, "POST"), name
            assert "has no page" in answer.text
        assert staff.put(url).content == b""


def test_pages_hold_no_inline_script_or_style_and_name_no_other_host(staff, pages):
    for name, url in pages.items():
        response = staff.get(url)
        html = response.text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", html), name
        assert not re.findall(r"""(?:src|href|action)=["'](?:https?:)?//""", html), name
        policy = response["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


def test_every_page_has_one_heading_a_skip_link_and_named_tables(staff, pages):
    for name, url in pages.items():
        html = staff.get(url).text
        assert len(re.findall(r"<h1[ >]", html)) == 1, name
        assert '<a class="skip-link" href="#main">' in html
        assert html.count("<table") == html.count("<caption"), name
        assert not re.search(r"<th(?![^>]*\sscope=)[ >]", html), name
        assert not re.search(r'<a [^>]*href=""', html), name


def test_one_place_of_a_page_is_read_out_politely(settings):
    places = {
        path.name: found
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        if (found := re.findall(r'<(?:output|[^>]*(?:role="(?:status|log)"|aria-live=))[^>]*>', path.read_text()))
    }
    assert places == {"base.html": ['<div id="announce" class="visually-hidden" role="status" aria-live="polite">']}


def test_a_narrow_window_has_every_entry_in_a_menu_that_needs_no_script(staff):
    html = staff.get(reverse("propositions")).text
    entries = [
        re.findall(r'class="nav-item-link" href="([^"]+)"', nav)
        for nav in re.findall(r"<nav class=\"site-(?:nav|menu-items)\".*?</nav>", html, re.S)
    ]
    assert len(entries) == 2
    assert entries[0] == entries[1] != []
    assert re.search(r'<details class="site-menu">\s*<summary', html)


def test_every_icon_that_a_page_names_is_in_the_vendored_set(settings):
    sprite = (settings.BASE_DIR / "osii/static/vendor/bootstrap-icons/icons.svg").read_text()
    known = set(re.findall(r'<symbol id="([^"]+)"', sprite))
    used = set()
    for template in (settings.BASE_DIR / "templates").rglob("*.html"):
        text = template.read_text()
        used |= set(re.findall(r'{% icon "([^"]+)"', text)) | set(re.findall(r'icon_name="([^"]+)"', text))
        used |= set(re.findall(r'{% nav_item "[^"]+" "([^"]+)"', text))
    needs = (settings.BASE_DIR / "osii/web/attention.py").read_text()
    used |= set(re.findall(r'Need\(\s*"([^"]+)"', needs))
    used |= {status.icon for family in FAMILIES.values() for status in family.values()}
    assert used - known == set()


def queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def many_chats(count: int) -> None:
    for _ in range(count):
        rows.batch(rows.chat(), positions=range(1, 3))


def many_propositions(count: int) -> None:
    chat = rows.chat()
    for number in range(count):
        rows.instance(rows.proposition(f"Claim {Proposition.objects.count()} {number}."), chat)


def many_documents(count: int) -> None:
    for _ in range(count):
        rows.version(rows.document(number=Document.objects.count()))


def many_needs(count: int) -> None:
    for _ in range(count):
        rows.batch(rows.chat(), "parked")
        rows.run(rows.chat(), "failed")
        rows.version(rows.document(number=Document.objects.count()), "failed")
        rows.proposition(f"Claim {Proposition.objects.count()}.")
        rows.chat(count=1, tokens=5000)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("home", many_needs),
        ("home", many_chats),
        ("chats", many_chats),
        ("propositions", many_propositions),
        ("documents", many_documents),
    ],
)
def test_a_list_asks_as_often_for_thirty_rows_as_for_three(staff, name, make: Callable[[int], None]):
    make(3)
    few = queries(staff, reverse(name))
    make(27)
    assert queries(staff, reverse(name)) == few


def test_a_chat_page_asks_as_often_for_thirty_messages_as_for_three(staff):
    small, large = rows.chat(3), rows.chat(30)
    rows.batch(small)
    for start in range(1, 31, 3):
        rows.resolution(
            rows.candidate(rows.batch(large, positions=range(start, start + 3))), rows.proposition(str(start))
        )
    assert queries(staff, reverse("chat", args=[large.pk])) == queries(staff, reverse("chat", args=[small.pk]))


def test_a_proposition_page_asks_as_often_for_thirty_quotes_as_for_three(staff):
    small, large = rows.proposition("Few."), rows.proposition("Many.")
    for claim, count in ((small, 3), (large, 30)):
        chat = rows.chat(count)
        done = rows.batch(chat)
        for position in range(1, count + 1):
            rows.instance(claim, chat, position, batch=done.pk)
            rows.resolution(rows.candidate(done, order=position), claim, "same")
    urls = [reverse("proposition", args=[claim.pk]) for claim in (small, large)]
    assert queries(staff, urls[0]) == queries(staff, urls[1])


def test_document_and_batch_pages_ask_as_often_for_thirty_rows_as_for_three(staff):
    documents = [rows.document(number=n) for n in range(2)]
    batches = [rows.batch(rows.chat(count)) for count in (3, 30)]
    for document, made, count in zip(documents, batches, (3, 30), strict=True):
        for number in range(1, count + 1):
            rows.version(document)
            rows.resolution(rows.candidate(made, order=number), rows.proposition(f"{made.pk} {number}"))
    assert len({queries(staff, reverse("document", args=[document.pk])) for document in documents}) == 1
    assert len({queries(staff, reverse("batch", args=[made.pk])) for made in batches}) == 1


SCRIPT = "<script>alert(1)</script>"


def test_what_people_and_tools_wrote_is_shown_as_text(staff):
    tool = {"type": f"tool-{SCRIPT}", "state": "output-available", "input": {"q": SCRIPT}, "output": {"a": SCRIPT}}
    parts = [
        factories.text(f"{SCRIPT} [x](javascript:alert(1)) <img src=x onerror=alert(1)>"),
        tool,
        {"type": "tool-x", "state": "output-error", "input": None, "errorText": SCRIPT},
        {"type": f"data-{SCRIPT}", "data": SCRIPT},
        {"type": "reasoning", "text": SCRIPT},
        {"type": "file", "filename": SCRIPT, "mediaType": SCRIPT, "url": "javascript:alert(1)"},
        {"type": "source-url", "title": SCRIPT, "url": "javascript:alert(1)"},
        factories.quiz(SCRIPT, SCRIPT, correct=False),
    ]
    chat = factories.chat(
        factories.message("u", parts), factories.message("a", parts, "assistant"), title=SCRIPT, learner=SCRIPT
    )
    done = rows.batch(chat, reason=SCRIPT)
    claim = rows.proposition(SCRIPT, chat.learner)
    rows.instance(claim, chat, quote=SCRIPT)
    rows.resolution(rows.candidate(done, SCRIPT, why_useful=SCRIPT), claim)
    document = rows.document(SCRIPT, learner=chat.learner)
    rows.version(document, "failed", error=SCRIPT)
    rows.run(chat, "failed", error=SCRIPT)
    for name, *args in (
        ("home",), ("chats",), ("chat", chat.pk), ("batch", done.pk), ("propositions",), ("proposition", claim.pk),
        ("graph",),
        ("documents",), ("document", document.pk),
    ):  # fmt: skip
        html = staff.get(reverse(name, args=args)).text
        assert "<script>alert" not in html, name
        assert "<img src=x" not in html, name
        assert 'href="javascript:' not in html, name
    assert "&lt;script&gt;" in staff.get(reverse("chat", args=[chat.pk])).text


def test_what_is_not_there_is_a_designed_404(staff):
    for name in ("chat", "batch", "proposition"):
        response = staff.get(reverse(name, args=["00000000-0000-0000-0000-000000000000"]))
        assert response.status_code == 404
        assert "There is nothing at this address" in response.text
    assert staff.get(reverse("document", args=["sha256-nope"])).status_code == 404
    assert staff.get("/documents/a%00b/").status_code == 404


def test_a_command_in_a_sentence_is_set_as_code(staff):
    rows.proposition("Nothing was embedded.")
    assert "until <code>manage.py backfill_embeddings</code> has run" in staff.get("/").text
    assert with_code("`a` <b>, `<i>` and one `") == "<code>a</code> &lt;b&gt;, <code>&lt;i&gt;</code> and one `"


def test_empty_lists_say_how_to_begin(staff):
    assert "manage.py import_chats" in staff.get("/chats/").text
    assert "manage.py add_files" in staff.get("/documents/").text
    assert "No propositions yet" in staff.get("/propositions/").text
    assert "Nothing waits for you" in staff.get("/").text
