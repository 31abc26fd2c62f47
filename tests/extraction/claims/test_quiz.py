"""Answered quizzes as facts, whatever the quiz tool calls its fields."""

from typing import Any

import pytest

from extraction.claims.pipeline import draft_claims
from extraction.claims.quiz import declarative, read_quiz
from tests.extraction.claims_helpers import quiz_part, turn


def fact(question: str, *, correct: bool = True, **more: Any) -> tuple[str, str, str, str | None]:
    part = quiz_part(4, 2, question, correct, **more)
    (draft,) = draft_claims([turn(4, "assistant", part)])
    place = draft.evidence[0]
    held = part.text if place.evidence_id == part.evidence_id else part.call_text
    assert place.quote in held
    return draft.claim, place.evidence_id, place.quote, draft.understanding


def test_the_explanation_is_the_claim_when_it_states_the_answer() -> None:
    explanation = "Well done! The Calvin cycle takes place in the stroma. Shall we go on?"
    claim = "The Calvin cycle takes place in the stroma."
    given = {"output": {"answer": "In the stroma", "explanation": explanation}}
    assert fact("Where does the Calvin cycle run?", **given) == (claim, "r4.2", claim, "solid")
    assert fact("Where does the Calvin cycle run?", correct=False, **given) == (claim, "r4.2", claim, "shaky")


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("What is the capital of France?", "Paris", "The capital of France is Paris"),
        ("Where does the Calvin cycle run?", "In the stroma", "The Calvin cycle runs in the stroma"),
        ("Where do the light reactions take place?", "In the thylakoid", "The light reactions take place in the thylakoid"),
        ("Which pigment absorbs red light?", "Chlorophyll", "The pigment that absorbs red light is Chlorophyll"),
        ("What directly drives ATP synthase?", "The flow of protons", "The flow of protons directly drives ATP synthase"),
        ("Water boils at ___ at sea level.", "100 °C", "Water boils at 100 °C at sea level."),
        ("Which gas do plants take in?", "Carbon dioxide", None),
        ("Why is the sky blue?", "Because of scattering", None),
        ("What is it?", "A leaf", None),
    ],
)  # fmt: skip
def test_question_and_answer_become_one_statement_where_that_is_safe(
    question: str, answer: str, claim: str | None
) -> None:
    assert declarative(question, answer) == claim


def test_a_question_without_safe_form_keeps_its_words_and_quotes_the_call() -> None:
    claim, place, quote, level = fact("Which gas do plants take in?", input={"answer": "Carbon dioxide"})
    assert claim == "“Which gas do plants take in?” – Carbon dioxide."
    assert (place, quote, level) == ("c4.2", "Which gas do plants take in?", "solid")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"options": ["Lyon", "Paris"], "correctIndex": 1}, {"answer": "Lyon", "correct": False}),
        ({"choices": ["Lyon", "Paris"]}, {"selected": "Lyon", "correct_answer": "B", "correct": False}),
        ({"options": [{"id": "p", "text": "Paris"}, {"id": "l", "text": "Lyon"}], "answer": "p"}, {"correct": True}),
        ({"options": [{"text": "Paris", "correct": True}]}, {"answer": "Lyon", "correct": False}),
        ({}, {"answer": "Paris", "correct": True}),
    ],
)
def test_the_right_answer_is_found(given: dict[str, Any], got: dict[str, Any]) -> None:
    quiz = read_quiz({"name": "quiz", "input": {"question": "What is the capital?"} | given, "output": got})
    assert quiz is not None
    assert quiz.answer == "Paris"


def test_pending_quizzes_wrong_answers_without_a_key_and_other_tools_give_nothing() -> None:
    assert read_quiz({"input": {"question": "Why?"}, "output": None}) is None
    assert read_quiz({"input": {"question": "Why?"}, "output": {"correct": "yes"}}) is None
    assert read_quiz({"input": "Why?", "output": {"correct": True}}) is None
    part = quiz_part(1, 0, "Why is the sky blue?", False, output={"answer": "Because it is"})
    assert draft_claims([turn(1, "assistant", part)]) == []
