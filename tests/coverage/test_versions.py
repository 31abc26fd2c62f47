"""Late deliveries: an older content never replaces a newer one, in any order of arrival."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from coverage.models import Message
from coverage.services import put_messages
from coverage.versions import is_stale
from tests.factories import chat as make_chat
from tests.factories import message, quiz, text

NOON, ONE = "2026-03-01T12:00:00Z", "2026-03-01T13:00:00+00:00"


def content(parts: str | list[dict[str, Any]] = "x", **metadata: Any) -> SimpleNamespace:
    return SimpleNamespace(parts=[text(parts)] if isinstance(parts, str) else parts, metadata=metadata)


def streaming(value: str) -> list[dict[str, Any]]:
    return [text(value, state="streaming")]


def call(state: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool-quiz", "toolCallId": "1", "input": {}, "state": state, **more}]


@pytest.mark.parametrize(
    ("stored", "given", "stale"),
    [
        # A version decides, whatever the content looks like.
        (content(version=2), content(version=1), True),
        (content(version=1), content(version=2), False),
        (content(version=1), content(streaming("x"), version=2), False),
        (content(streaming("x"), version=2), content(version=1), True),
        (content(version=-1), content(version=-2), True),
        (content(version=2.0), content(version=1), True),
        # So does a time, in each notation that imports know.
        (content(updatedAt=ONE), content(updatedAt=NOON), True),
        (content(updatedAt=NOON), content(updatedAt=ONE), False),
        (content(updatedAt=1_772_370_000), content(updatedAt=1_772_366_400_000), True),
        (content(version=1, updatedAt=ONE), content(version=2, updatedAt=NOON), False),
        (content(version=1, updatedAt=ONE), content(version=1, updatedAt=NOON), True),
        # Equal ones, and those that are not comparable, leave it to the content.
        (content(version=1), content("y", version=1), False),
        (content(version=1), content(streaming("x"), version=1), True),
        (content(version=9), content("y"), False),
        (content(), content("y", version=1), False),
        (content(version="9"), content("y", version="1"), False),
        (content(version=True), content("y", version=False), False),
        (content(updatedAt="soon"), content("y", updatedAt="later"), False),
        # A settled content is not replaced by one that still streams.
        (content(), content(streaming("x")), True),
        (content(streaming("x")), content(), False),
        (content(streaming("x y")), content(streaming("x")), False),
        # A tool call never gets less far.
        (content(call("output-available", output=4)), content(call("input-available")), True),
        (content(call("input-available")), content(call("output-available", output=4)), False),
        (content(call("output-available", output=4)), content(call("output-available", output=5)), False),
        (content(call("output-error", errorText="no")), content(call("input-available")), True),
        (content(call("approval-responded")), content(call("approval-requested")), True),
        (content(call("odd", output=4)), content(call("input-available")), True),
        (content(call("odd", output=4)), content(call("odd")), True),
        (content(call("output-available", output=4)), content("another content without the call"), False),
        (content(call(["odd"])), content(call({"very": "odd"})), False),
        (content([{"type": "tool-x", "toolCallId": 7}]), content([{"type": "tool-x", "toolCallId": None}]), False),
    ],
)
def test_which_content_is_older(stored: SimpleNamespace, given: SimpleNamespace, stale: bool) -> None:
    assert is_stale(stored, given) is stale


VERSIONED = [message("a", f"Version {n}", role="assistant", metadata={"version": n}) for n in (1, 2, 3)]
QUIZ = [
    message("a", [quiz("2 + 2?", state="input-streaming")], role="assistant"),
    message("a", [quiz("2 + 2?")], role="assistant"),
    message("a", [quiz("2 + 2?", "4", correct=True)], role="assistant"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("contents", [VERSIONED, QUIZ], ids=["versions", "quiz"])
def test_any_order_of_arrival_ends_with_the_newest(contents: list, order: tuple[int, ...]) -> None:
    chat = make_chat()
    for index in order:
        result = put_messages(chat.pk, [contents[index]])
        assert len(result.added + result.changed + result.stale) == 1
    assert Message.objects.get(chat=chat).parts == contents[2].parts
    assert put_messages(chat.pk, [contents[2]]).unchanged == ["a"]


@pytest.mark.django_db
def test_a_stale_content_writes_nothing_and_is_reported() -> None:
    chat = make_chat(message("a", "New", metadata={"version": 2}), message("b", "Other"))
    before = list(Message.objects.filter(chat=chat).values())
    chat.refresh_from_db()
    result = put_messages(chat.pk, [message("a", "Old", metadata={"version": 1}), message("b", "Other")])
    assert (result.stale, result.unchanged, result.touched) == (["a"], ["b"], False)
    assert list(Message.objects.filter(chat=chat).values()) == before
    updated_at = chat.updated_at
    chat.refresh_from_db()
    assert chat.updated_at == updated_at


@pytest.mark.django_db
def test_a_whole_transcript_sets_every_content() -> None:
    """An import says how the chat is; switching back to an older branch is not a late delivery."""
    chat = make_chat(message("a", [quiz("2 + 2?", "4", correct=True)], role="assistant"))
    earlier = message("a", [quiz("2 + 2?")], role="assistant")
    assert put_messages(chat.pk, [earlier], whole_transcript=True).changed == ["a"]
