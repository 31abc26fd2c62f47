"""Searching over HTTP, as a command and on the page; and what doctor says of it."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from graphctx.embedding import EmbeddingError
from osii import health
from osii.library.search import semantic
from osii.library.search.find import search
from tests.osii import rows
from tests.osii.api import learner_caller, staff_caller
from tests.osii.library import rows as library
from tests.osii.library.search import chunked

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_model(monkeypatch) -> None:
    def missing(*_arguments) -> None:
        raise EmbeddingError("the model is not there")

    monkeypatch.setattr(semantic, "active_space", missing)


# --- over HTTP -------------------------------------------------------------------------------------------------------


def test_staff_search_all_documents_and_a_learner_their_own() -> None:
    chunked.document("ada.md", "Copper melts.", learner="Ada")
    chunked.document("ben.md", "Copper melts.", learner="Ben")
    chunked.document("nobody.md", "Copper melts.")
    body = {"query": "copper", "mode": "lexical"}

    def names(caller, **more) -> list[str]:
        status, found = caller.post("/search", body | more)
        assert status == 200, found
        return sorted(one["filename"] for one in found["results"])

    assert names(staff_caller()) == ["ada.md", "ben.md", "nobody.md"]
    assert names(staff_caller(), scope={"learner": "Ben"}) == ["ben.md"]
    assert names(staff_caller(), top_k=2) == ["ada.md", "ben.md"]
    ada = learner_caller("Ada")
    assert names(ada) == names(ada, scope={}) == names(ada, scope={"learner": "Ada"}) == ["ada.md"]
    assert names(ada, scope={"names": ["ben*"]}) == []
    assert ada.post("/search", body | {"scope": {"learner": "Ben"}}).status == 403


def test_the_answer_has_the_fields_that_it_says() -> None:
    made = chunked.document("a.md", "Copper melts.")
    (one,) = staff_caller().post("/search", {"query": "copper"}).body["results"]
    assert list(one) == [
        "file_id", "filename", "snippet", "highlights", "score", "chunk_id", "page", "char_start", "char_end",
        "extraction_id",
    ]  # fmt: skip
    assert (one["file_id"], one["highlights"], one["char_end"]) == (made.pk, [[0, 6]], 13)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "query"), ({"query": " "}, "query"), ({"query": "x" * 2001}, "query"), ({"query": "a\0"}, "query"),
        ({"query": "a", "mode": "x"}, "mode"), ({"query": "a", "top_k": 0}, "top_k"), ({"query": "a", "top_k": "5"}, "top_k"),
        ({"query": "a", "scope": {"stale": ["x"]}}, "scope.stale"), ({"query": "a", "scope": {"file_ids": ["x"]}}, "scope.file_ids[0]"),
        ({"query": "a", "scope": {"learner": "Nobody"}}, "scope.learner"), ({"query": "a", "scop": {}}, "scop"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(body, path) -> None:
    status, problem = staff_caller().post("/search", body)
    assert (status, problem["errors"][0]["path"]) == (422, path)


def test_without_a_model_words_are_searched_and_meaning_is_a_503(no_model) -> None:
    chunked.document("a.md", "Copper melts.")
    found = staff_caller().post("/search", {"query": "copper"}).body
    assert (len(found["results"]), found["notes"]) == (1, ["Only words were compared: the model is not there."])
    status, problem = staff_caller().post("/search", {"query": "copper", "mode": "semantic"})
    assert status == 503
    assert "the model is not there" in problem["detail"]


# --- the command -----------------------------------------------------------------------------------------------------


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("search", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_passages_with_their_place(capsys) -> None:
    made = library.document("it.pdf", mime="application/pdf")
    chunked.chunks(library.version(made), "Copper melts at 1085 degrees.", pages=(7,))
    shown = command("copper", "1085", "--mode", "lexical", "--type", "application/pdf")
    assert "it.pdf, page 7, 0–29" in shown
    assert "Copper melts at 1085 degrees." in shown
    assert json.loads(command("copper", "--json"))["results"][0]["page"] == 7
    assert command("copper", "--name", "*.md") == "Nothing was found.\n"
    library.version(library.document("unread.md"))
    assert command("zeppelin", "--mode", "lexical") == "Nothing was found.\n"
    assert "no current chunks: 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the query: say what to look for"),
        (["a", "--top", "0"], "--top: must be from 1 to 100"),
        (["a", "--collection", "Nowhere"], "there is no collection 'Nowhere'"),
        (["a", "--document", "x"], "'x' is not a document's id"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, said) -> None:
    with pytest.raises(CommandError, match=said):
        command(*arguments)


# --- extensions ------------------------------------------------------------------------------------------------------


def test_extensions_that_come_later_are_put_to_use() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX chunk_text_trigrams")
        for tokens in ("word, hword, hword_part", "numword, numhword"):
            sql = f"ALTER TEXT SEARCH CONFIGURATION osii_french ALTER MAPPING FOR {tokens} WITH pg_catalog.french_stem"
            cursor.execute(sql)
    chunked.document("fr.md", "On marche dans la forêt 17a.", language="fr")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert search("foret", "lexical").results == ()
    assert len(search("17a", "lexical").results) == 1
    finding = health.searching()
    assert finding.state == "warn"
    assert "unaccent and pg_trgm" in finding.advice
    assert json.loads(command("--build-index", "--json"))["extensions"] == ["unaccent", "pg_trgm"]
    assert len(search("foret", "lexical").results) == 1
    assert health.searching().state == "ok"
    assert json.loads(command("--build-index", "--json")) | {"space": "", "index": ""} == {
        "space": "", "index": "", "made": False, "extensions": [],
    }  # fmt: skip


# --- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client


def page(client: Client, **asked: object) -> str:
    response = client.get(reverse("search"), asked)
    assert response.status_code == 200
    return response.text


def test_results_lead_to_their_place_and_are_escaped(staff: Client) -> None:
    made = chunked.document("<i>.md", "First.", "The moon <script>alert(1)</script> causes tides.")
    shown = page(staff, q="tides alert", mode="lexical")
    assert f'href="/documents/{made.pk}/?tab=text&amp;at=8&amp;to=56"' in shown
    assert "&lt;script&gt;<mark>alert</mark>(1)" in shown
    assert "<mark>tides</mark>" in shown
    assert "&lt;i&gt;.md" in shown
    assert "<script>alert" not in shown


def test_filters_come_from_the_address_and_stay_on_the_page(staff: Client) -> None:
    made = chunked.document("a.md", "Copper melts.", path="/notes/a.md", learner="Ada")
    chunked.document("b.md", "Copper melts.", path="/other/b.md")
    for given in ({"folder": "/notes"}, {"learner": made.learner.pk}, {"document": made.pk}):
        shown = page(staff, q="copper", mode="lexical", **given)
        assert ("a.md</bdi>" in shown, "b.md</bdi>" in shown) == (True, False), given
    assert f'value="{made.pk}"' in page(staff, q="copper", document=made.pk)
    fragment = staff.get(
        reverse("search"), {"q": "copper", "folder": ""}, HTTP_HX_REQUEST="true", HTTP_HX_TARGET="results"
    )
    assert fragment["HX-Push-Url"] == "/search/?q=copper"
    assert "<html" not in fragment.text


def test_what_cannot_be_answered_is_said(staff: Client, no_model) -> None:
    assert "What are you looking for?" in page(staff)
    assert "Try fewer or other words" in page(staff, q="zeppelin", mode="lexical")
    library.version(library.document("unread.md"))
    assert "without current chunks: 1" in page(staff, q="zeppelin", mode="lexical")
    assert "the model is not there" in page(staff, q="zeppelin", mode="semantic")
    for given in ({"q": "a\0"}, {"q": "x" * 2001}, {"q": "a", "document": "x"}, {"q": "a", "learner": "x"}):
        assert 'class="field-error"' in page(staff, **given) or "document" in given
        assert "search-list" not in page(staff, **given)


def test_the_page_asks_the_same_number_of_queries_however_much_is_found(staff: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert "<mark>" in page(staff, q="copper", top=100)
        return len(captured)

    chunked.vectors(chunked.document("a.md", "Copper melts."))
    few = queries()
    for n in range(25):
        chunked.document(f"{n}.md", "Copper melts.", "Copper wires.")
    assert queries() == few <= 21
