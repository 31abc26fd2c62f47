"""What staff tokens change through the API is on record: every route that is not a reading, done or refused."""

import re
from typing import Any

import pytest
from django.db import DatabaseError

from coverage.models import Chat
from osii import tokens
from osii.api.routes import api
from osii.models import StaffAction
from osii.ops import audit
from tests.osii.api import Caller, learner_caller, staff_caller, ui

NOBODYS = "0190a000-0000-7000-8000-000000000001"
READINGS = {"POST /api/context", "POST /api/search", "POST /api/resolve", "POST /api/resolve/documents"}
CALLS = sorted(
    f"{method.upper()} {path}" for path, ways in api.get_openapi_schema()["paths"].items() for method in ways
)
WRITES = [call for call in CALLS if not call.startswith("GET ") and call not in READINGS]


def called(caller: Caller, call: str) -> tuple[int, list[dict[str, Any]]]:
    """Make the call about ids of nobody; its status and the lines that it left."""
    method, _, path = call.partition(" ")
    status = caller.send(method, re.sub(r"\{\w+\}", NOBODYS, path).removeprefix("/api"), {}).status
    return status, list(StaffAction.objects.values("username", "action", "about", "status", "address"))


@pytest.mark.django_db
@pytest.mark.parametrize("call", WRITES)
def test_what_a_staff_token_may_have_changed_is_on_record(rq_connection: Any, call: str) -> None:
    row, token = tokens.issue(name="night job")
    status, told = called(Caller(token), call)
    about = dict.fromkeys(set(re.findall(r"\{(\w+)\}", call)) - audit.NAMED_BY_CLIENTS, NOBODYS)
    who = {"username": f"api:{row.prefix} (night job)", "address": "127.0.0.1"}
    assert told == [{"action": call, "about": about, "status": status, **who}]


@pytest.mark.django_db
def test_readings_and_what_learners_do_are_not(rq_connection: Any) -> None:
    assert len(WRITES) > 20
    assert set(CALLS) > READINGS
    staff, ada = staff_caller(), learner_caller("Ada")
    assert [call for call in CALLS if call not in WRITES and called(staff, call)[1]] == []
    assert [call for call in WRITES if called(ada, call)[1]] == []


@pytest.mark.django_db
def test_a_record_names_the_rows_and_says_nothing_of_what_was_said(rq_connection: Any) -> None:
    staff = staff_caller()
    chat = staff.begin(learner="Ada", title="Secret boats")
    staff.put(f"/chats/{chat}/messages", [ui("ada@example.org-1", "My boat is secret.")])
    staff.delete(f"/chats/{chat}/messages/ada@example.org-1")
    staff.delete(f"/chats/{chat}")
    rows = list(StaffAction.objects.order_by("created_at", "id"))
    assert [row.status for row in rows] == [201, 200, 200, 200]
    assert [row.about for row in rows] == [{}] + [{"chat_id": str(chat)}] * 3
    told = str(list(StaffAction.objects.values()))
    assert not re.search(r"\b(boats?|secret|ada)\b", told, re.IGNORECASE)  # words: an id may spell one among its digits


@pytest.mark.django_db
def test_what_was_done_stays_done_when_it_cannot_be_put_on_record(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_values: Any) -> None:
        raise DatabaseError("no room")

    monkeypatch.setattr(StaffAction.objects, "create", fail)
    chat = staff_caller().begin(learner="Ada")
    assert Chat.objects.filter(pk=chat).exists()
    assert "is not on record: no room" in caplog.text
