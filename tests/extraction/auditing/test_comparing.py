"""How a later claim stands to an earlier one: the same, in its place, against it, or another one."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.auditing.comparing import Relation, compare

RESTATED = (
    "We decided to use PostgreSQL for the ledger.",
    "We will use PostgreSQL for the ledger.",
    "For the ledger we use PostgreSQL.",
    "We chose PostgreSQL for the ledger.",
    "The learner decided to go with PostgreSQL for the ledger.",
    "PostgreSQL was chosen for the ledger.",
)


def relation(new: str, old: str, kind: str = "fact", other: str | None = None) -> Relation:
    return compare(new, kind, old, other or kind).relation


@pytest.mark.parametrize(("one", "two"), list(permutations(RESTATED, 2)))
def test_one_decision_told_in_six_ways_is_one(one: str, two: str) -> None:
    assert relation(one, two, "decision") == Relation.SAME


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Metal expands with heat", "Metals expand with heat"),
        ("The learner lives in Oslo", "I live in Oslo now"),
        ("I use Vim for Python", "For Python I use Vim"),
        ("Deployment isn't allowed on Fridays", "Deployment is not allowed on Fridays"),
    ],
)
def test_near_paraphrases_are_the_same(one: str, two: str) -> None:
    assert relation(one, two) == relation(two, one) == Relation.SAME


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Alice manages Bob", "Bob manages Alice"),
        ("Dogs are animals", "Animals are dogs"),
        ("The train goes from Paris to Lyon", "The train goes from Lyon to Paris"),
        ("Zinc is harder than tin", "Tin is harder than zinc"),
        ("Tea has caffeine", "Green tea has caffeine"),
        ("Water boils at 100 °C", "Water boils at 90 °C"),
        ("Prices rise", "Prices fall"),
        ("The sky is blue", "The sky is green"),
        ("The capital of France is Paris", "The capital of France is Lyon"),
        ("The price in Paris is 5 €", "The price in Rome is 5 €"),
        ("I ran 5 km", "I ran 10 km"),
        ("I prefer tea", "I prefer coffee"),
        ("I worked at Acme", "I work at Acme"),
        ("The meeting with Ada is on Monday", "The meeting with Bo is on Monday"),
        ("We do not deploy on Fridays", "We never deploy on Fridays"),
        ("The report must be short", "The report should be short"),
        ("I work at Acme", "I also work at Borealis"),
    ],
)
def test_when_in_doubt_two_claims_are_two(one: str, two: str) -> None:
    assert relation(one, two) == relation(two, one) == Relation.OTHER


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ("Deployment is not allowed on Fridays", "Deployment is allowed on Fridays", "constraint"),
        ("Deployment is forbidden", "Deployment is allowed", "constraint"),
        ("We never deploy on Fridays", "We always deploy on Fridays", "constraint"),
        ("Das ist freitags nicht erlaubt", "Das ist freitags erlaubt", "fact"),
        ("Le code n'est pas autorisé", "Le code est autorisé", "fact"),
        ("El acceso no está permitido", "El acceso está permitido", "fact"),
    ],
)
def test_a_denial_contradicts(one: str, two: str, kind: str) -> None:
    assert relation(one, two, kind) == relation(two, one, kind) == Relation.CONTRADICTS


@pytest.mark.parametrize(
    ("later", "earlier", "why"),
    [
        ("I joined Borealis", "I work at Acme", "employer"),
        ("The learner just joined Borealis", "The learner works at Acme", "employer"),
        ("Ich arbeite jetzt bei Siemens", "Ich arbeite bei Bosch", "employer"),
        ("Je travaille maintenant chez Renault", "Je travaille chez Peugeot", "employer"),
        ("Trabajo en Iberia", "Trabajo en Renfe", "employer"),
        ("I moved to Lyon", "I live in Paris", "residence"),
        ("Ich wohne jetzt in Berlin", "Ich wohne in Hamburg", "residence"),
        ("J'habite à Lyon", "J'habite à Paris", "residence"),
        ("Vivo en Madrid", "Vivo en Sevilla", "residence"),
        ("The deadline is October 16th", "The deadline is October 15th", "deadline"),
        ("Die Frist ist der 16. Oktober", "Die Frist ist der 15. Oktober", "16 after 15"),
        ("Le délai est de 5 jours", "Le délai est de 4 jours", "5 after 4"),
        ("La fecha límite es el 16 de octubre", "La fecha límite es el 15 de octubre", "16 after 15"),
        ("The limit is now 200 requests", "The limit is 100 requests", "200 after 100"),
        ("The exam is on Tuesday", "The exam is on Monday", "exam"),
        ("I have worked at Acme for 6 years", "I have worked at Acme for 5 years", "duration"),
        ("I have 3 cats", "I have 2 cats", "3 after 2"),
        ("My favourite editor is Emacs", "The learner's favourite editor is Vim", "favourite"),
        ("I prefer Emacs for Python", "I prefer Vim for Python", "choice"),
        ("We moved the backups from S3 to Azure", "The backups are stored on S3", "moved"),
        ("We switched from Jenkins to Buildkite", "We use Jenkins", "moved"),
        ("Wir haben das Register von MySQL auf PostgreSQL umgestellt", "Das Register nutzt MySQL", "moved"),
        ("Nous avons migré le registre de MySQL à PostgreSQL", "Le registre utilise MySQL", "moved"),
        ("Migramos el registro de MySQL a PostgreSQL", "El registro usa MySQL", "moved"),
        ("Deployment is no longer allowed", "Deployment is allowed", "no longer"),
        ("Je n'habite plus à Paris", "J'habite à Paris", "no longer"),
    ],
)
def test_a_later_value_takes_the_place_of_the_earlier_one(later: str, earlier: str, why: str) -> None:
    found = compare(later, "fact", earlier, "fact")
    assert (found.relation, why in found.reason) == (Relation.REPLACES, True), found


@pytest.mark.parametrize("kind", ["preference", "constraint"])
def test_a_wish_or_a_rule_is_not_a_fact_in_the_same_words(kind: str) -> None:
    assert relation("Metals expand with heat", "Metal expands with heat", kind, "fact") == Relation.OTHER


@pytest.mark.parametrize("kind", ["open_question", "lesson"])
def test_questions_and_lessons_are_outdated_by_nothing(kind: str) -> None:
    assert relation("The limit is 5", "The limit is 4", kind) == Relation.OTHER


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["fact", "decision", "preference"]))
def test_any_two_texts_can_be_compared_and_identity_is_symmetric(one: str, two: str, kind: str) -> None:
    assert (relation(one, two, kind) == Relation.SAME) == (relation(two, one, kind) == Relation.SAME)
