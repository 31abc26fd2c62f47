"""Memos of chats: what they say is what the diff says, or they are not asked."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction

from coverage import services, summaries
from coverage.guards import allow_erase
from coverage.ids import new_id
from coverage.models import Chat, ChatFigures, ChatSummary, CoverageEntry, Message, MessageCoverage
from tests import factories

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def chat(*texts: str, **more: Any) -> Chat:
    return factories.chat(*[factories.message(f"m{n}", text) for n, text in enumerate(texts, 1)], **more)


def cover(chat: Chat, *message_ids: str) -> None:
    services.append_entries(chat, chat.messages.filter(message_id__in=message_ids), batch_id=new_id())


def derived(chat: Chat) -> tuple[int, int, int]:
    rows = list(MessageCoverage.objects.filter(chat=chat))
    return len(rows), sum(row.tokens for row in rows), sum(row.tokens for row in rows if row.covered)


def told(chat: Chat) -> tuple[int, int, int]:
    figures = ChatFigures.objects.get(pk=chat.pk)
    assert figures.uncovered_tokens == figures.tokens - figures.covered_tokens
    return figures.message_count, figures.tokens, figures.covered_tokens


def fresh(chat: Chat) -> bool:
    return ChatSummary.objects.get(pk=chat.pk).fresh


def test_a_chat_without_messages_has_a_memo_from_the_start() -> None:
    empty = chat()
    assert fresh(empty)
    assert told(empty) == (0, 0, 0)


def put(chat: Chat) -> None:
    services.put_messages(chat.pk, [factories.message("m9", "one more, and a longer one")])


def edit(chat: Chat) -> None:
    services.put_messages(chat.pk, [factories.message("m1", "something else altogether")])


def delete(chat: Chat) -> None:
    services.delete_message(chat.pk, "m1")


def shelve(chat: Chat) -> None:
    services.put_messages(chat.pk, [factories.message("m2", "two")], whole_transcript=True)


def fold(chat: Chat) -> None:
    cover(chat, "m2")


def release(chat: Chat) -> None:
    services.append_entries(chat, chat.messages.filter(message_id="m1"), kind=CoverageEntry.Kind.RELEASE)


def by_sql(chat: Chat) -> None:
    Message.objects.filter(chat=chat, message_id="m2").update(tokens=77)


@pytest.mark.parametrize("change", [put, edit, delete, shelve, fold, release, by_sql])
def test_whatever_changes_makes_the_memo_invalid_and_the_figures_stay_right(change: Callable[[Chat], None]) -> None:
    subject, other = chat("one", "two", "three"), chat("one", "two")
    cover(subject, "m1")
    summaries.fill_all()
    assert (fresh(subject), told(subject)) == (True, derived(subject))
    change(subject)
    assert not fresh(subject)
    assert fresh(other)
    assert told(subject) == derived(subject)  # computed in place
    assert summaries.fill() == 1
    assert (fresh(subject), told(subject)) == (True, derived(subject))
    assert not list(summaries.check())


def test_only_messages_raise_the_transcript_revision() -> None:
    subject = chat("one", "two")
    before = ChatSummary.objects.get(pk=subject.pk)
    cover(subject, "m1")
    ledger = ChatSummary.objects.get(pk=subject.pk)
    edit(subject)
    after = ChatSummary.objects.get(pk=subject.pk)
    assert ledger.revision > before.revision
    assert ledger.transcript_revision == before.transcript_revision
    assert after.transcript_revision > ledger.transcript_revision


def test_what_is_rolled_back_leaves_the_memo_valid() -> None:
    subject = chat("one", "two")
    summaries.fill_all()
    with pytest.raises(RuntimeError), transaction.atomic():
        cover(subject, "m1")
        assert not fresh(subject)
        raise RuntimeError
    assert fresh(subject)
    assert told(subject) == derived(subject)


def test_said_last_is_the_message_and_not_its_import() -> None:
    imported = chat(source="chatgpt", external_id="x")
    services.put_messages(
        imported.pk,
        [
            factories.message("a", "first", said_at=MOMENT),
            factories.message("b", "second", said_at=MOMENT + timedelta(hours=1)),
            factories.message("c", "third"),
        ],
    )
    untimed = chat("one", source="chatgpt", external_id="y")
    live = chat("one")
    figures = ChatFigures.objects.in_bulk([imported.pk, untimed.pk, live.pk])
    assert figures[imported.pk].last_said_at == MOMENT + timedelta(hours=1)
    assert figures[untimed.pk].last_said_at is None
    assert figures[live.pk].last_said_at == live.messages.get().created_at


def test_no_more_chats_than_bounded_are_computed_in_place() -> None:
    learner = services.get_or_create_learner("Many")
    chats = Chat.objects.bulk_create(Chat(learner=learner, title=str(n)) for n in range(summaries.IN_PLACE + 5))
    ChatSummary.objects.update(summarised=None)
    assert summaries.outdated() == len(chats)
    assert ChatFigures.objects.count() == summaries.IN_PLACE
    assert summaries.fill(limit=10) == 10
    assert summaries.fill_all() == len(chats) - 10
    assert ChatFigures.objects.count() == len(chats)


def test_erasing_a_chat_takes_its_summary() -> None:
    subject = chat("one", "two")
    cover(subject, "m1")
    with transaction.atomic():
        allow_erase()
        subject.delete()
    assert not ChatSummary.objects.exists()
    assert not list(summaries.check())


def test_a_deletion_by_sql_takes_the_summary() -> None:
    empty = chat()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM coverage_chat WHERE id = %s", [empty.pk])
    assert not ChatSummary.objects.exists()


def test_the_check_tells_a_memo_that_is_wrong() -> None:
    subject = chat("one", "two")
    summaries.fill_all()
    ChatSummary.objects.filter(pk=subject.pk).update(message_count=7)
    (found,) = summaries.check()
    assert f"chat {subject.pk}: its memo says" in found
    assert "in 7 messages" in found


def test_the_check_tells_a_trigger_that_is_gone() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE coverage_message DISABLE TRIGGER coverage_message_summary_update")
    assert any("coverage_message.coverage_message_summary_update" in line for line in summaries.check())


def test_the_memo_cannot_be_of_a_revision_that_is_yet_to_come() -> None:
    subject = chat("one")
    with pytest.raises(Exception, match="summary_not_of_a_later_revision"), transaction.atomic():
        ChatSummary.objects.filter(pk=subject.pk).update(summarised=10**6)


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """A change commits while a memo is being computed from the state before it."""

    # As the real one, with a stamp that is not what the figures' snapshot saw.
    UNSTAMPED = summaries.FILL.replace("SET summarised = found.revision", "SET summarised = s.revision").replace(
        "AND s.revision = found.revision", ""
    )

    def race(self, fill: str, monkeypatch: pytest.MonkeyPatch) -> Chat:
        """The statement is held, after its figures are computed, until another session has committed a ledger line."""
        subject = chat("one", "two")
        ChatSummary.objects.update(summarised=None)
        assert "SELECT f.*" not in fill
        # The lock makes the statement wait where a slow one would be: after its snapshot, before it looks for free rows.
        held = fill.replace(
            "), free AS",
            "), held AS MATERIALIZED (SELECT pg_advisory_xact_lock(4711) IS NULL AS no, count(*) FROM found), free AS",
        ).replace("IN (SELECT chat_id FROM found)", "IN (SELECT chat_id FROM found, held)")
        monkeypatch.setattr(summaries, "FILL", held)
        waiting = Event()

        def filler() -> None:
            waiting.set()
            summaries.fill()
            connections.close_all()

        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(4711)")
            thread = Thread(target=filler)
            thread.start()
            waiting.wait(5)
            self.until_it_waits()
            outside = Thread(target=self.commit, args=(subject,))
            outside.start()
            outside.join(10)
        thread.join(10)
        assert not thread.is_alive()
        return subject

    @staticmethod
    def commit(subject: Chat) -> None:
        cover(subject, "m1")
        connections.close_all()

    @staticmethod
    def until_it_waits() -> None:
        for _ in range(500):
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                if cursor.fetchone()[0]:
                    return
                cursor.execute("SELECT pg_sleep(0.01)")
        raise AssertionError("the filler never came to its lock")

    def test_a_change_in_between_leaves_the_memo_invalid(self, monkeypatch: pytest.MonkeyPatch) -> None:
        subject = self.race(summaries.FILL, monkeypatch)
        assert not fresh(subject)
        assert told(subject) == derived(subject)
        assert not list(summaries.check())

    def test_without_the_stamp_of_its_snapshot_the_memo_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The negative control."""
        subject = self.race(self.UNSTAMPED, monkeypatch)
        assert fresh(subject)
        assert told(subject) != derived(subject)
        assert list(summaries.check())

    def test_a_row_that_a_writer_holds_is_not_waited_for(self) -> None:
        subject = chat("one", "two")
        ChatSummary.objects.update(summarised=None)
        filled: list[int] = []

        def filler() -> None:
            filled.append(summaries.fill())
            connections.close_all()

        with transaction.atomic():
            cover(subject, "m1")
            thread = Thread(target=filler)
            thread.start()
            thread.join(10)
            assert filled == [0]
        assert summaries.fill() == 1
        assert told(subject) == derived(subject)
