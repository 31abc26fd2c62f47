"""Search by meaning and links over HTTP."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.models import Learner
from graphctx.embedding import SpaceMismatch, active_space, get_embedder
from graphctx.models import EmbeddingSpace, Link, Proposition
from graphctx.vectors import add_vectors
from tests.osii import rows
from tests.osii.api import Caller, learner_caller, staff_caller

pytestmark = pytest.mark.django_db

METALS = ("Copper melts at 1085 degrees.", "Tin melts at 232 degrees.", "Gold is soft.", "Rivers flow to the sea.")


@pytest.fixture
def ada() -> Caller:
    return learner_caller("Ada")


def with_vector(text: str, learner: str = "Ada", **more: Any) -> Proposition:
    row = rows.proposition(text, Learner.objects.get_or_create(name=learner)[0], **more)
    add_vectors(active_space(), row.learner_id, {row.pk: get_embedder().embed_documents([text])[0]})
    return row


def found(caller: Caller, **query: str) -> list[str]:
    status, body = caller.send("GET", "/propositions?" + "&".join(f"{k}={v}" for k, v in query.items()))
    assert status == 200, body
    return [item["text"] for item in body["items"]]


def test_meaning_ranks_one_learners_propositions_by_similarity(ada: Caller) -> None:
    for text in METALS:
        with_vector(text)
    with_vector("Copper melts, says Bo.", "Bo")
    body = ada.get("/propositions?mode=meaning&q=when does copper melt at degrees").body
    assert body["items"][0]["text"] == METALS[0]
    similarity = [item["similarity"] for item in body["items"]]
    assert similarity == sorted(similarity, reverse=True)
    assert {item["text"] for item in body["items"]} == set(METALS)
    assert body["next_cursor"] is None
    vectors = get_embedder().embed_documents([item["text"] for item in body["items"]])
    query = get_embedder().embed_query("when does copper melt at degrees")
    assert similarity == [round(float(score), 4) for score in vectors @ query]


def test_meaning_keeps_to_the_filters_and_finds_what_is_retired(ada: Caller) -> None:
    with_vector("Copper melts at 1085 degrees.", kind="decision")
    with_vector("Copper melts at 1083 degrees.", state="superseded")
    with_vector("Copper is red.", state="forgotten")
    assert found(ada, mode="meaning", q="copper melts", kind="decision") == ["Copper melts at 1085 degrees."]
    assert found(ada, mode="meaning", q="copper melts", state="superseded") == ["Copper melts at 1083 degrees."]
    assert len(found(ada, mode="meaning", q="copper melts")) == 3
    assert len(found(ada, mode="meaning", q="copper melts", limit="2")) == 2


def test_meaning_needs_words_a_learner_and_no_cursor(ada: Caller) -> None:
    staff = staff_caller()
    for caller, query, path in [
        (ada, "mode=meaning", "q"),
        (ada, "mode=meaning&q=%20", "q"),
        (ada, "mode=meaning&q=x&cursor=abc", "cursor"),
        (staff, "mode=meaning&q=x", "learner"),
    ]:
        status, problem = caller.get(f"/propositions?{query}")
        assert (status, problem["errors"][0]["path"]) == (422, path)
    with_vector("Copper is red.")
    assert found(staff, mode="meaning", q="copper", learner="Ada") == ["Copper is red."]
    assert ada.get("/propositions?mode=meaning&q=x&learner=Bo").status == 403


def test_another_models_vectors_are_refused_with_the_command_that_mends_it(ada: Caller) -> None:
    with_vector("Copper is red.")
    EmbeddingSpace.objects.update(model="another", stamp="another")
    status, problem = ada.get("/propositions?mode=meaning&q=copper")
    assert status == 503
    assert "manage.py backfill_embeddings" in problem["detail"]
    assert issubclass(SpaceMismatch, Exception)


def test_text_mode_has_no_similarity_and_finds_by_chat_and_by_missing_evidence(ada: Caller) -> None:
    chat, other = rows.chat(), rows.chat()
    rows.instance(rows.proposition("Here."), chat)
    rows.instance(rows.proposition("There."), other)
    rows.instance(rows.proposition("Gone."), chat, 2, live=False)
    assert "similarity" not in ada.get("/propositions").body["items"][0]
    assert set(found(ada, chat=str(chat.pk))) == {"Here.", "Gone."}
    assert found(ada, state="no_evidence") == ["Gone."]
    assert ada.get("/propositions?chat=x").body["errors"][0]["path"] == "chat"


def test_links_are_read_from_both_ends_and_withdrawn_ones_are_gone(ada: Caller) -> None:
    old, new, next_one = (rows.proposition(text, state=state) for text, state in (
        ("I work at A.", "superseded"), ("I joined B.", "live"), ("B is far away.", "live"),
    ))  # fmt: skip
    Link.objects.create(learner=old.learner, source=new, target=old, type="supersedes")
    Link.objects.create(learner=old.learner, source=next_one, target=new, type="follows")
    taken_back = Link.objects.create(learner=old.learner, source=next_one, target=old, type="contradicts")
    Link.objects.filter(pk=taken_back.pk).update(withdrawn_at=taken_back.created_at)

    def links(row: Proposition) -> list[tuple[str, str]]:
        shown = ada.get(f"/propositions/{row.pk}").body["links"]
        return [(link["type"], link["proposition_id"]) for link in shown]

    assert links(old) == [("superseded_by", str(new.pk))]
    assert links(new) == [("supersedes", str(old.pk)), ("followed_by", str(next_one.pk))]
    assert links(next_one) == [("follows", str(new.pk))]
    listed = {item["id"]: item["links"] for item in ada.get("/propositions").body["items"]}
    assert listed[str(old.pk)] == [{"type": "superseded_by", "proposition_id": str(new.pk)}]


def test_restoring_gives_a_claim_back_as_it_was(ada: Caller) -> None:
    old, new = rows.proposition("I work at A.", state="superseded"), rows.proposition("I joined B.")
    for row in (old, new):
        rows.instance(row, rows.chat())
    link = Link.objects.create(learner=old.learner, source=new, target=old, type="supersedes")
    ada.post(f"/propositions/{old.pk}/forget")
    assert ada.post(f"/propositions/{old.pk}/restore").body["state"] == "superseded"
    assert ada.post(f"/propositions/{old.pk}/restore").body["state"] == "superseded"
    ada.post(f"/propositions/{old.pk}/forget")
    Link.objects.filter(pk=link.pk).update(withdrawn_at=link.created_at)
    assert ada.post(f"/propositions/{old.pk}/restore").body["state"] == "live"


def test_a_search_by_meaning_asks_as_often_for_many_as_for_one(ada: Caller) -> None:
    ada.get("/propositions")  # notes that the token was used
    counts = []
    for size in (1, 40):
        for number in range(size):
            with_vector(f"Claim {size} {number}")
        with CaptureQueriesContext(connection) as queries:
            ada.get("/propositions?mode=meaning&q=claim&limit=200")
        counts.append(len(queries))
    assert counts[0] == counts[1]
