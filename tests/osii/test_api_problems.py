"""Bad input is an answer that says what is wrong and where, and nothing is half written."""

import gzip
import json
import logging
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from coverage.models import Chat, Message
from tests.osii.api import Caller, learner_caller, ui

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    return learner_caller("Ada")


@pytest.fixture
def url(ada: Caller) -> str:
    return f"/chats/{ada.begin()}/messages"


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


# --- the body --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "status", "words"),
    [
        (b"", 400, "The body is empty"),
        (b"{", 400, "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        (b'[\n{"id": }]', 400, "at line 2, column 8"),
        (b"\xff\xfe\xfa", 400, "not"),
        (b'["\xe9"]', 400, "not UTF-8 at byte 2"),
        (deep(100_000).encode(), 400, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", 400, "too many digits"),
        (b"null", 422, "the body must be a list of UIMessages"),
        (b'"text"', 422, "the body must be a list of UIMessages"),
        (b"7", 422, "the body must be a list of UIMessages"),
        (b"{}", 422, "the body must be a list of UIMessages"),
        (b'{"messages": null}', 422, "the body must be a list of UIMessages"),
        (b'{"messages": {}}', 422, "messages: must be a list, not an object"),
        (b'{"messages": "all"}', 422, "messages: must be a list, not a text"),
    ],
)
def test_a_body_that_is_not_what_it_should_be(ada: Caller, url: str, raw: bytes, status: int, words: str) -> None:
    answer = ada.send("PUT", url, raw=raw)
    assert answer.status == status
    assert words in answer.body["detail"]
    typed = ada.send("POST", "/chats", raw=raw)
    assert typed.status in ({400} if status == 400 and raw else {422, 201})


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x", "", "application/xml", "json"]
)
def test_another_content_type(ada: Caller, url: str, kind: str) -> None:
    for method, path in (("PUT", url), ("POST", "/chats")):
        answer = ada.send(method, path, raw=b"[]", content_type=kind)
        assert answer.status == 415
        assert "application/json" in answer.body["detail"]


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.chat+json", "Application/JSON"])
def test_json_by_other_names(ada: Caller, url: str, kind: str) -> None:
    assert ada.send("PUT", url, raw=b"[]", content_type=kind).status == 200


def test_a_compressed_body_is_not_json(ada: Caller, url: str) -> None:
    answer = ada.send("PUT", url, raw=gzip.compress(b"[]"), headers={"Content-Encoding": "gzip"})
    assert answer.status == 400


def test_a_body_over_the_limit(ada: Caller, url: str, settings: Any) -> None:
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == 32 * 2**20
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20
    answer = ada.put(url, [ui("a", "x" * 2**20)])
    assert answer.status == 200
    for method, path in (("PUT", url), ("POST", "/chats")):
        answer = ada.send(method, path, [ui("b", "x" * 2**21)])
        assert (answer.status, "2 MB at most" in answer.body["detail"]) == (413, True)
    assert Message.objects.count() == 1


def test_a_body_in_chunks(ada: Caller, url: str) -> None:
    for method, path, body in (("PUT", url, b"[]"), ("POST", "/chats", b""), ("POST", "/context", b"")):
        answer = ada.send(method, path, raw=body, headers={"Transfer-Encoding": "chunked"})
        assert (answer.status, answer.body["title"]) == (411, "Length Required")


def test_a_body_that_ends_early(ada: Caller, url: str) -> None:
    class CutOff(BytesIO):
        def read(self, *_size: int) -> bytes:
            raise OSError("connection reset")

    answer = ada.send("PUT", url, raw=b"[]", **{"wsgi.input": CutOff()})
    assert (answer.status, answer.body["detail"]) == (400, "The request body ended early.")


# --- messages --------------------------------------------------------------------------------------------------------


def part(**more: Any) -> dict[str, Any]:
    return {"type": "tool-x", "toolCallId": "1", "state": "input-available", **more}


@pytest.mark.parametrize(
    ("message", "path", "words"),
    [
        ({"role": "user", "parts": []}, "messages[1].id", "must be a text of 1 to 200 characters"),
        (ui("", "x"), "messages[1].id", "must be a text of 1 to 200 characters"),
        (ui("x" * 201, "x"), "messages[1].id", "must be a text of 1 to 200 characters"),
        (ui(7, "x"), "messages[1].id", "must be a text"),  # type: ignore[arg-type]
        (ui("a\x00", "x"), "messages[1].id", "NUL character at offset 1"),
        (ui("fine", "x"), "messages[1].id", "the id 'fine' occurs twice"),
        (ui("a", "x", "tool"), "messages[1].role", "'tool' is not one of system, user, assistant"),
        (ui("a", "x", ["user"]), "messages[1].role", "is not one of"),  # type: ignore[arg-type]
        ({"id": "a", "parts": []}, "messages[1].role", "None is not one of"),
        ({"id": "a", "role": "user", "content": "old"}, "messages[1].parts", "must be a list, not NoneType"),
        ({"id": "a", "role": "user", "parts": {}}, "messages[1].parts", "must be a list, not dict"),
        ({"id": "a", "role": "user", "parts": ["x"]}, "messages[1].parts[0]", "must be an object"),
        ({"id": "a", "role": "user", "parts": [{"type": 1}]}, "messages[1].parts[0]", 'with a text "type"'),
        ({"id": "a", "role": "user", "parts": [{"type": "text"}]}, "messages[1].parts[0].text", "must be a text"),
        (ui("a", "x\x00y"), "messages[1].parts[0].text", "NUL character at offset 1"),
        (ui("a", "xy\ud800"), "messages[1].parts[0].text", "lone surrogate at offset 2"),
        (ui("a", "x", metadata="m"), "messages[1].metadata", "must be an object, not str"),
        (ui("a", "x", metadata={"k": ["\udc00"]}), "messages[1].metadata.k[0]", "lone surrogate"),
        (
            {"id": "a", "role": "user", "parts": [part(), part(input={"a": [1, {"b": "\x00"}]})]},
            "messages[1].parts[1].input.a[1].b",
            "NUL character at offset 0",
        ),
        ({"id": "a", "role": "user", "parts": [part(input={"k\x00": 1})]}, "messages[1].parts[0].input", "NUL"),
        ({"id": "a", "role": "user", "parts": [part(input=float("nan"))]}, "messages[1].parts[0].input", "not a finite"),
        ({"id": "a", "role": "user", "parts": [part(input=json.loads(deep(300)))]}, None, "nested more than 100 levels"),
        ("text", "messages[1]", "must be an object, not a text"),
        (None, "messages[1]", "must be an object, not null"),
    ],
)  # fmt: skip
def test_a_message_that_cannot_be_stored_is_named_with_its_part(
    ada: Caller, url: str, message: Any, path: str | None, words: str
) -> None:
    for body, prefix in (({"messages": [ui("fine", "x"), message]}, "messages"), ([ui("fine", "x"), message], "")):
        status, problem = ada.put(url, body)
        assert status == 422
        error = problem["errors"][0]
        if path is not None:
            assert error["path"] == path.replace("messages", prefix, 1)
        assert words in error["message"]
        assert error["message"] in problem["detail"]
        if error["path"].endswith("role"):
            assert error["allowed"] == ["system", "user", "assistant"]
    assert not Message.objects.exists()


def test_every_bad_message_is_named_up_to_a_number(ada: Caller, url: str) -> None:
    status, problem = ada.put(url, [ui(f"m{n}", "\x00" if n % 2 else "ok") for n in range(100)])
    assert status == 422
    assert [error["path"] for error in problem["errors"]] == [f"[{n}].parts[0].text" for n in range(1, 41, 2)]


def test_the_answer_to_nonsense_is_short(ada: Caller, url: str) -> None:
    answer = ada.put(
        url, [ui("a", "x", "r" * 100_000), {"id": "b", "role": "user", "parts": [{"k" * 100_000: "\x00", "type": "x"}]}]
    )
    assert answer.status == 422
    assert len(json.dumps(answer.body)) < 3000


def test_a_huge_list_is_refused(ada: Caller, url: str) -> None:
    status, problem = ada.put(url, [{}] * 10_001)
    assert (status, "10001 messages at once; 10000 are allowed" in problem["detail"]) == (422, True)


def test_a_long_list_is_stored(ada: Caller, url: str) -> None:
    answer = ada.put(url, [ui(f"m{n}", f"Text {n}") for n in range(5000)])
    assert len(answer.body["added"]) == 5000


# --- ids, fields -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", ["1", "not-a-uuid", "0190a000-0000-7000-8000-00000000000g", "%00", "%ED%A0%80", "a" * 5000]
)
def test_an_id_that_is_none(ada: Caller, bad: str) -> None:
    for method, path in [
        ("GET", "/chats/{}"),
        ("PUT", "/chats/{}/messages"),
        ("POST", "/chats/{}/finish"),
        ("GET", "/propositions/{}"),
    ]:
        status, problem = ada.send(method, path.format(bad), [] if method == "PUT" else None)
        assert status == 422
        assert problem["errors"][0]["in"] == "path"


@pytest.mark.parametrize("bad", ["%00", "a%00b"])
def test_a_message_id_that_cannot_be(ada: Caller, url: str, bad: str) -> None:
    status, problem = ada.delete(f"{url}/{bad}")
    assert (status, problem["errors"][0]["path"]) == (422, "message_id")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ("x", ""),
        ({"title": 7}, "title"),
        ({"title": None}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"title": "\x00"}, "title"),
        ({"title": "\ud800"}, "title"),
        ({"id": "x"}, "id"),
        ({"learner": "  "}, "learner"),
        ({"learner": "x" * 201}, "learner"),
        ({"learner": "\x00"}, "learner"),
        ({"tittle": "x"}, "tittle"),
        ({"settings": []}, "settings"),
        ({"settings": {"model": 7}}, "settings.model"),
        ({"settings": {"model": "x" * 201}}, "settings.model"),
        ({"settings": {"thinking": {"a": ["\x00"]}}}, "settings.thinking"),
        ({"settings": {"thinking": "x" * 4001}}, "settings.thinking"),
        ({"settings": {"temperature": 1}}, "settings.temperature"),
    ],
)
def test_a_wrong_field_is_named(ada: Caller, body: Any, path: str) -> None:
    status, problem = ada.post("/chats", body)
    assert (status, problem["errors"][0]["path"]) == (422, path)
    assert (problem["errors"][0]["in"], Chat.objects.count()) == ("body", 0)


@pytest.mark.parametrize(
    ("body", "path"),
    [({}, "topic"), ({"topic": " \n"}, "topic"), ({"topic": 1}, "topic"), ({"topic": "\ud83d"}, "topic")],
)
def test_a_wrong_topic(ada: Caller, body: Any, path: str) -> None:
    status, problem = ada.post("/context", body)
    assert (status, problem["errors"][0]["path"]) == (422, path)


# --- what goes wrong on our side -------------------------------------------------------------------------------------


def test_what_is_unexpected_shows_nothing_of_the_inside(
    ada: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    chat_id = ada.begin()
    monkeypatch.setattr("osii.api.chats.chat_coverage", lambda _chat: {}["secret detail"])
    for debug in (False, True):
        settings.DEBUG = debug
        with caplog.at_level(logging.ERROR, "osii.api"):
            answer = ada.get(f"/chats/{chat_id}/coverage")
        assert answer.status == 500
        assert "secret" not in json.dumps(answer.body)
    assert "secret detail" in caplog.text


def test_a_database_that_is_away(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: object) -> None:
        raise OperationalError("connection to server at 10.0.0.7 failed")

    monkeypatch.setattr("osii.tokens.authenticate", away)
    answer = ada.get("/propositions")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    assert "10.0.0.7" not in json.dumps(answer.body)


def test_a_chat_that_is_erased_meanwhile(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    chat_id = ada.begin()

    def erased(_chat_id: UUID) -> None:
        raise Chat.DoesNotExist

    monkeypatch.setattr("extraction.services.finish_chat", erased)
    assert ada.post(f"/chats/{chat_id}/finish").status == 404


def test_the_token_is_never_logged(ada: Caller, caplog: pytest.LogCaptureFixture, settings: Any) -> None:
    settings.DEBUG = True
    secret = ada.headers["Authorization"].rpartition("_")[2]
    with caplog.at_level(logging.DEBUG):
        for scheme in ("Bearer", "Basic", "Token"):
            ada.headers["Authorization"] = f"{scheme} osii_abcdefgh_{secret}x"
            assert ada.get("/propositions").status == 401
    assert secret not in caplog.text
