"""Where late messages go in a transcript."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coverage import invariants
from coverage.models import Chat, Message
from coverage.places import keeps_order, woven
from coverage.services import put_messages
from tests.factories import chat as make_chat
from tests.factories import message


@pytest.mark.parametrize(
    ("places", "kept"),
    [
        ([], True),
        ([1, 2, 3], True),
        ([2, 5, None, None], True),
        ([None], True),
        ([None, 1], False),
        ([2, 1], False),
        ([1, None, 2], False),
    ],
)
def test_whether_a_list_keeps_the_order(places: list[int | None], kept: bool) -> None:
    assert keeps_order(places) is kept


@pytest.mark.parametrize(
    ("stored", "given", "order"),
    [
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("ab", "abc", "abc"),
        ("ac", "abc", "abc"),
        ("bc", "abc", "abc"),
        ("adxy", "abcd", "abcdxy"),
        ("xab", "ba", "xba"),
        ("axb", "ba", "bxa"),
        ("abc", "cxya", "cbxya"),
        ("ab", "bc", "abc"),
    ],
)
def test_weaving(stored: str, given: str, order: str) -> None:
    assert "".join(woven(stored, given)) == order


@given(st.permutations("abcdefgh"), st.permutations("efghijkl"), st.integers(0, 8), st.integers(0, 8))
def test_weaving_loses_nothing_and_keeps_the_given_order(stored: list, given: list, m: int, n: int) -> None:
    stored, given = stored[:m], given[:n]
    order = woven(stored, given)
    assert sorted(order) == sorted({*stored, *given})
    assert [key for key in order if key in given] == given
    others = [key for key in stored if key not in given]
    assert [key for key in order if key in others] == others


def order(chat: Chat) -> list[str]:
    assert list(invariants.check()) == []
    return list(Message.objects.filter(chat=chat).order_by("position").values_list("message_id", flat=True))


@pytest.mark.django_db
def test_a_question_that_came_after_its_answer_goes_before_it() -> None:
    chat = make_chat(message("q1", "One?"), message("a2", "Two.", role="assistant"), message("q3", "Three?"))
    late = [message("q1", "One?"), message("q2", "Two?"), message("a2", "Two.", role="assistant")]
    result = put_messages(chat.pk, late)
    assert (result.added, result.moved, result.unchanged) == (["q2"], ["q3", "a2"], ["q1"])
    assert order(chat) == ["q1", "q2", "a2", "q3"]
    assert not put_messages(chat.pk, late).touched


@pytest.mark.django_db
def test_a_late_shorter_list_changes_nothing() -> None:
    messages = [message(key, key) for key in "abcd"]
    chat = make_chat(*messages)
    assert not put_messages(chat.pk, messages[:2]).touched
    assert order(chat) == list("abcd")


@pytest.mark.django_db
@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_order_of_growing_lists_ends_in_the_transcript(chance: random.Random) -> None:
    """Each turn delivers the list so far; deliveries arrive in any order, some twice."""
    messages = [message(f"m{n}", f"Text {n}") for n in range(6)]
    deliveries = [messages[:n] for n in range(1, 7)] + [[m] for m in chance.sample(messages, 2)]
    chance.shuffle(deliveries)
    chat = make_chat()
    for delivery in [*deliveries, messages]:
        put_messages(chat.pk, delivery)
    assert order(chat) == [m.message_id for m in messages]
