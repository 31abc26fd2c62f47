"""What learners state: kinds, wording, dates, and what is not worth keeping."""

import pytest

from extraction.claims.pipeline import draft_claims
from tests.extraction.claims_helpers import claims, drafts, stated, talk, turn


@pytest.mark.parametrize(
    ("said", "kind", "claim"),
    [
        ("I prefer short texts, because I lose the thread.", "preference", "The learner prefers short texts, because they lose the thread."),
        ("I hate treadmills.", "preference", "The learner hates treadmills."),
        ("Please always answer in metric units.", "preference", "Please always answer in metric units."),
        ("Please explain the idea first, I learn best by calculating.", "preference", "The learner learns best by calculating."),
        ("We decided to use PostgreSQL, because it has row locks.", "decision", "We decided to use PostgreSQL, because it has row locks."),
        ("Ok, let's go with SQLite, we can switch later.", "decision", "The learner decided to go with SQLite, we can switch later."),
        ("I'll go with the train instead of the car.", "decision", "The learner decided to go with the train instead of the car."),
        ("Decision: we use LoRa, and neither a cable nor wireless LAN.", "decision", "We use LoRa, and neither a cable nor wireless LAN."),
        ("The total spending must stay under 400 euros.", "constraint", "The total spending must stay under 400 euros."),
        ("No more than three new terms at once, otherwise I forget them.", "constraint", "No more than three new terms at once, otherwise I forget them."),
        ("One condition: the bathroom must not be closed for two days.", "constraint", "The bathroom must not be closed for two days."),
        ("I can only train twice a week because of my shifts.", "constraint", "The learner can only train twice a week because of their shifts."),
        ("I assume that fewer than ten people book at once.", "working_assumption", "The learner assumes that fewer than ten people book at once."),
        ("I still need to find out whether the wall is load-bearing.", "open_question", "The learner still needs to find out whether the wall is load-bearing."),
        ("Open: does the caterer handle allergies?", "open_question", "Open: does the caterer handle allergies?"),
        ("whats not clear is who pays for the SIM card", "open_question", "What's not clear is who pays for the SIM card."),
        ("So lesson two: never compare probes before calibrating them.", "lesson", "Never compare probes before calibrating them."),
        ("It turned out that my shoes were the problem.", "lesson", "The learner's shoes were the problem."),
        ("I'm a nurse and I work night shifts in Kiel.", "fact", "The learner is a nurse and they work night shifts in Kiel."),
        ("My sister hosts the server in her cellar.", "fact", "The learner's sister hosts the server in her cellar."),
        ("We cook with induction in our flat.", "fact", "We cook with induction in our flat."),
        ("I already knew that plants need light and water.", "fact", "Plants need light and water."),
        ("I have a test on 20 March and I want to understand osmosis.", "fact", "The learner has a test on 20 March."),
    ],
)  # fmt: skip
def test_statements_have_their_kind_and_speak_of_the_learner(said: str, kind: str, claim: str) -> None:
    assert stated(said) == [(kind, claim)]


@pytest.mark.parametrize(
    "said",
    [
        "Can you explain the Calvin cycle once more?",
        "Thanks, that helps a lot!",
        "I'm back, let's go on with the next part.",
        "I want to understand how enzymes work in detail.",
        "I would like to know more about the second stage.",
        "I have another question about the two photosystems.",
        "I like that comparison with the batteries.",
        "Let's use the second one, I like it better.",
        "I have to go now, see you tomorrow.",
        "I can't say what happens where in the cell.",
        "Let's start with the basics of photosynthesis.",
        "My teacher says that the mean uses all of the information.",
        "Everybody I talk to says that it needs underfloor heating.",
        "I think plants eat soil to grow taller.",
        "I thought the cycle only runs during the night.",
        "testing if memory works correctly",
        "The Calvin cycle must run at night because of the name.",
    ],
)
def test_requests_small_talk_and_unconfirmed_beliefs_are_left_out(said: str) -> None:
    assert stated(said) == []


def test_a_belief_counts_when_the_assistant_confirms_it_and_never_when_it_corrects_it() -> None:
    belief = ("user", "I think ATP synthase works like a little turbine.")
    (fact,) = drafts(belief, ("assistant", "Exactly. Shall we go on?"))
    assert (fact.claim, fact.understanding) == ("ATP synthase works like a little turbine.", "solid")
    assert claims(belief, ("assistant", "Not quite. Shall we go on?")) == []
    assert claims(("user", f"{belief[1]} Is that so?"), ("assistant", "Yes. Shall we go on?")) == []


def test_must_sets_a_limit_only_in_a_project_of_their_own() -> None:
    must = "A booking can't be longer than one day."
    assert claims(("user", must)) == []
    assert claims(("user", "We share a trailer in our garden."), ("assistant", "I see."), ("user", must)) == [
        "We share a trailer in our garden.",
        must,
    ]


def test_a_reason_an_action_and_a_condition_stay_with_their_statement() -> None:
    found = drafts(
        ("user", "Guest houses, then. The reasons are the weight and the knee."),
        ("user", "What I don't know is who pays. I'll ask the board on 21 April."),
        ("user", "I assume that the price stays at 31 cents. If it goes above 36 cents I must do the sums again."),
        ("user", "There is an old pump in the garden. I assume it gives 8 litres per minute."),
    )
    assert [draft.claim for draft in found] == [
        "The learner's choice: Guest houses. The reasons are the weight and the knee.",
        "What I don't know is who pays. The learner will ask the board on 21 April.",
        "The learner assumes that the price stays at 31 cents.",
        "There is an old pump in the garden. The learner assumes it gives 8 litres per minute.",
    ]
    assert found[2].staleness == "If it goes above 36 cents I must do the sums again."
    assert found[3].staleness
    assert found[0].evidence[0].quote == "Guest houses, then. The reasons are the weight and the knee."


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("The report must be ready by tomorrow.", "by 2026-03-05."),
        ("The report is due on Friday, no later than 9.", "is due Friday 2026-03-06, no later"),
        ("The report must be done by Friday.", "by Friday 2026-03-06."),
        ("We decided yesterday to use PostgreSQL.", "We decided on 2026-03-03 to use"),
        ("We moved to Kiel two weeks ago with our shop.", "to Kiel on 2026-02-18 with"),
        ("We burned 900 litres of oil last year.", "in 2025."),
        ("I joined a choir last week.", "joined a choir in the week of 2026-02-23."),
        ("I started at the bakery last Monday.", "at the bakery on Monday 2026-03-02."),
        ("Unsere Abgabefrist ist morgen.", "Unsere Abgabefrist ist am 2026-03-05."),
        ("Ich arbeite seit gestern bei der Bahn.", "seit 2026-03-03 bei der Bahn."),
        ("Wir sind letzte Woche nach Wien gezogen.", "Wir sind in der Woche vom 2026-02-23 nach Wien"),
        ("Nous devons rendre le rapport demain.", "le rapport le 2026-03-05."),
        ("Trabajo en la biblioteca desde ayer.", "desde el 2026-03-03."),
        ("The deadline is at the end of next month.", "at the end of April 2026."),
        ("Tomorrow's deadline is in our calendar.", "Tomorrow's deadline"),
    ],
)
def test_relative_dates_are_resolved_against_the_messages_own_time(said: str, resolved: str) -> None:
    ((_, claim),) = stated(said)
    assert resolved in claim
    (undated,) = draft_claims([turn(1, "user", said, said_at=None)])
    assert "2026" not in undated.claim


def test_claims_stay_in_the_language_of_the_chat_even_when_it_switches() -> None:
    found = claims(
        ("user", "We have decided to use fruit for the model instead of plastic balls."),
        ("user", "Hemos decidido hacer la maqueta con frutas, porque es más barato. Prefiero ejemplos sencillos."),
        ("user", "Wir haben beschlossen, den Zug zu nehmen. Ich arbeite als Lehrer in Kiel."),
        ("user", "Nous avons décidé d'acheter une cocotte. Je préfère les recettes simples."),
        ("user", "夜はほうじ茶だけにすると決めました。"),
        ("user", "我们决定下周二做实验，预算不超过200元。"),
    )
    assert found == [
        "We have decided to use fruit for the model instead of plastic balls.",
        "Hemos decidido hacer la maqueta con frutas, porque es más barato.",
        "Prefiero ejemplos sencillos.",
        "Wir haben beschlossen, den Zug zu nehmen.",
        "Ich arbeite als Lehrer in Kiel.",
        "Nous avons décidé d'acheter une cocotte.",
        "Je préfère les recettes simples.",
        "夜はほうじ茶だけにすると決めました。",
        "我们决定下周二做实验，预算不超过200元。",
    ]


def test_the_same_claim_twice_is_one_draft_with_two_places() -> None:
    (draft,) = draft_claims(
        talk(("user", "I prefer short texts."), ("assistant", "OK."), ("user", "i prefer SHORT texts"))
    )
    assert [place.evidence_id for place in draft.evidence] == ["m1.0", "m3.0"]
