"""Whatever a chat goes through, in any order: each version is read at most once, and nothing stays uncovered."""

import uuid

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from coverage import invariants as coverage_invariants
from coverage.models import Chat, CoverageEntry, Learner, Message, MessageCoverage
from coverage.services import delete_message, put_messages
from extraction import invariants
from extraction.erasure import erase_chat
from extraction.models import Run
from extraction.running import runs
from extraction.services import request_run
from graphctx.models import Instance
from tests.factories import message, quiz, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_chunks(settings: object) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 1000


def execute(chat: Chat, mode: str = "rest", worker: str = "sentences") -> Run:
    return runs.execute(request_run(chat.pk, mode, worker, enqueue=False).pk)


class AnyOrder(RuleBasedStateMachine):
    """Appends, late ones, twins, edits, quiz answers, deletes, branch switches, an erased chat, and runs, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.learner = Learner.objects.create(name=str(uuid.uuid4()))
        self.next_id = 0
        self.begin()

    def begin(self) -> None:
        self.chat = Chat.objects.create(learner=self.learner)
        self.pending: set[str] = set()

    def new_name(self) -> str:
        self.next_id += 1
        return f"m{self.next_id}"

    def ids(self) -> list[str]:
        rows = Message.objects.filter(chat=self.chat, position__isnull=False)
        return list(rows.order_by("position").values_list("message_id", flat=True))

    @rule(words=st.sampled_from(["same words", "other words", ""]), size=st.integers(1, 500))
    def append(self, words: str, size: int) -> None:
        put_messages(self.chat.pk, [message(self.new_name(), words and f"{words} " + "y" * size * 4)])

    @rule(size=st.integers(1, 500))
    def append_twins(self, size: int) -> None:
        """Two messages with the same text, one after the other."""
        words = "say it again " + "z" * size * 4
        put_messages(self.chat.pk, [message(self.new_name(), words), message(self.new_name(), words)])

    @precondition(lambda self: self.ids())
    @rule(data=st.data(), words=st.sampled_from(["same words", "late words"]))
    def insert_late(self, data: st.DataObject, words: str) -> None:
        """A message arrives that was said before one that is stored already."""
        rows = {row.message_id: row for row in Message.objects.filter(chat=self.chat)}
        later = rows[data.draw(st.sampled_from(self.ids()))]
        late = self.new_name()
        put_messages(self.chat.pk, [message(late, words), message(later.message_id, later.parts, later.role)])
        assert self.ids().index(late) == self.ids().index(later.message_id) - 1

    @precondition(lambda self: self.ids())
    @rule(data=st.data())
    def switch_branch(self, data: st.DataObject) -> None:
        """Another path becomes the transcript: what there was up to a point, then messages of other branches and a new one."""
        rows = {row.message_id: row for row in Message.objects.filter(chat=self.chat)}
        names = self.ids()
        kept = names[: data.draw(st.integers(0, len(names)))]
        shelved = sorted(name for name, row in rows.items() if row.position is None)
        back = data.draw(st.lists(st.sampled_from(shelved), unique=True)) if shelved else []
        path = [message(name, rows[name].parts, rows[name].role) for name in (*kept, *back)]
        put_messages(self.chat.pk, [*path, message(self.new_name(), "same words")], whole_transcript=True)

    @rule()
    def erase(self) -> None:
        """The chat goes with everything that was learned from it; what follows is another chat of the same learner."""
        erase_chat(self.chat.pk)
        assert not Instance.objects.filter(proposition__learner=self.learner).exists()
        assert not CoverageEntry.objects.filter(chat=self.chat.pk).exists()
        self.begin()

    @rule()
    def ask(self) -> None:
        name = self.new_name()
        put_messages(self.chat.pk, [message(name, [text("Well?"), quiz(f"q{name[1:]}")], "assistant")])
        self.pending.add(name)

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
        assert list(coverage_invariants.check()) == []
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
            max_examples=8, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
