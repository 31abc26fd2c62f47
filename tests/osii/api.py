"""Calling the HTTP API in tests as a client would: JSON in, status and JSON out."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.test import Client

from coverage.services import get_or_create_learner
from osii import tokens
from osii.api.problems import MEDIA_TYPE


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: Any

    def __iter__(self) -> Any:
        return iter((self.status, self.body))


class Caller:
    """Whoever holds a token, or none."""

    def __init__(self, token: str | None = None) -> None:
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.client = Client()

    def send(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **more: Any) -> Answer:
        """``raw`` goes as it is; else ``body`` as JSON, if there is one."""
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        headers = self.headers | more.pop("headers", {})
        kind = more.pop("content_type", "application/json")
        made = self.client.generic(method, f"/api{path}", data, content_type=kind, headers=headers, **more)
        return answer(made)

    def get(self, path: str, **more: Any) -> Answer:
        return self.send("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.send("POST", path, body, **more)

    def put(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.send("PUT", path, body, **more)

    def delete(self, path: str) -> Answer:
        return self.send("DELETE", path)

    def begin(self, **body: Any) -> UUID:
        """Begin a chat and return its id."""
        status, chat = self.post("/chats", body)
        assert status in {200, 201}, chat
        return UUID(chat["id"])


def answer(response: HttpResponse) -> Answer:
    """The answer, checked for what holds for every one."""
    body = json.loads(response.content)
    assert response["Cache-Control"] == "no-store"
    if response.status_code >= 400:
        assert response["Content-Type"] == MEDIA_TYPE
        assert body["type"] == "about:blank"
        assert body["status"] == response.status_code
        assert body["title"]
        assert "Traceback" not in response.content.decode()
    return Answer(response.status_code, body, response.headers)


def learner_caller(name: str = "Ada") -> Caller:
    return Caller(tokens.issue(learner=get_or_create_learner(name))[1])


def staff_caller() -> Caller:
    return Caller(tokens.issue()[1])


def ui(message_id: str, text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    """A UIMessage of one text."""
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}], **more}
