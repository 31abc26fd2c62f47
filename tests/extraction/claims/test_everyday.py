"""Talk as people type it: half sentences, mutterings, lower case; and what such talk takes back."""

import pytest

from extraction.claims.pipeline import draft_claims
from tests.extraction.claims_helpers import claims, explained, quiz_part, stated, turn


@pytest.mark.parametrize(
    ("said", "kind", "claim"),
    [
        ("ok fine, three nights then", "decision", "The learner's choice: Three nights."),
        ("hmm ok. i'll do squats only on mondays", "decision", "The learner will do squats only on mondays."),
        ("lets take the ferry to the island", "decision", "The learner decided to take the ferry to the island."),
        ("so fixed: june 14, 2pm to 10pm", "decision", "Fixed: june 14, 2pm to 10pm."),
        ("nah i dont eat meat", "preference", "The learner does not eat meat."),
        ("could you always answer in dutch?", "preference", "Please always answer in dutch."),
        ("when you explain stuff use football examples", "preference", "When you explain stuff use football examples."),
        ("every invoice needs two signatures at our firm", "constraint", "Every invoice needs two signatures at our firm."),
        ("and only gas grills allowed on our balcony", "constraint", "Only gas grills allowed on our balcony."),
        ("nobody knows yet who brings the tables", "open_question", "Nobody knows yet who brings the tables."),
        ("started working at a bakery in may lol", "fact", "The learner started working at a bakery in may."),
        ("what i noticed this week: short runs hurt less", "lesson", "Short runs hurt less."),
    ],
)  # fmt: skip
def test_hurried_statements_have_their_kind(said: str, kind: str, claim: str) -> None:
    assert (kind, claim) in stated(said)


@pytest.mark.parametrize(
    "said",
    [
        "see you then",
        "so i guess thats it then",
        "i'll do it tomorrow",
        "don't worry about it then",
        "if i had a garden i would grow beans",
        "we might go with aws",
        "i would go with aws if it was cheaper",
        "we have to pick a date for the party",
        "i need to send two letters today",
        "my loop never ends",
        '"I have decided to leave the ship. I hate the sea." *He bows.*',
        'the poster said "We prefer red wine. We never drink beer."',
    ],
)
def test_errands_hypotheticals_parts_played_and_quotations_are_left_out(said: str) -> None:
    assert stated(said) == []


def test_a_choice_taken_back_is_not_staged() -> None:
    first = ("user", "We'll take the train to Rome.")
    assert claims(first, ("assistant", "Fine."), ("user", "Changed my mind. We'll take the night bus.")) == [
        "The learner decided to take the night bus."
    ]
    assert claims(("user", "We'll take the train to Rome. Actually no. We'll take the bus to Rome.")) == [
        "The learner decided to take the bus to Rome."
    ]
    assert claims(first, ("user", "No wait, para! It is para.")) == ["The learner decided to take the train to Rome."]


def test_another_lesson_may_follow_the_first() -> None:
    said = (
        "Lesson for the wiki: copy the lock file before the source. And a cache on the runner does nothing by itself."
    )
    assert stated(said) == [
        ("lesson", "Lesson for the wiki: copy the lock file before the source."),
        ("lesson", "A cache on the runner does nothing by itself."),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Peel it off: plastic tape does not decompose in the soil.", ["Plastic tape does not decompose in the soil."]),
        ("I can't see it, but pain in the knee is typical of worn cartilage.", ["Pain in the knee is typical of worn cartilage."]),
        ("Hammers are fun for everybody in the house!", []),
        ("Mix in the torn cardboard and turn the heap with a fork.", []),
        ("*She leans on the rail.* The ship carries forty sailors and a cook.", []),
        ("Starting at zero: it goes up by three in every round.", []),
        ("Some people break caffeine down more slowly than others.", ["Some people break caffeine down more slowly than others."]),
    ],
)  # fmt: skip
def test_clauses_that_stand_alone_are_kept_and_exclamations_commands_and_roles_are_not(text: str, kept: list) -> None:
    assert explained(text) == kept


def test_a_blank_in_a_quiz_is_filled_in_whatever_the_language() -> None:
    part = quiz_part(1, 0, "Ich hänge das Bild an ___ Wand.", True, output={"answer": "die"})
    (draft,) = draft_claims([turn(1, "assistant", part)])
    assert draft.claim == "Ich hänge das Bild an die Wand."


def test_an_explanation_in_another_language_than_its_question_is_the_fact() -> None:
    more = {"output": {"answer": "jouais", "explanation": "Eine Gewohnheit steht im Französischen im imparfait."}}
    (draft,) = draft_claims([turn(1, "assistant", quiz_part(1, 0, "Enfant, je ___ au foot.", True, **more))])
    assert draft.claim == "Eine Gewohnheit steht im Französischen im imparfait."


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("ok dann tauschen wir den heizkörper im bad", "decision"),
        ("puh, mehr als 20 euro, mehr geht nicht, das ist für uns das ende", "constraint"),
        ("bitte immer auf deutsch erklären, das ist einfacher für mich", "preference"),
        ("bon, va pour le train de nuit, c'est plus simple pour nous", "decision"),
        ("je sais pas encore si la mairie est d'accord pour le jardin", "open_question"),
        ("vale, cambio a cuerdas más finas y listo para la semana que viene", "decision"),
        ("apuntado: no tocar el arroz nunca más en la vida", "lesson"),
    ],
)
def test_everyday_german_french_and_spanish(said: str, kind: str) -> None:
    assert [found for found, _ in stated(said)] == [kind]
