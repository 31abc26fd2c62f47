"""The diff: the first n messages of a fingerprint are covered, n being covers minus releases."""

import pytest
from django.db import IntegrityError, connection, transaction

from coverage.ids import new_id
from coverage.models import CoverageEntry, MessageCoverage
from coverage.services import append_entries, delete_message, put_messages
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db


def covered(chat: object) -> list[str]:
    return list(MessageCoverage.objects.filter(chat=chat, covered=True).values_list("message_id", flat=True))


def cover(chat: object, *message_ids: str) -> None:
    append_entries(chat, chat.messages.filter(message_id__in=message_ids), batch_id=new_id())


def test_nothing_is_covered_at_first_and_what_is_appended_is() -> None:
    chat = factories.chat(message("a", "one"), message("b", "two"))
    assert covered(chat) == []
    cover(chat, "a")
    assert covered(chat) == ["a"]


def test_equal_messages_are_counted_by_position() -> None:
    chat = factories.chat(message("a", "same"), message("b", "other"), message("c", "same"))
    cover(chat, "c")
    assert covered(chat) == ["a"]
    cover(chat, "c")
    assert covered(chat) == ["a", "c"]


def test_an_edit_reopens_that_message_only_and_going_back_covers_it_again() -> None:
    chat = factories.chat(message("a", "one"), message("b", "two"))
    cover(chat, "a", "b")
    put_messages(chat.pk, [message("b", "changed")])
    assert covered(chat) == ["a"]
    put_messages(chat.pk, [message("b", "two")])
    assert covered(chat) == ["a", "b"]


def test_the_same_transcript_under_new_ids_stays_covered() -> None:
    chat = factories.chat(message("a", "one"), message("b", "two"))
    cover(chat, "a", "b")
    put_messages(chat.pk, [message("x", "one"), message("y", "two")], whole_transcript=True)
    assert covered(chat) == ["x", "y"]


def test_a_deleted_message_is_read_again_when_it_returns() -> None:
    chat = factories.chat(message("a", "one"), message("b", "two"))
    cover(chat, "a", "b")
    delete_message(chat.pk, "a")
    assert covered(chat) == ["b"]
    put_messages(chat.pk, [message("a", "one")])
    assert covered(chat) == ["b"]
    assert CoverageEntry.objects.filter(chat=chat, kind="release").count() == 1


def test_a_switched_branch_reopens_only_what_differs_and_switching_back_nothing() -> None:
    chat = factories.chat(message("a", "one"), message("b", "two"), message("c", "three"))
    cover(chat, "a", "b", "c")
    put_messages(chat.pk, [message("a", "one"), message("d", "other")], whole_transcript=True)
    assert covered(chat) == ["a"]
    put_messages(chat.pk, [message("a", "one"), message("b", "two"), message("c", "three")], whole_transcript=True)
    assert covered(chat) == ["a", "b", "c"]


def test_another_chats_ledger_covers_nothing_here() -> None:
    one = factories.chat(message("a", "same"))
    two = factories.chat(message("a", "same"))
    cover(one, "a")
    assert covered(two) == []


@pytest.mark.parametrize(
    "statement", ["UPDATE coverage_coverageentry SET tokens = 0", "DELETE FROM coverage_coverageentry"]
)
def test_the_ledger_is_append_only(statement: str) -> None:
    chat = factories.chat(message("a", "one"))
    cover(chat, "a")
    with (
        pytest.raises(IntegrityError, match=r"append-only|immutable"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert covered(chat) == ["a"]
