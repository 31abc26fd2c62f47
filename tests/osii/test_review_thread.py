"""Evidence in context: quotes marked in what the worker saw, neighbours around, and what became of the messages."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage.services import delete_message, put_messages
from osii.web.review_thread import AROUND_QUOTE, NEIGHBOUR_CHARACTERS, NEIGHBOUR_PARTS, Line, thread
from tests import factories
from tests.osii import review_rows as review

pytestmark = pytest.mark.django_db


def marked(line: Line) -> list[str]:
    return [piece.text for passage in line.passages for piece in passage.pieces if piece.kind == "mark"]


def shown(line: Line) -> str:
    return "".join(piece.text for passage in line.passages for piece in passage.pieces if piece.kind != "cut")


def cuts(line: Line) -> list[str]:
    return [piece.text for passage in line.passages for piece in passage.pieces if piece.kind == "cut"]


def test_a_quote_is_marked_between_the_messages_around_it():
    chat = review.talk(*(f"Number {n}: ice floats on water." for n in range(1, 10)))
    batch = review.read(chat)
    candidate = review.staged(batch, "Ice floats.", review.item(batch, "m5.0", "ice floats"))
    lines = thread(candidate)
    assert [(line.position, line.cited) for line in lines] == [(3, False), (4, False), (5, True), (6, False)]
    assert [marked(line) for line in lines] == [[], [], ["ice floats"], []]
    assert shown(lines[2]) == "Number 5: ice floats on water."
    assert [line.speaker for line in lines] == ["user", "assistant", "user", "assistant"]
    assert not any(line.state or line.skipped for line in lines)


def test_two_cited_messages_share_one_thread_and_the_gap_is_counted():
    chat = review.talk(*(f"Message {n} says ice floats." for n in range(1, 21)))
    batch = review.read(chat)
    candidate = review.staged(
        batch, "Ice floats.", review.item(batch, "m17.0", "ice"), review.item(batch, "m2.0", "floats")
    )
    lines = thread(candidate)
    assert [line.position for line in lines] == [1, 2, 3, 15, 16, 17, 18]
    assert [line.skipped for line in lines] == [0, 0, 0, 11, 0, 0, 0]


def test_overlapping_quotes_of_one_part_are_marked_once():
    batch = review.read(review.talk("Ice floats on water, they say."))
    quotes = [review.item(batch, "m1.0", quote) for quote in ("Ice floats", "floats on", "they")]
    (line,) = thread(review.staged(batch, "Ice floats.", *quotes))
    assert marked(line) == ["Ice floats on", "they"]
    assert shown(line) == "Ice floats on water, they say."


def test_a_long_message_is_shown_around_its_quotes_and_says_what_it_leaves_out():
    text = f"{'a' * 5000} first quote {'b' * 5000} second quote {'c' * 5000}"
    batch = review.read(review.talk(text))
    quotes = [review.item(batch, "m1.0", quote) for quote in ("second quote", "first quote")]
    (line,) = thread(review.staged(batch, "A claim.", *quotes))
    assert marked(line) == ["first quote", "second quote"]
    assert cuts(line) == ["4,401", "3,802", "4,401"]
    assert len(shown(line)) == len("first quote" + "second quote") + 4 * AROUND_QUOTE
    assert len(shown(line)) + 4401 + 3802 + 4401 == len(text)


def test_evidence_without_a_quote_is_cited_as_a_whole():
    (line,) = thread(review.staged(review.read(review.talk("Ice floats.")), "Ice floats."))
    assert (marked(line), [passage.whole for passage in line.passages]) == ([], [True])


def test_a_message_that_changed_or_left_is_shown_as_it_was_read():
    chat = review.talk("Ice floats.", "Yes.", "Lead sinks.")
    batch = review.read(chat)
    candidate = review.staged(
        batch, "A claim.", review.item(batch, "m1.0", "Ice floats"), review.item(batch, "m3.0", "Lead sinks")
    )
    put_messages(chat.pk, [factories.message("m1", "Ice sinks.")])
    delete_message(chat.pk, "m3")
    first, second, third = thread(candidate)
    assert (first.state, second.state, third.state) == ("changed", "", "gone")
    assert (shown(first), marked(third)) == ("Ice floats.", ["Lead sinks"])


def test_injected_context_stays_masked_in_the_message_and_around_it():
    block = "<osii-context>You know that lead floats.</osii-context>"
    batch = review.read(review.talk(f"{block} before", f"Ice floats. {block}", f"after {block}"))
    lines = thread(review.staged(batch, "Ice floats.", review.item(batch, "m2.0", "Ice floats")))
    assert len(lines) == 3
    assert "lead floats" not in "".join(shown(line) for line in lines)


def test_a_message_of_many_parts_shows_those_beside_the_cited_one():
    parts = [factories.text(f"Part {n}. " + "x" * 1000) for n in range(30)]
    chat = factories.chat(factories.message("m1", parts), factories.message("m2", parts, "assistant"))
    batch = review.read(chat)
    cited, beside = thread(review.staged(batch, "A claim.", review.item(batch, "m1.7", "Part 7")))
    assert [shown(cited)[:7], cited.left_out, len(cited.passages)] == ["Part 6.", 27, 3]
    assert (len(beside.passages), beside.left_out) == (NEIGHBOUR_PARTS, 30 - NEIGHBOUR_PARTS)
    assert max(len(piece.text) for passage in beside.passages for piece in passage.pieces) == NEIGHBOUR_CHARACTERS


def test_a_quiz_is_named_and_its_answer_marked():
    chat = factories.chat(
        factories.message("m1", [factories.quiz("Does ice float?", "yes", correct=True)], "assistant")
    )
    batch = review.read(chat)
    (line,) = thread(review.staged(batch, "Ice floats.", review.item(batch, "r1.0", "yes")))
    assert [passage.label for passage in line.passages] == ["quiz", "quiz"]
    assert marked(line) == ["yes"]


def test_what_the_environment_does_not_hold_is_shown_by_the_candidate_itself():
    batch = review.read(review.talk("Ice floats."))
    stray = review.item(batch, "m1.0", "Ice floats") | {"id": "m9.0", "message_id": "m9", "position": 9}
    (line,) = thread(review.staged(batch, "Ice floats.", stray))
    assert (line.state, line.position, marked(line)) == ("gone", 9, ["Ice floats"])


def test_ten_pieces_of_evidence_ask_as_often_as_one():
    batch = review.read(review.talk(*(f"Message {n} says ice floats." for n in range(1, 31))))
    few = review.staged(batch, "One.", review.item(batch, "m1.0", "ice"))
    many = review.staged(batch, "Ten.", *(review.item(batch, f"m{n}.0", "ice") for n in range(1, 30, 3)))
    counts = []
    for candidate in (few, many):
        with CaptureQueriesContext(connection) as captured:
            thread(candidate)
        counts.append(len(captured))
    assert counts == [3, 3]
