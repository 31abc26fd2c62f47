"""Appends, edits, quiz answers, deletes and runs in any order: read at most once, and nothing stays uncovered."""

import uuid

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from coverage.models import Chat, Learner, Message, MessageCoverage
from coverage.services import delete_message, put_messages
from extraction import invariants, runs
from extraction.models import Run
from extraction.services import request_run
from tests.factories import message, quiz, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_chunks(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000


def execute(chat: Chat, mode: str = "rest", worker: str = "sentences") -> Run:
    return runs.execute(request_run(chat.pk, mode, worker, enqueue=False).pk)


class AnyOrder(RuleBasedStateMachine):
    """Appends, edits, quiz answers, deletes, branch switches and runs in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.chat = Chat.objects.create(learner=Learner.objects.get_or_create(name=str(uuid.uuid4()))[0])
        self.next_id = 0
        self.pending: set[str] = set()

    def ids(self) -> list[str]:
        rows = Message.objects.filter(chat=self.chat, position__isnull=False)
        return list(rows.order_by("position").values_list("message_id", flat=True))

    @rule(words=st.sampled_from(["same words", "other words", ""]), size=st.integers(1, 500))
    def append(self, words: str, size: int) -> None:
        self.next_id += 1
        put_messages(self.chat.pk, [message(f"m{self.next_id}", words and f"{words} " + "y" * size * 4)])

    @rule()
    def ask(self) -> None:
        self.next_id += 1
        put_messages(
            self.chat.pk, [message(f"m{self.next_id}", [text("Well?"), quiz(f"q{self.next_id}")], "assistant")]
        )
        self.pending.add(f"m{self.next_id}")

    @precondition(lambda self: self.pending)
    @rule(correct=st.booleans())
    def answer(self, *, correct: bool) -> None:
        name = sorted(self.pending)[0]
        self.pending.discard(name)
        parts = [text("Well?"), quiz(f"q{name[1:]}", "an answer", correct=correct)]
        put_messages(self.chat.pk, [message(name, parts, "assistant")])

    @precondition(lambda self: self.ids())
    @rule(data=st.data(), words=st.sampled_from(["same words", "fresh words"]))
    def edit(self, data: st.DataObject, words: str) -> None:
        name = data.draw(st.sampled_from(self.ids()))
        self.pending.discard(name)
        put_messages(self.chat.pk, [message(name, words)])

    @precondition(lambda self: self.ids())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.ids()))
        self.pending.discard(name)
        delete_message(self.chat.pk, name)

    @rule(worker=st.sampled_from(["sentences", "finds-nothing"]))
    def run_due(self, worker: str) -> None:
        execute(self.chat, "due", worker)

    @invariant()
    def nothing_is_broken(self) -> None:
        assert list(invariants.check()) == []

    def teardown(self) -> None:
        execute(self.chat, "rest", "sentences")
        left = MessageCoverage.objects.filter(chat=self.chat, covered=False, tokens__gt=0)
        assert not left.exists()
        assert execute(self.chat, "rest").batches.count() == 0


def test_whatever_the_order_each_version_is_read_at_most_once_and_nothing_stays_uncovered() -> None:
    run_state_machine_as_test(
        AnyOrder,
        settings=hypothesis_settings(
            max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
