"""Reading again through the API."""

import pytest

from coverage.models import Chat, CoverageEntry
from tests.osii import rows
from tests.osii.api import Caller, learner_caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    made = rows.chat(3)
    rows.batch(made)
    return made


@pytest.fixture
def ada(chat: Chat) -> Caller:
    return learner_caller("Ada")


def test_a_message_a_range_and_the_rest(ada: Caller, chat: Chat) -> None:
    url = f"/chats/{chat.pk}/reread"
    one = {"chat_id": str(chat.pk), "messages": 1, "tokens": 20, "copies": 0, "releases": 1, "waiting": 0}
    assert ada.post(url, {"message_id": "m2"}).body == one
    assert ada.post(url, {"from": 2, "to": 3}).body == one | {"waiting": 1}
    assert ada.post(url).body == one | {"waiting": 2}
    assert ada.post(url, {}).body == one | {"messages": 0, "tokens": 0, "releases": 0, "waiting": 3}
    assert [row["state"] for row in ada.get(f"/chats/{chat.pk}/coverage").body["messages"]] == ["reopened"] * 3


@pytest.mark.parametrize(
    "body",
    [{"from": 9}, {"from": 0}, {"from": "1"}, {"message_id": "gone"}, {"message_id": "m1", "to": 2}, {"first": 1}],
)
def test_what_names_nothing_is_refused(ada: Caller, chat: Chat, body: dict) -> None:
    assert ada.post(f"/chats/{chat.pk}/reread", body).status == 422
    assert not CoverageEntry.objects.filter(kind="release").exists()
