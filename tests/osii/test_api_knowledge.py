"""What a learner knows, over HTTP: contexts, propositions with their evidence, forgetting."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.models import Learner
from graphctx.embedding import EmbeddingError, SpaceMismatch
from graphctx.models import Instance, Proposition
from graphctx.selection import select
from tests.osii.api import Caller, learner_caller, staff_caller
from tests.osii.test_api_chats import learn

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    return learner_caller("Ada")


def make(text: str, *, learner: str = "Ada", created_at: datetime | None = None, **more: Any) -> Proposition:
    values = {"kind": "fact", "identity": text} | more
    level = values.pop("level", None)
    row = Proposition.objects.create(learner=Learner.objects.get_or_create(name=learner)[0], text=text, **values)
    if created_at is not None:
        Proposition.objects.filter(pk=row.pk).update(created_at=created_at)
    Instance.objects.create(
        proposition=row,
        document_id="d1",
        extraction_id="e1",
        char_start=0,
        char_end=1,
        quote=text,
        level=level,
        speaker="",
    )
    return row


def texts(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [item["text"] for item in answer.body["items"]]


# --- contexts --------------------------------------------------------------------------------------------------------


def test_a_context_is_what_the_selection_gives(ada: Caller, rq_connection: object) -> None:
    learn(ada, "Copper melts at about 1085 degrees.", "Tin melts at about 232 degrees.")
    body = {"topic": "When does copper melt?", "budget": 512}
    shown = ada.post("/context", body).body
    selection = select(Learner.objects.get(), body["topic"], 512).to_dict()
    assert shown == selection
    assert list(shown) == ["tokens", "count", "budget", "items", "block"]
    assert list(shown["items"][0]) == ["proposition_id", "text", "level", "similarity", "tokens"]
    assert shown["items"][0]["text"] == "Copper melts at about 1085 degrees."
    assert staff_caller().post("/context", body | {"learner": "Ada"}).body == shown
    assert ada.post("/context", {"topic": "Metals"}).body["budget"] == 1024
    assert ada.post("/context", body | {"budget": 0}).body["count"] == 0


def test_a_pasted_book_is_a_topic(ada: Caller) -> None:
    assert ada.post("/context", {"topic": "Copper and tin. " * 100_000}).status == 200


def test_staff_must_name_a_learner_who_exists() -> None:
    staff = staff_caller()
    assert staff.post("/context", {"topic": "x"}).body["errors"][0]["path"] == "learner"
    status, problem = staff.post("/context", {"topic": "x", "learner": "Nobody"})
    assert (status, problem["detail"]) == (404, "There is no learner 'Nobody'.")
    assert not Learner.objects.exists()


def test_an_embedder_that_cannot_be_used_is_said(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise EmbeddingError("the space is another one; run manage.py backfill_embeddings")

    monkeypatch.setattr("graphctx.selection.active_space", refuse)
    status, problem = ada.post("/context", {"topic": "x"})
    assert (status, "backfill_embeddings" in problem["detail"]) == (503, True)
    assert issubclass(SpaceMismatch, EmbeddingError)


# --- propositions ----------------------------------------------------------------------------------------------------


def test_a_proposition_has_the_agreed_shape(ada: Caller, rq_connection: object) -> None:
    chat_id = learn(ada, "Copper melts at about 1085 degrees.")
    row, instance = Proposition.objects.get(), Instance.objects.get()
    shown = {
        "id": str(row.pk),
        "learner": "Ada",
        "text": "Copper melts at about 1085 degrees.",
        "kind": row.kind,
        "level": instance.level,
        "state": "live",
        "instances": [
            {
                "chat_id": str(chat_id),
                "message_id": "m0",
                "document_id": None,
                "extraction_id": None,
                "fingerprint": instance.fingerprint,
                "part": 0,
                "char_start": 0,
                "char_end": len(instance.quote),
                "quote": instance.quote,
                "level": instance.level,
                "speaker": "assistant",
                "occurred_at": None,
                "batch_id": str(instance.batch),
                "live": True,
            }
        ],
        "links": [],
    }
    assert ada.get(f"/propositions/{row.pk}").body == shown
    assert ada.get("/propositions").body == {"items": [shown], "next_cursor": None}


def test_evidence_in_a_document(ada: Caller) -> None:
    row = make("From a document.")
    instance = ada.get(f"/propositions/{row.pk}").body["instances"][0]
    assert (instance["document_id"], instance["extraction_id"]) == ("d1", "e1")
    assert [instance[key] for key in ("chat_id", "message_id", "fingerprint", "batch_id")] == [None] * 4


def test_filters(ada: Caller) -> None:
    make("Copper is a metal, 100 % of it.", level="solid")
    make("Tin is a metal_", kind="decision", level="shaky")
    make("Zinc?", kind="open_question", state="forgotten")
    make("Tin again", learner="Bo")
    for query, found in {
        "": ["Zinc?", "Tin is a metal_", "Copper is a metal, 100 % of it."],
        "q=METAL": ["Tin is a metal_", "Copper is a metal, 100 % of it."],
        "q=%25": ["Copper is a metal, 100 % of it."],
        "q=_": ["Tin is a metal_"],
        "q=%5C": [],
        "mode=text&q=tin": ["Tin is a metal_"],
        "kind=decision": ["Tin is a metal_"],
        "level=solid": ["Copper is a metal, 100 % of it."],
        "level=none": ["Zinc?"],
        "state=forgotten": ["Zinc?"],
        "state=live&kind=fact": ["Copper is a metal, 100 % of it."],
        "learner=Ada&state=superseded": [],
    }.items():
        assert sorted(texts(ada.get(f"/propositions?{query}"))) == sorted(found), query
    staff = staff_caller()
    assert len(texts(staff.get("/propositions"))) == 4
    assert texts(staff.get("/propositions?learner=Bo")) == ["Tin again"]
    assert staff.get("/propositions?learner=Nobody").status == 404


def test_pages_follow_each_other_and_miss_nothing(ada: Caller) -> None:
    """Many have the same time, as those of one batch do; more are learned between two pages."""
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    made = [make(f"Claim {n}", created_at=noon - timedelta(microseconds=n // 3)) for n in range(11)]
    seen: list[str] = []
    cursor = ""
    for page in range(4):
        status, body = ada.get(f"/propositions?limit=3{cursor}")
        assert status == 200
        seen += [item["text"] for item in body["items"]]
        make(f"Later {page}", created_at=noon + timedelta(days=1))
        assert (body["next_cursor"] is None) == (page == 3)
        cursor = f"&cursor={body['next_cursor']}"
    ordered = sorted(
        Proposition.objects.filter(pk__in=[row.pk for row in made]),
        key=lambda row: (-row.created_at.timestamp(), row.pk),
    )
    assert seen == [row.text for row in ordered]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("cursor=nonsense", "cursor"),
        ("cursor=%C3%A9", "cursor"),
        ("cursor=MjAyNi0wMy0wMSB4", "cursor"),
        ("cursor=MjAyNi0wMy0wMVQxMjowMDowMCAwMTkwYTAwMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDE=", "cursor"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("kind=opinion", "kind"),
        ("level=high", "level"),
        ("state=gone", "state"),
        ("mode=magic", "mode"),
        ("q=a%00b", "q"),
        (f"q={'x' * 501}", "q"),
        ("learner=%00", "learner"),
        ("learner=", "learner"),
        ("lerner=Ada", "lerner"),
    ],
)
def test_a_wrong_query_names_the_field(ada: Caller, query: str, path: str) -> None:
    status, problem = ada.get(f"/propositions?{query}")
    assert status == 422
    assert (problem["errors"][0]["in"], problem["errors"][0]["path"]) == ("query", path)


# --- forget this -----------------------------------------------------------------------------------------------------


def test_forgetting_and_taking_back(ada: Caller, rq_connection: object) -> None:
    chat_id = learn(ada, "Copper melts at about 1085 degrees.")
    row = Proposition.objects.get()
    for _again in range(2):
        status, shown = ada.post(f"/propositions/{row.pk}/forget")
        assert (status, shown["state"], shown["id"]) == (200, "forgotten", str(row.pk))
    assert ada.post("/context", {"topic": "copper"}).body["count"] == 0
    learn(ada, "Copper melts at about 1085 degrees.")
    assert Proposition.objects.get().state == "forgotten"
    for _again in range(2):
        status, shown = ada.post(f"/propositions/{row.pk}/restore")
        assert (status, shown["state"]) == (200, "live")
    assert ada.post("/context", {"topic": "copper"}).body["count"] == 1
    ada.post(f"/propositions/{row.pk}/forget")
    assert ada.delete(f"/chats/{chat_id}").body["propositions"]["forgotten"] == 1
    status, problem = ada.post(f"/propositions/{row.pk}/restore")
    assert (status, "erased" in problem["detail"]) == (409, True)
    assert ada.get(f"/propositions/{row.pk}").body["text"] == "(forgotten)"
    assert ada.post(f"/propositions/{uuid4()}/forget").status == 404


# --- cost ------------------------------------------------------------------------------------------------------------


def test_the_queries_of_a_list_do_not_grow(ada: Caller) -> None:
    ada.get("/propositions")
    counts = []
    for _size in range(2):
        for n in range(12):
            row = make(f"Claim {_size} {n}")
            for start in range(3):
                Instance.objects.create(
                    proposition=row, char_start=start, char_end=9, quote="x", speaker="user",
                    document_id="d", extraction_id="e",
                )  # fmt: skip
        with CaptureQueriesContext(connection) as queries:
            ada.get("/propositions?limit=200")
        counts.append(len(queries))
    assert counts == [5, 5]  # the token, the ids, the propositions, their evidence, their links
