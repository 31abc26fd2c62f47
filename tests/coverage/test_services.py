"""Writing chats: put, upsert, shelve, delete, and what the ledger and the listeners see of it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coverage import invariants
from coverage.ids import new_id
from coverage.models import Chat, CoverageEntry, Message, MessageCoverage
from coverage.services import (
    IncomingMessage,
    append_entries,
    check_message,
    delete_message,
    lock_chat,
    put_messages,
    settle,
    update_chat,
)
from coverage.signals import transcript_changed
from tests.factories import chat as make_chat
from tests.factories import message, quiz, text

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def heard() -> Iterator[list[list[str]]]:
    """The message ids of each transcript_changed that was sent."""
    calls: list[list[str]] = []

    def listen(*, message_ids: list[str], **_: Any) -> None:
        calls.append(list(message_ids))

    transcript_changed.connect(listen)
    yield calls
    transcript_changed.disconnect(listen)


def order(chat: Chat) -> list[str]:
    """The ids along the transcript; fails unless the positions are 1, 2, 3…"""
    rows = list(
        Message.objects.filter(chat=chat, position__isnull=False)
        .order_by("position")
        .values_list("position", "message_id")
    )
    assert [position for position, _ in rows] == list(range(1, len(rows) + 1))
    return [message_id for _, message_id in rows]


def covered(chat: Chat) -> set[str]:
    return set(MessageCoverage.objects.filter(chat=chat, covered=True).values_list("message_id", flat=True))


def cover(chat: Chat, *message_ids: str) -> None:
    append_entries(chat, Message.objects.filter(chat=chat, message_id__in=message_ids), batch_id=new_id())


# --- put -------------------------------------------------------------------------------------------------------------


def test_new_messages_are_appended_in_order() -> None:
    chat = make_chat(message("a", "One"))
    result = put_messages(chat.pk, [message("b", "Two"), message("c", "Three")])
    assert (result.added, result.changed, result.unchanged, result.shelved) == (["b", "c"], [], [], [])
    assert order(chat) == ["a", "b", "c"]


def test_a_known_id_is_updated_in_its_place() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"), message("c", "Three"))
    result = put_messages(chat.pk, [message("b", "Changed"), message("d", "Four")])
    assert (result.added, result.changed) == (["d"], ["b"])
    assert order(chat) == ["a", "b", "c", "d"]
    assert Message.objects.get(chat=chat, message_id="b").parts == [text("Changed")]


def test_putting_the_same_again_changes_nothing(heard: list[list[str]]) -> None:
    messages = [
        message("a", "One", metadata={"n": 1.5, "deep": [{"x": None}]}, said_at=NOON),
        message("b", [text("Try"), quiz("2 + 2?", "4", correct=True)], role="assistant"),
    ]
    chat = make_chat(*messages)
    before = list(Message.objects.filter(chat=chat).values())
    heard.clear()
    for whole in (False, True):
        result = put_messages(chat.pk, messages, whole_transcript=whole)
        assert result.unchanged == ["a", "b"]
        assert not result.touched
    assert list(Message.objects.filter(chat=chat).values()) == before
    assert heard == []


@pytest.mark.parametrize("number", [0.1, 100.0, 1e22, 1e23, 1.7976931348623157e308, 5e-324, -0.0, 2**63, 10**400, 1e-7])
def test_numbers_survive_the_database(number: float) -> None:
    messages = [message("a", [{"type": "tool-sum", "toolCallId": "1", "state": "input-available", "input": number}])]
    chat = make_chat(*messages)
    assert put_messages(chat.pk, messages, whole_transcript=True).unchanged == ["a"]
    assert list(invariants.check()) == []


def test_only_a_change_of_the_view_moves_changed_at() -> None:
    chat = make_chat(message("a", [text("One"), {"type": "reasoning", "text": "hm"}], role="assistant"))
    first = Message.objects.get(chat=chat)
    put_messages(chat.pk, [message("a", [text("One"), {"type": "reasoning", "text": "other"}], role="assistant")])
    second = Message.objects.get(chat=chat)
    assert (second.fingerprint, second.changed_at) == (first.fingerprint, first.changed_at)
    put_messages(chat.pk, [message("a", "Two", role="assistant")])
    third = Message.objects.get(chat=chat)
    assert third.fingerprint != first.fingerprint
    assert third.changed_at > first.changed_at


def test_the_whole_transcript_sets_order_and_shelves_the_rest() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"), message("c", "Three"))
    result = put_messages(
        chat.pk, [message("c", "Three"), message("x", "New"), message("a", "One")], whole_transcript=True
    )
    assert order(chat) == ["c", "x", "a"]
    assert result.added == ["x"]
    assert result.shelved == ["b"]
    assert Message.objects.get(chat=chat, message_id="b").position is None


def test_a_message_that_only_moved_is_not_changed(heard: list[list[str]]) -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"))
    heard.clear()
    result = put_messages(
        chat.pk, [message("x", "First"), message("a", "One"), message("b", "Two")], whole_transcript=True
    )
    assert (result.added, result.changed, result.moved) == (["x"], [], ["a", "b"])
    assert sorted(heard[0]) == ["a", "b", "x"]
    assert order(chat) == ["x", "a", "b"]


def test_switching_a_branch_back_finds_everything_covered() -> None:
    left = [message("a", "Question"), message("b", "Left answer", role="assistant")]
    right = [message("a", "Question"), message("c", "Right answer", role="assistant")]
    chat = make_chat(*left)
    cover(chat, "a", "b")
    put_messages(chat.pk, right, whole_transcript=True)
    assert covered(chat) == {"a"}
    cover(chat, "c")
    put_messages(chat.pk, left, whole_transcript=True)
    assert order(chat) == ["a", "b"]
    assert covered(chat) == {"a", "b"}
    assert Message.objects.filter(chat=chat, position=None).count() == 1


def test_shelving_twice_reports_it_once() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"))
    assert put_messages(chat.pk, [message("a", "One")], whole_transcript=True).shelved == ["b"]
    again = put_messages(chat.pk, [message("a", "One")], whole_transcript=True)
    assert (again.shelved, again.touched) == ([], False)


def test_a_shelved_message_that_is_put_comes_back_at_the_end() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"), message("c", "Three"))
    put_messages(chat.pk, [message("b", "Two"), message("c", "Three")], whole_transcript=True)
    put_messages(chat.pk, [message("a", "One")])
    assert order(chat) == ["b", "c", "a"]


def test_an_edit_unsettles_and_reopens() -> None:
    streaming = [{"type": "text", "text": "So fa", "state": "streaming"}]
    chat = make_chat(message("a", streaming, role="assistant"))
    settle(chat)
    assert Message.objects.get(chat=chat).settled_at is not None
    put_messages(chat.pk, [message("a", [{**streaming[0], "text": "So far"}], role="assistant")])
    stored = Message.objects.get(chat=chat)
    assert stored.streaming
    assert stored.settled_at is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (message("", "x"), "id"),
        (message("i" * 201, "x"), "200"),
        (message(7, "x"), "id"),  # type: ignore[arg-type]
        (message("a\x00", "x"), "NUL"),
        (message("b", "x", role="tool"), "role 'tool' is not one of system, user, assistant"),
        (message("b", "x", role=None), "role"),
        (message("b", "x", role=["user"]), "role"),
        (IncomingMessage("b", "user", "parts"), "parts must be a list"),  # type: ignore[arg-type]
        (IncomingMessage("b", "user", None), "parts must be a list"),  # type: ignore[arg-type]
        (message("b", ["text"]), r"parts\[0\] must be an object"),  # type: ignore[list-item]
        (message("b", [{"text": "no type"}]), r"parts\[0\]"),
        (message("b", [text("ok"), {"type": "text"}]), r"parts\[1\]\.text must be a text"),
        (message("b", "a\x00b"), r"parts\[0\]\.text: NUL character at offset 1"),
        (message("b", "a\ud800b"), r"lone surrogate at offset 1"),
        (message("b", [{"type": "data-x", "data": {"k\x00": 1}}]), "NUL"),
        (message("b", [{"type": "data-x", "data": float("nan")}]), "not a finite number"),
        (message("b", "x", metadata={"at": float("inf")}), "not a finite number"),
        (message("b", "x", metadata=None), "metadata must be an object"),
        (message("b", "x", metadata=[1]), "metadata must be an object"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(bad: IncomingMessage, words: str) -> None:
    chat = make_chat(message("a", "One"))
    with pytest.raises(ValueError, match=words):
        check_message(bad)
    with pytest.raises(ValueError, match=f"message 2.*{words}"):
        put_messages(chat.pk, [message("new", "fine"), bad])
    assert order(chat) == ["a"]


def test_deep_nesting_is_refused_before_anything_gives_up() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 100 levels"):
        check_message(message("a", [{"type": "data-x", "data": deep}]))


def test_nesting_up_to_the_limit_is_stored() -> None:
    deep: Any = "x"
    for _ in range(97):
        deep = [deep]
    part = {"type": "tool-x", "toolCallId": "1", "state": "output-available", "output": deep}
    chat = make_chat(message("a", [part]))
    assert put_messages(chat.pk, [message("a", [part])]).unchanged == ["a"]


def test_a_duplicate_id_is_refused() -> None:
    chat = make_chat()
    with pytest.raises(ValueError, match="message 2: the id 'a' occurs twice"):
        put_messages(chat.pk, [message("a", "One"), message("a", "Two")])
    assert order(chat) == []


def test_an_unknown_chat_is_an_error() -> None:
    with pytest.raises(Chat.DoesNotExist):
        put_messages(make_chat().learner_id, [message("a", "One")])


# --- when a chat started ---------------------------------------------------------------------------------------------


def test_a_chat_starts_with_its_first_user_message() -> None:
    chat = make_chat(message("s", "Be kind", role="system"))
    chat.refresh_from_db()
    assert chat.started_at is None
    put_messages(chat.pk, [message("a", "Hello", said_at=NOON)])
    chat.refresh_from_db()
    assert chat.started_at == NOON


def test_a_live_chat_without_times_starts_now_and_an_imported_one_at_no_time() -> None:
    live = make_chat(message("a", "Hello"))
    live.refresh_from_db()
    assert live.started_at is not None
    imported = make_chat(message("a", "Hello"), source="chatgpt", external_id="1")
    imported.refresh_from_db()
    assert imported.started_at is None


# --- delete ----------------------------------------------------------------------------------------------------------


def test_deleting_closes_the_gap_and_is_heard(heard: list[list[str]]) -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"), message("c", "Three"))
    heard.clear()
    delete_message(chat.pk, "b")
    assert order(chat) == ["a", "c"]
    assert heard == [["b"]]


def test_deleting_an_unknown_message_is_an_error() -> None:
    with pytest.raises(Message.DoesNotExist):
        delete_message(make_chat().pk, "nope")


def test_a_deleted_message_that_returns_is_read_again() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"))
    cover(chat, "a", "b")
    delete_message(chat.pk, "b")
    put_messages(chat.pk, [message("b", "Two")])
    assert covered(chat) == {"a"}


def test_deleting_an_uncovered_message_releases_nothing() -> None:
    chat = make_chat(message("a", "One"))
    delete_message(chat.pk, "a")
    assert not CoverageEntry.objects.filter(chat=chat).exists()


@pytest.mark.parametrize(("gone", "left"), [("a", {"b"}), ("b", {"a"}), ("c", {"a", "b"})])
def test_deleting_one_of_several_alike(gone: str, left: set[str]) -> None:
    """Two of three messages with one fingerprint are covered: the first two, by position."""
    chat = make_chat(message("a", "Same"), message("b", "Same"), message("c", "Same"))
    cover(chat, "a", "b")
    delete_message(chat.pk, gone)
    assert covered(chat) == left


def test_deleting_a_shelved_message_releases_what_only_it_had() -> None:
    chat = make_chat(message("a", "One"), message("b", "Two"))
    cover(chat, "a", "b")
    put_messages(chat.pk, [message("a", "One")], whole_transcript=True)
    delete_message(chat.pk, "b")
    put_messages(chat.pk, [message("b", "Two")])
    assert covered(chat) == {"a"}


def test_deleting_a_shelved_message_leaves_its_twin_covered() -> None:
    chat = make_chat(message("a", "Same"))
    cover(chat, "a")
    put_messages(chat.pk, [message("b", "Same")], whole_transcript=True)
    delete_message(chat.pk, "a")
    assert covered(chat) == {"b"}


# --- other writes ----------------------------------------------------------------------------------------------------


def test_update_chat_writes_only_what_differs() -> None:
    chat = make_chat(title="Old")
    assert update_chat(chat, {"title": "New", "settings": {}})
    assert not update_chat(chat, {"title": "New"})
    chat.refresh_from_db()
    assert chat.title == "New"


def test_lock_chat_returns_the_row() -> None:
    chat = make_chat()
    assert lock_chat(chat.pk) == chat


# --- any history -----------------------------------------------------------------------------------------------------

WORDS = ["Red", "Green", "Blue"]
STEPS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from("abcdef"), st.sampled_from(WORDS)),
    st.tuples(st.just("whole"), st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(WORDS)), max_size=5)),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("read"), st.integers(1, 3)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=14))
def test_any_history_keeps_the_invariants(steps: list[tuple]) -> None:
    """Positions stay 1, 2, 3…, the ledger never goes below zero, and what was read and left alone stays covered."""
    chat = make_chat()
    for step in steps:
        match step:
            case ("append", message_id, word):
                put_messages(chat.pk, [message(message_id, word)])
            case ("whole", pairs):
                put_messages(chat.pk, [message(key, word) for key, word in dict(pairs).items()], whole_transcript=True)
            case ("delete", index):
                ids = list(Message.objects.filter(chat=chat).order_by("pk").values_list("message_id", flat=True))
                if index < len(ids):
                    before = covered(chat)
                    delete_message(chat.pk, ids[index])
                    assert len(covered(chat)) >= len(before) - 1
            case ("read", count):
                open_ones = MessageCoverage.objects.filter(chat=chat, covered=False).order_by("position")[:count]
                append_entries(chat, list(open_ones), batch_id=new_id())
    order(chat)
    assert list(invariants.check()) == []
    open_ones = list(MessageCoverage.objects.filter(chat=chat, covered=False))
    append_entries(chat, open_ones, batch_id=new_id())
    assert not MessageCoverage.objects.filter(chat=chat, covered=False).exists()
