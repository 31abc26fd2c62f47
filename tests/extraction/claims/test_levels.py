"""Understanding levels from reactions, restatements and quizzes."""

import pytest

from extraction.claims.pipeline import draft_claims
from tests.extraction.claims_helpers import drafts, level, quiz_part, turn

EXPLAINED = "Chlorophyll is a green pigment. Roots take up water from the soil."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Got it, thanks.", "accepted"),
        ("ok that makes sense", "accepted"),
        ("I see. And what about the leaves?", "accepted"),
        ("Go on please.", "not_yet_engaged"),
        ("Does that make sense to botanists?", "not_yet_engaged"),
        ("I'm lost.", "shaky"),
        ("I don't get the part about chlorophyll and pigments.", "shaky"),
        ("I don't believe that chlorophyll is a pigment.", "resisted"),
        ("That makes sense, but I don't believe that chlorophyll is a pigment.", "resisted"),
    ],
)
def test_the_next_message_sets_the_level(answer: str, expected: str) -> None:
    assert level(drafts(("assistant", EXPLAINED), ("user", answer)), "Chlorophyll") == expected


def test_a_doubt_concerns_only_the_fact_it_names() -> None:
    found = drafts(("assistant", EXPLAINED), ("user", "I don't believe that chlorophyll is a pigment."))
    assert level(found, "Roots") == "not_yet_engaged"
    found = drafts(("assistant", EXPLAINED), ("user", "I always mix up mitosis and meiosis."))
    assert level(found, "Chlorophyll") == "not_yet_engaged"
    assert level(found, "mitosis") == "shaky"


def test_accepting_the_answer_to_an_objection_accepts_what_was_objected_to() -> None:
    found = drafts(
        ("assistant", EXPLAINED),
        ("user", "I don't believe that chlorophyll is a pigment."),
        ("assistant", "Pigments are substances that absorb light of certain colours."),
        ("user", "Ah, that makes sense now."),
    )
    assert level(found, "Chlorophyll") == "accepted"


def test_a_right_restatement_makes_a_fact_solid_and_is_its_second_evidence() -> None:
    explained = ("assistant", "The Calvin cycle takes place in the stroma of the chloroplast.")
    restated = "So the Calvin cycle takes place in the stroma."
    (fact,) = drafts(explained, ("user", restated))
    assert fact.understanding == "solid"
    assert [place.evidence_id for place in fact.evidence] == ["m1.0", "m2.0"]
    assert fact.evidence[1].quote == restated
    for other in ("So the Calvin cycle does not take place in the stroma.", "Calvin cycle?"):
        assert level(drafts(explained, ("user", other)), "Calvin") == "not_yet_engaged"
    corrected = drafts(explained, ("user", restated), ("assistant", "No, only half of it."))
    assert level(corrected, "Calvin") == "not_yet_engaged"


@pytest.mark.parametrize(("correct", "expected"), [(True, "solid"), (False, "shaky")])
def test_a_quiz_moves_the_fact_it_asked_about(correct: bool, expected: str) -> None:
    explained = "Plants carry out cellular respiration day and night, in every cell. Roots take up water from the soil."
    asked = quiz_part(
        3, 0, "When do plants carry out cellular respiration?", correct, input={"answer": "Day and night"}
    )
    found = draft_claims([turn(1, "assistant", explained), turn(2, "user", "ok"), turn(3, "assistant", asked)])
    assert level(found, "in every cell") == expected
    assert level(found, "Roots") == "not_yet_engaged"


def test_the_latest_quiz_stands() -> None:
    def asked(position: int, correct: bool) -> object:
        more = {"output": {"explanation": "Roots take up water from the soil."}}
        return turn(position, "assistant", quiz_part(position, 0, "What do roots take up?", correct, **more))

    (fact,) = draft_claims([asked(1, False), asked(2, True)])
    assert (fact.claim, fact.understanding) == ("Roots take up water from the soil.", "solid")
    assert [place.evidence_id for place in fact.evidence] == ["r1.0", "r2.0"]
