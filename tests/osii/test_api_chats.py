"""Chats over HTTP: begun, stored, finished, read, deleted, whatever is repeated or late."""

import itertools
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage import invariants as coverage_invariants
from coverage.models import Chat, CoverageEntry, Learner, Message
from extraction import invariants
from extraction.models import Run
from extraction.running import leases, runs
from extraction.selectors import chat_coverage
from graphctx.models import Proposition, Steer
from graphctx.steers import prepare, steer_id
from tests.factories import quiz
from tests.osii.api import Caller, learner_caller, staff_caller, ui

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    return learner_caller("Ada")


@pytest.fixture(autouse=True)
def _sound() -> Any:
    yield
    assert [*coverage_invariants.check(), *invariants.check()] == []


def order(chat_id: UUID) -> list[str]:
    stored = Message.objects.filter(chat=chat_id, position__isnull=False).order_by("position")
    return list(stored.values_list("message_id", flat=True))


# --- begin and settings ----------------------------------------------------------------------------------------------


def test_beginning_a_chat(ada: Caller) -> None:
    settings = {"graph_context_tokens": 256, "model": "m", "thinking": {"effort": "high"}}
    status, chat = ada.post("/chats", {"title": "Metals", "settings": settings})
    assert status == 201
    row = Chat.objects.get(pk=chat["id"])
    assert chat == {
        "id": str(row.pk),
        "learner": "Ada",
        "title": "Metals",
        "source": "api",
        "settings": settings | {"interactive_tools": None},
        "started_at": None,
        "finished_at": None,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
    }
    assert ada.get(f"/chats/{row.pk}").body == chat | {"messages": []}


def test_beginning_twice_with_an_id_begins_one_chat(ada: Caller) -> None:
    body = {"id": str(uuid4()), "title": "Metals"}
    first, again = ada.post("/chats", body), ada.post("/chats", body | {"title": "Other"})
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    status, problem = learner_caller("Bo").post("/chats", body)
    assert (status, "Metals" in str(problem)) == (409, False)
    assert Chat.objects.count() == 1


def test_staff_name_the_learner_and_a_new_name_makes_one() -> None:
    staff = staff_caller()
    assert staff.post("/chats", {"learner": " Cy "}).body["learner"] == "Cy"
    assert Learner.objects.get().name == "Cy"
    status, problem = staff.post("/chats", {})
    assert (status, problem["errors"][0]["path"]) == (422, "learner")


def test_settings_change_by_field(ada: Caller) -> None:
    chat_id = ada.begin(settings={"model": "m"})
    url = f"/chats/{chat_id}/settings"
    defaults = {"graph_context_tokens": 1024, "model": "m", "thinking": None, "interactive_tools": None}
    assert ada.put(url, {}).body == defaults
    assert ada.put(url, {"thinking": "deep"}).body == defaults | {"thinking": "deep"}
    assert ada.put(url, {"graph_context_tokens": 0, "model": None}).body == {
        "graph_context_tokens": 0,
        "model": None,
        "thinking": "deep",
        "interactive_tools": None,
    }


def test_the_budget_is_fixed_by_the_first_message(ada: Caller) -> None:
    chat_id = ada.begin()
    url = f"/chats/{chat_id}/settings"
    ada.put(f"/chats/{chat_id}/messages", [ui("a", "Hello")])
    status, problem = ada.put(url, {"graph_context_tokens": 128, "model": "m"})
    assert (status, problem["errors"][0]["path"]) == (409, "graph_context_tokens")
    assert ada.get(f"/chats/{chat_id}").body["settings"] == {
        "graph_context_tokens": 1024,
        "model": None,
        "thinking": None,
        "interactive_tools": None,
    }
    assert ada.put(url, {"graph_context_tokens": 1024, "model": "m"}).body["model"] == "m"


@pytest.mark.parametrize("wrong", [100, -128, 4224, 10**30, 1.5, 128.0, "128", True, None, [128], {}])
def test_a_wrong_budget_answers_with_the_allowed_ones(ada: Caller, wrong: Any) -> None:
    chat_id = ada.begin()
    for answer in (
        ada.put(f"/chats/{chat_id}/settings", {"graph_context_tokens": wrong}),
        ada.post("/chats", {"settings": {"graph_context_tokens": wrong}}),
        ada.post("/context", {"topic": "x", "budget": wrong}),
    ):
        assert answer.status == 422
        error = answer.body["errors"][0]
        assert error["allowed"] == list(range(0, 4097, 128))
        assert "0 to 4096 in steps of 128" in error["message"]


# --- storing ---------------------------------------------------------------------------------------------------------


def test_messages_are_stored_as_they_are(ada: Caller) -> None:
    chat_id = ada.begin()
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm", "providerMetadata": {"x": {"signature": "…"}}},
        {"type": "text", "text": "Naïve 你好 👩‍🔬 \\u0000 <script>", "state": "done"},
        quiz("2 + 2?", "4", correct=True),
        {"type": "dynamic-tool", "toolName": "search", "toolCallId": "2", "state": "output-error", "errorText": "no"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
        {"type": "source-url", "sourceId": "1", "url": "https://example.org"},
        {"type": "data-chart", "id": "c", "data": {"n": [1, 2.5, None, True, 1e-7, 123456789012345678901]}},
    ]
    message = {"id": "a/b c?d=#é", "role": "assistant", "parts": parts, "metadata": {"model": "m", "version": 3}}
    status, put = ada.put(f"/chats/{chat_id}/messages", [ui("q", "Two plus two?"), message])
    assert (status, put) == (
        200,
        {
            "chat_id": str(chat_id),
            "added": ["q", "a/b c?d=#é"],
            "changed": [],
            "moved": [],
            "unchanged": [],
            "stale": [],
        },
    )
    stored = ada.get(f"/chats/{chat_id}").body["messages"]
    assert stored == [ui("q", "Two plus two?"), message]
    assert ada.put(f"/chats/{chat_id}/messages", stored).body["unchanged"] == ["q", "a/b c?d=#é"]


QUESTION, ANSWER = ui("q", "Why is copper red?"), ui("a", "Its electrons absorb blue.", "assistant")


@pytest.mark.parametrize(
    "body",
    [
        [QUESTION, ANSWER],
        {"messages": [QUESTION, ANSWER], "responseMessage": ANSWER, "isContinuation": False, "isAborted": False},
        {"messages": [QUESTION, ANSWER], "message": ANSWER, "isAbort": False, "isDisconnect": False, "isError": False},
        {"messages": [QUESTION], "responseMessage": ANSWER, "finishReason": "stop"},
        {"messages": [QUESTION, ANSWER]},
    ],
    ids=["list", "onFinish on the server", "onFinish of useChat", "answer apart", "messages only"],
)
def test_what_on_finish_has_at_hand_is_stored_unchanged(ada: Caller, body: Any) -> None:
    chat_id = ada.begin()
    assert ada.put(f"/chats/{chat_id}/messages", body).body["added"] == ["q", "a"]
    assert ada.get(f"/chats/{chat_id}").body["messages"] == [QUESTION, ANSWER]


def test_the_response_message_alone_is_appended(ada: Caller) -> None:
    chat_id = ada.begin()
    url = f"/chats/{chat_id}/messages"
    ada.put(url, [QUESTION])
    assert ada.put(url, {"responseMessage": ANSWER, "messages": None}).body["added"] == ["a"]
    assert order(chat_id) == ["q", "a"]


def test_nothing_to_store_changes_nothing(ada: Caller) -> None:
    chat_id = ada.begin()
    for body in ([], {"messages": []}):
        status, put = ada.put(f"/chats/{chat_id}/messages", body)
        assert (status, put["added"]) == (200, [])


@pytest.mark.parametrize("deliveries", list(itertools.permutations(range(3))))
def test_deliveries_in_any_order_end_the_same(ada: Caller, deliveries: tuple[int, ...]) -> None:
    """Three turns, each delivered with the transcript as it was then; the quiz is answered in the last."""
    asked = ui("b", "Try this.", "assistant")
    asked["parts"].append(quiz("2 + 2?"))
    answered = asked | {"parts": [asked["parts"][0], quiz("2 + 2?", "4", correct=True)]}
    turns = [[QUESTION], [QUESTION, asked], [QUESTION, answered, ui("c", "More?"), ui("d", "Yes.", "assistant")]]
    chat_id = ada.begin()
    for index in (*deliveries, *deliveries):
        assert ada.put(f"/chats/{chat_id}/messages", {"messages": turns[index]}).status == 200
    assert ada.get(f"/chats/{chat_id}").body["messages"] == turns[2]


def test_a_stale_content_is_reported(ada: Caller) -> None:
    chat_id = ada.begin()
    url = f"/chats/{chat_id}/messages"
    newer, older = (ui("a", text, metadata={"version": n}) for text, n in (("New", 2), ("Old", 1)))
    ada.put(url, [newer])
    status, put = ada.put(url, [older, ui("b", "More")])
    assert (status, put["stale"], put["added"]) == (200, ["a"], ["b"])
    assert ada.get(f"/chats/{chat_id}").body["messages"][0] == newer


def test_the_time_of_a_message_is_kept(ada: Caller) -> None:
    chat_id = ada.begin()
    ada.put(
        f"/chats/{chat_id}/messages",
        [ui("a", "x", metadata={"createdAt": 1772366400000}), ui("b", "y", createdAt="2026-03-01T12:00:00Z")],
    )
    times = {row.said_at.isoformat() for row in Message.objects.all()}
    assert times == {"2026-03-01T12:00:00+00:00"}


# --- the steer begins ------------------------------------------------------------------------------------------------


def test_the_first_user_message_begins_the_steer_once(ada: Caller, rq_connection: object) -> None:
    chat_id = ada.begin(settings={"graph_context_tokens": 512})
    url = f"/chats/{chat_id}/messages"
    none = {"tokens": 0, "count": 0, "budget": 512, "items": [], "block": "", "status": "none"}
    assert ada.get(f"/chats/{chat_id}/context").body == none | {"reason": "the chat has no steer"}
    ada.put(url, [ui("s", "Be kind.", "system")])
    assert not Steer.objects.exists()
    ada.put(url, [QUESTION])
    steer = Steer.objects.get()
    assert (steer.pk, steer.topic, steer.budget) == (steer_id(chat_id), "Why is copper red?", 512)
    preparing = ada.get(f"/chats/{chat_id}/context").body
    assert preparing == none | {"status": "preparing", "reason": ""}
    for body in ([QUESTION], [QUESTION, ANSWER], [ui("q", "Something else?")], [ui("c", "And zinc?")]):
        ada.put(url, body)
    assert Steer.objects.get().topic == "Why is copper red?"


def test_a_delivery_that_was_cut_off_before_the_steer_began_is_made_good(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_id = ada.begin()
    url = f"/chats/{chat_id}/messages"
    with monkeypatch.context() as patch:
        patch.setattr("graphctx.steers.begin", lambda _chat_id: 1 / 0)
        assert ada.put(url, [QUESTION]).status == 500
    assert order(chat_id) == []
    assert ada.put(url, [QUESTION]).status == 200
    assert Steer.objects.get().topic == "Why is copper red?"


def test_the_chats_context_has_the_shape_of_a_context(ada: Caller, rq_connection: object) -> None:
    learn(ada, "Copper is red because its electrons absorb blue light.")
    chat_id = ada.begin()
    ada.put(f"/chats/{chat_id}/messages", [QUESTION])
    prepare(steer_id(chat_id))
    shown = ada.get(f"/chats/{chat_id}/context").body
    assert (shown["status"], shown["reason"], shown["count"], shown["budget"]) == ("ready", "", 1, 1024)
    fresh = ada.post("/context", {"topic": "Why is copper red?"}).body
    assert {key: shown[key] for key in fresh} == fresh


# --- reading ---------------------------------------------------------------------------------------------------------


def learn(caller: Caller, *claims: str) -> UUID:
    """A chat whose claims were read, through the API and one run in this process."""
    chat_id = caller.begin()
    messages = [ui(f"m{n}", claim, "assistant") for n, claim in enumerate(claims)]
    assert caller.put(f"/chats/{chat_id}/messages", messages).status == 200
    status, answer = caller.post(f"/chats/{chat_id}/extract", {"mode": "rest"})
    assert status == 202
    assert runs.execute(UUID(answer["run"]["id"])).status == Run.Status.SUCCEEDED
    return chat_id


def test_finish_starts_a_run_when_enough_is_uncovered(ada: Caller, settings: object, rq_connection: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    chat_id = ada.begin()
    url = f"/chats/{chat_id}"
    ada.put(f"{url}/messages", [ui("a", "x" * 1900)])
    assert ada.post(f"{url}/finish").body == {"run": None}
    ada.put(f"{url}/messages", [ui("b", "y" * 200)])
    assert not Run.objects.exists()
    first, again = ada.post(f"{url}/finish").body, ada.post(f"{url}/finish", {}).body
    run = Run.objects.get()
    assert first == again
    assert first["run"] == {
        "id": str(run.pk),
        "chat_id": str(chat_id),
        "mode": "due",
        "status": "queued",
        "worker": "rules",
        "model": "",
        "attempt": 0,
        "error": "",
        "abort_requested": False,
        "following": None,
        "queued_at": run.queued_at.isoformat(),
        "started_at": None,
        "finished_at": None,
    }
    assert ada.post(f"{url}/extract", {"mode": "rest"}).body["run"]["mode"] == "rest"
    assert ada.post(f"{url}/abort").body == {"aborted": True}
    assert ada.post(f"{url}/abort").body == {"aborted": False}


def test_what_is_asked_for_while_a_run_stops_is_told(ada: Caller, rq_connection: object) -> None:
    url = f"/chats/{ada.begin()}"
    run_id = ada.post(f"{url}/extract").body["run"]["id"]
    leases.claim(run_id)
    assert ada.post(f"{url}/abort").body == {"aborted": True}
    said = ada.post(f"{url}/extract", {"mode": "rest"}).body["run"]
    assert (said["id"], said["status"], said["abort_requested"], said["following"]) == (run_id, "running", True, "rest")


def test_coverage_has_the_agreed_shape(ada: Caller, rq_connection: object) -> None:
    chat_id = learn(ada, "Copper melts at about 1085 degrees.")
    ada.put(f"/chats/{chat_id}/messages", [ui("new", "x" * 40)])
    shown = ada.get(f"/chats/{chat_id}/coverage").body
    assert shown == chat_coverage(chat_id)
    assert list(shown) == [
        "chat_id", "total_tokens", "covered_tokens", "uncovered_tokens", "chunk_tokens", "due", "messages",
    ]  # fmt: skip
    assert shown["messages"][1] == {
        "id": "new",
        "position": 2,
        "role": "user",
        "tokens": 10,
        "state": "uncovered",
        "fingerprint": Message.objects.get(message_id="new").fingerprint,
    }


def test_extract_takes_no_body_as_due(ada: Caller, rq_connection: object) -> None:
    chat_id = ada.begin()
    assert ada.post(f"/chats/{chat_id}/extract").body["run"]["mode"] == "due"
    status, problem = ada.post(f"/chats/{chat_id}/extract", {"mode": "all"})
    assert (status, problem["errors"][0]["path"]) == (422, "mode")
    assert "'due' or 'rest'" in problem["detail"]


# --- deleting --------------------------------------------------------------------------------------------------------


def test_deleting_a_message_says_what_becomes_of_its_propositions(ada: Caller, rq_connection: object) -> None:
    claims = ["Copper melts at about 1085 degrees.", "Tin melts at about 232 degrees."]
    chat_id = learn(ada, *claims)
    url = f"/chats/{chat_id}/messages/m0"
    assert Proposition.objects.count() == 2
    status, deleted = ada.delete(url)
    assert status == 200
    fate = {"kept": 0, "out_of_retrieval": 1}
    assert deleted == {"chat_id": str(chat_id), "message_id": "m0", "propositions": fate}
    assert CoverageEntry.objects.filter(kind="release").count() == 1
    status, problem = ada.delete(url)
    assert (status, "m0" in problem["detail"]) == (404, True)
    ada.put(f"/chats/{chat_id}/messages", [ui("m0", claims[0], "assistant")])
    assert [row["state"] for row in ada.get(f"/chats/{chat_id}/coverage").body["messages"]] == ["covered", "reopened"]


@pytest.mark.parametrize(("message_id", "path"), [("a/b/c", "a/b/c"), ("é?#%", "%C3%A9%3F%23%25"), ("..", "..")])
def test_deleting_a_message_with_an_odd_id(ada: Caller, message_id: str, path: str) -> None:
    chat_id = ada.begin()
    ada.put(f"/chats/{chat_id}/messages", [ui(message_id, "x")])
    assert ada.delete(f"/chats/{chat_id}/messages/{path}").body["message_id"] == message_id
    assert order(chat_id) == []


def test_erasing_a_chat_says_what_becomes_of_its_propositions(ada: Caller, rq_connection: object) -> None:
    chat_id = learn(ada, "Copper melts at about 1085 degrees.", "Tin melts at about 232 degrees.")
    learn(ada, "Tin melts at about 232 degrees.")
    status, erased = ada.delete(f"/chats/{chat_id}")
    assert status == 200
    fate = {"kept": 1, "out_of_retrieval": 0, "removed": 1, "forgotten": 0}
    assert erased == {"chat_id": str(chat_id), "messages": 2, "propositions": fate}
    assert ada.delete(f"/chats/{chat_id}").status == 404
    assert ada.get(f"/chats/{chat_id}").status == 404
    assert Proposition.objects.get().text == "Tin melts at about 232 degrees."


# --- cost ------------------------------------------------------------------------------------------------------------


def queries(caller: Caller, method: str, path: str, body: Any = None) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert caller.send(method, path, body).status == 200
    return len(captured)


def test_the_queries_of_a_route_do_not_grow_with_the_chat(ada: Caller, rq_connection: object) -> None:
    counts = []
    ada.get("/propositions")  # notes the use of the token
    for size in (2, 60):
        claims = [f"Metal number {n} of {size} melts at {n + 200} degrees." for n in range(size)]
        chat_id = learn(ada, *claims)
        url = f"/chats/{chat_id}"
        same = ada.get(url).body["messages"]
        edited = [message | {"parts": [{"type": "text", "text": "edited"}]} for message in same]
        counts.append(
            {
                "transcript": queries(ada, "GET", url),
                "coverage": queries(ada, "GET", f"{url}/coverage"),
                "context": queries(ada, "GET", f"{url}/context"),
                "settings": queries(ada, "PUT", f"{url}/settings", {"model": str(size)}),
                "unchanged": queries(ada, "PUT", f"{url}/messages", same),
                "edited": queries(ada, "PUT", f"{url}/messages", edited),
                "finish": queries(ada, "POST", f"{url}/finish"),
                "delete": queries(ada, "DELETE", f"{url}/messages/m1"),
                "erase": queries(ada, "DELETE", url),
            }
        )
    assert counts[0] == counts[1]
    assert counts[0]["transcript"] == 4  # the token, the chat, its messages, its steer
    assert counts[0]["coverage"] == 3
