"""The graph view: the same graph drawn and in a table, within a bound; what a chat contributed; the budget before it begins."""

import json
import re
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.models import Chat, Message
from coverage.services import get_or_create_learner
from extraction.models import Document
from graphctx.models import Instance, Kind, Link, Proposition
from osii.web import graph as drawing
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("change_chat"))
    return client


def link(source: Proposition, target: Proposition, kind: str) -> Link:
    return Link.objects.create(learner=source.learner, source=source, target=target, type=kind)


def data(client: Client, **query) -> dict:
    response = client.get("/graph/data/", query)
    assert response.status_code == 200
    return json.loads(response.content)


def ids(graph: dict) -> set[str]:
    return {node["id"] for node in graph["nodes"]}


@pytest.fixture
def joined() -> list[Proposition]:
    """I joined B supersedes I work at A; B is far follows it; each from a chat of its own, the last from both."""
    chats = [rows.chat(title="First"), rows.chat(title="Second")]
    old = rows.proposition("I work at A.", state="superseded")
    new = rows.proposition("I joined B.", kind="decision")
    far = rows.proposition("B is far away.")
    for claim, chat in ((old, chats[0]), (new, chats[1]), (far, chats[0]), (far, chats[1])):
        rows.instance(claim, chat, level="shaky")
    link(new, old, "supersedes")
    link(far, new, "follows")
    return [old, new, far]


def test_nodes_and_edges_of_a_learner(staff, joined):
    old, new, far = joined
    graph = data(staff)
    chats = {chat.title: f"c:{chat.pk}" for chat in Chat.objects.all()}
    assert ids(graph) == {f"p:{row.pk}" for row in joined} | set(chats.values())
    edges = {(edge["source"], edge["target"], edge["type"]) for edge in graph["edges"]}
    assert edges == {
        (f"p:{new.pk}", f"p:{old.pk}", "supersedes"),
        (f"p:{far.pk}", f"p:{new.pk}", "follows"),
        (chats["First"], f"p:{old.pk}", "gave"),
        (chats["Second"], f"p:{new.pk}", "gave"),
        (chats["First"], f"p:{far.pk}", "gave"),
        (chats["Second"], f"p:{far.pk}", "gave"),
    }
    shown = {node["text"]: node for node in graph["nodes"]}
    assert shown["I work at A."]["state"] == "superseded"
    assert (shown["I joined B."]["kind_word"], shown["I joined B."]["level"]) == ("decision", "shaky")
    assert shown["I joined B."]["label"] == "I joined B. [shaky]"


def test_what_is_out_of_force_is_not_drawn(staff, joined):
    far = joined[2]
    now = timezone.now()
    Link.objects.update(withdrawn_at=now)
    Instance.objects.filter(proposition=far).update(withdrawn_at=now, live=False)
    graph = data(staff)
    assert {edge["type"] for edge in graph["edges"]} == {"gave"}
    assert not [edge for edge in graph["edges"] if edge["target"] == f"p:{far.pk}"]


def test_around_a_proposition_and_in_a_chat(staff, joined):
    far = joined[2]
    around = data(staff, proposition=str(far.pk))
    assert around["focus"] == f"p:{far.pk}"
    assert {node["text"] for node in around["nodes"]} == {"B is far away.", "I joined B.", "First", "Second"}
    assert next(node["more"] for node in around["nodes"] if node["text"] == "I joined B.") == 1
    first = Chat.objects.get(title="First")
    of_chat = data(staff, chat=str(first.pk))
    assert {node["text"] for node in of_chat["nodes"]} == {"First", "I work at A.", "B is far away."}


def test_learners_never_meet(staff, joined):
    other = get_or_create_learner("Berta")
    rows.proposition("Berta’s own.", other)
    assert {node["text"] for node in data(staff, learner=str(other.pk))["nodes"]} == {"Berta’s own."}
    # Nobody chosen: the graph with the newest proposition, and the filter says whose it is.
    page = staff.get("/graph/")
    assert [str(node.proposition) for node in page.context["graph"].nodes] == ["Berta’s own."]
    assert f'<option value="{other.pk}" selected>Berta' in page.text


def test_the_table_has_what_the_drawing_has(staff, joined):
    html = staff.get("/graph/").text
    table = re.search(r"<table.*?</table>", html, re.S).group()
    for row in joined:
        assert f'href="/propositions/{row.pk}/"' in table
    assert "supersedes" in table
    assert "superseded by" in table
    for chat in Chat.objects.all():
        assert f'href="/graph/?chat={chat.pk}"' in table
    assert 'data-graph="/graph/data/"' in html
    # Without a script the drawing stays hidden and no button does nothing.
    assert re.search(r'<section class="graph"[^>]* hidden>', html)


def of_documents(row: Proposition, *documents: Document) -> None:
    Instance.objects.bulk_create(
        Instance(
            proposition=row, document_id=one.pk, extraction_id="text-1", char_start=0, char_end=3, quote="Ice", speaker="document"
        )
        for one in documents
    )  # fmt: skip


def test_a_document_is_a_node_as_a_chat_is(staff, joined):
    new = joined[1]
    document = rows.document("lakes.md", learner=new.learner)
    of_documents(new, document)
    node = f"d:{document.pk}"
    graph = data(staff)
    assert [(one["source"], one["target"], one["type"]) for one in graph["edges"] if node in one.values()] == [
        (node, f"p:{new.pk}", "gave")
    ]
    drawn = next(one for one in graph["nodes"] if one["id"] == node)
    assert (drawn["type"], drawn["text"], drawn["url"]) == ("document", "lakes.md", f"/documents/{document.pk}/")
    around = json.loads(staff.get(drawn["around"]).content)
    assert (ids(around), around["focus"]) == ({node, f"p:{new.pk}"}, node)
    page = staff.get("/graph/").text
    assert page.count(f'href="/graph/?document={document.pk}"') == 2  # in the row, and in the list below
    assert "3 propositions, 2 chats, 1 document." in page
    middle = staff.get(drawn["centre"])
    assert "lakes.md" in middle.text
    assert [one.proposition for one in middle.context["graph"].nodes] == [new]
    tab = staff.get(f"/documents/{document.pk}/", {"tab": "propositions"}).text
    assert f'href="/graph/?document={document.pk}"' in tab
    # Learners never meet, though the document was given to another one since.
    document.learner = get_or_create_learner("Berta")
    document.save()
    assert "No proposition came from this document" in staff.get(drawn["centre"]).text


def test_sources_are_bounded_by_what_they_gave(staff):
    documents = Document.objects.bulk_create(
        Document(file_id=f"sha256-{n:064}", filename=f"{n}.md", size_bytes=1) for n in range(160)
    )
    one, two = rows.proposition("Ice floats."), rows.proposition("Iron sinks.")
    of_documents(one, *documents)
    of_documents(two, documents[-1])
    graph = data(staff)
    assert len(graph["nodes"]) == drawing.NODES
    assert f"d:{documents[-1].pk}" in ids(graph)
    left_out = len(documents) + 2 - drawing.NODES
    assert f"{left_out} more chats or documents are left out" in staff.get("/graph/").text


def test_filters_and_addresses_that_do_not_exist(staff, joined):
    assert {node["text"] for node in data(staff, kind="decision")["nodes"]} == {"I joined B.", "Second"}
    assert data(staff, q="nowhere")["nodes"] == []
    assert "No proposition matches these filters" in staff.get("/graph/", {"q": "nowhere"}).text
    for query in (
        {"proposition": "x"},
        {"chat": "01920000-0000-7000-8000-000000000000"},
        {"kind": "opinion"},
        {"document": "x"},
    ):
        assert staff.get("/graph/data/", query).status_code == 400
        assert staff.get("/graph/", query).status_code == 200


def test_an_empty_graph_says_how_it_fills(staff):
    assert "This graph is empty" in staff.get("/graph/").text
    assert data(staff)["nodes"] == []


def many(count: int) -> Chat:
    chat = rows.chat(1)
    message = chat.messages.get()
    now = timezone.now()
    made = Proposition.objects.bulk_create(
        Proposition(learner=chat.learner, text=f"Claim {n}.", kind="fact", identity=f"{chat.pk} {n}")
        for n in range(count)
    )
    for index, row in enumerate(made):
        row.created_at = now - timedelta(minutes=index)
    Proposition.objects.bulk_update(made, ["created_at"])
    Instance.objects.bulk_create(
        Instance(
            proposition=row, chat=chat, message_id=message.message_id, position=1, fingerprint=message.fingerprint,
            char_start=0, char_end=5, quote="1word", level="solid", speaker="user",
        )
        for row in made
    )  # fmt: skip
    of_documents(made[0], rows.document(f"{count}.md"))
    return chat


def test_a_large_graph_is_bounded_newest_first_and_says_so(staff):
    many(200)
    graph = data(staff)
    assert (graph["shown"], graph["total"]) == (drawing.PROPOSITIONS, 200)
    assert len(graph["nodes"]) <= drawing.NODES
    texts = [node["text"] for node in graph["nodes"] if node["type"] == "proposition"]
    assert texts == [f"Claim {n}." for n in range(drawing.PROPOSITIONS)]
    assert f"The newest {drawing.PROPOSITIONS} of 200 propositions" in staff.get("/graph/").text


def test_a_hub_is_bounded_too(staff):
    many(200)
    hub, *others = Proposition.objects.order_by("created_at")
    Link.objects.bulk_create(Link(learner=hub.learner, source=hub, target=other, type="follows") for other in others)
    graph = data(staff, proposition=str(hub.pk))
    assert (graph["shown"], graph["total"]) == (drawing.PROPOSITIONS, 200)


@pytest.mark.parametrize("of", ["learner", "proposition", "chat"])
def test_the_graph_asks_as_often_for_two_hundred_as_for_one(staff, of):
    def asked(chat: Chat) -> int:
        middle = {
            "learner": {"learner": chat.learner_id},
            "proposition": {"proposition": Proposition.objects.first().pk},
            "chat": {"chat": chat.pk},
        }[of]
        with CaptureQueriesContext(connection) as captured:
            assert staff.get("/graph/", middle).status_code == 200
        return len(captured)

    one = asked(many(1))
    chat = many(200)
    claims = list(Proposition.objects.all()[:50])
    Link.objects.bulk_create(Link(learner=a.learner, source=a, target=b, type="follows") for a, b in pairwise(claims))
    assert asked(chat) == one


# --- What a session contributed ---------------------------------------------------------------------------------------


def test_what_a_session_contributed_by_batch(staff):
    earlier = rows.chat(title="Earlier")
    known = rows.proposition("Ice floats.")
    long_ago = timezone.now() - timedelta(days=3)
    rows.instance(known, earlier, folded_at=long_ago)
    chat = rows.chat(title="Now")
    first = rows.batch(chat, positions=range(1, 3))
    second = rows.batch(chat, positions=range(3, 5))
    fresh = rows.proposition("Iron sinks.")
    rows.instance(known, chat, 1, batch=first.pk, level="shaky", folded_at=long_ago + timedelta(days=1))
    rows.instance(fresh, chat, 3, batch=second.pk, level=None)
    response = staff.get("/graph/", {"chat": chat.pk})
    session = response.context["session"]
    assert (session.new, session.more, session.begun) == (1, 1, True)
    assert [
        (made.batch, [(item.proposition, item.new, list(item.levels)) for item in made.items])
        for made in session.contributions
    ] == [(second, [(fresh, True, [])]), (first, [(known, False, ["shaky"])])]
    assert "more evidence" in response.text
    assert "messages 3–4" in response.text
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", response.text)
    assert staff.get("/graph/", {"chat": earlier.pk}).context["session"].new == 1


def test_a_session_that_was_not_read_contributed_nothing(staff):
    response = staff.get("/graph/", {"chat": rows.chat().pk})
    assert "What this session contributed" in response.text
    assert "Nothing yet." in response.text


def test_before_the_first_message_there_is_the_slider_and_nothing_else(staff):
    chat = factories.chat()
    response = staff.get("/graph/", {"chat": chat.pk})
    assert re.search(r'<input type="range"[^>]* min="0" max="4096" step="128" value="1024"', response.text)
    assert "What this session contributed" not in response.text
    assert "data-graph=" not in response.text
    url = reverse("graph-budget", args=[chat.pk])
    after = staff.post(url, {"tokens": "2048"}, follow=True)
    assert after.redirect_chain[0][0] == f"/graph/?chat={chat.pk}"
    assert "up to 2,048 tokens" in after.text
    assert Chat.objects.get(pk=chat.pk).graph_context_tokens == 2048
    assert "contributes nothing" in staff.post(url, {"tokens": "0"}, follow=True).text


@pytest.mark.parametrize("tokens", ["", "100", "4224", "-128", "many", "1e3"])
def test_a_wrong_budget_names_what_is_allowed(staff, tokens):
    chat = factories.chat()
    response = staff.post(reverse("graph-budget", args=[chat.pk]), {"tokens": tokens})
    assert response.status_code == 422
    assert "0 to 4,096 tokens in steps of 128" in response.text
    assert Chat.objects.get(pk=chat.pk).graph_context_tokens == 1024


def test_once_begun_the_budget_is_fixed(staff, client):
    chat = rows.chat()
    url = reverse("graph-budget", args=[chat.pk])
    response = staff.post(url, {"tokens": "128"})
    assert response.status_code == 409
    assert "The chat has begun" in response.text
    assert Chat.objects.get(pk=chat.pk).graph_context_tokens == 1024
    assert Message.objects.filter(chat=chat).exists()
    assert staff.get(url).status_code == 405
    client.force_login(rows.staff_user(username="viewer"))
    assert client.post(url, {"tokens": "128"}).status_code == 403


def test_every_kind_has_a_shape_in_script_style_and_legend(settings):
    static = settings.BASE_DIR / "osii/static/osii"
    script, style = (static / "graph.js").read_text(), (static / "osii.css").read_text()
    shape = (settings.BASE_DIR / "templates/graph/shape.html").read_text()
    for kind in [*Kind.values, "chat", "document"]:
        assert re.search(rf"^  {kind}: \"", script, re.M), kind
        assert f".graph-kind-{kind} " in style
    assert {kind for kind in Kind.values if f'"{kind}"' not in shape} == set()


def test_the_library_is_served_from_here_with_its_licence(settings, staff):
    vendored = settings.BASE_DIR / "osii/static/vendor/cytoscape"
    assert 'version="3.35.' in (vendored / "cytoscape.min.js").read_text()
    assert "Permission is hereby granted" in (vendored / "LICENSE").read_text()
    page = staff.get("/graph/").text
    assert "vendor/cytoscape/cytoscape.min.js" in page
    # The library adds a style element of this id unless there is one, and the content policy forbids that.
    assert '<link rel="stylesheet" id="__________cytoscape_stylesheet"' in page
    assert "__________cytoscape_stylesheet" in (vendored / "cytoscape.min.js").read_text()
