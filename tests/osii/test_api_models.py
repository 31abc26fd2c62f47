"""Choosing worker and model by name over the API: for staff only, and by names that exist."""

import pytest

from coverage.models import Chat
from extraction.models import LanguageModel, Run
from tests.osii.api import learner_caller, staff_caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat_id(rq_connection: object) -> str:
    LanguageModel.objects.create(name="fast", model="m-1", base_url="http://127.0.0.1:9/v1")
    return str(learner_caller("Ada").begin())


def test_staff_name_the_worker_and_the_model(chat_id: str) -> None:
    body = {"mode": "rest", "worker": "llm", "model": "fast"}
    status, answer = staff_caller().post(f"/chats/{chat_id}/extract", body)
    assert (status, answer["run"]["worker"], answer["run"]["model"]) == (202, "llm", "fast")
    assert Run.objects.get().model == "fast"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"worker": "llm", "model": "slow"}, "there is no model 'slow'; known: fast"),
        ({"worker": "rules", "model": "fast"}, "takes no model"),
        ({"worker": "magic"}, "there is no extract worker 'magic'"),
    ],
)
def test_a_name_that_nobody_has_is_a_problem_and_starts_nothing(chat_id: str, body: dict[str, str], said: str) -> None:
    status, problem = staff_caller().post(f"/chats/{chat_id}/extract", body)
    assert status == 422 and said in problem["detail"]
    assert not Run.objects.exists()


@pytest.mark.parametrize("body", [{"worker": "llm"}, {"worker": "llm", "model": "fast"}])
def test_a_learner_does_not_choose_what_costs_money(chat_id: str, body: dict[str, str]) -> None:
    status, problem = learner_caller("Ada").post(f"/chats/{chat_id}/extract", body)
    assert status == 403 and "for staff to choose" in problem["detail"]
    assert not Run.objects.exists() and Chat.objects.exists()
