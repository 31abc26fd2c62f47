"""The guards, each for itself: what must agree before two claims may be one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.auditing import guards
from extraction.auditing.guards import GUARDS, disagreements, veto
from extraction.auditing.reading import read

SUBJECTS = ("the pump", "our ledger", "die Pumpe", "la pompe", "la bomba", "Anna", "the pH of the soil")
VERBS = ("melts", "needs oil", "läuft leise", "tourne vite", "funciona bien", "was cleaned", "has 3 valves of 20 mm")
TAILS = ("", "in October", "on Monday", "at least twice a week", "for Berlin", "with no oil", "if it must", "at 20 °C")
words = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäéñßÉ0123456789 .,'%€-", max_size=60)
sentences = st.one_of(
    st.builds(
        lambda *parts: " ".join(parts), st.sampled_from(SUBJECTS), st.sampled_from(VERBS), st.sampled_from(TAILS)
    ),
    words,
)


@given(sentences)
def test_a_claim_agrees_with_itself(text: str) -> None:
    assert disagreements(read(text), read(text)) == {}
    assert veto(read(text), read(text)) is None


@given(sentences, sentences)
def test_a_guard_that_speaks_does_so_from_both_sides(one: str, two: str) -> None:
    for name, guard in GUARDS.items():
        assert (guard(read(one), read(two)) is None) == (guard(read(two), read(one)) is None), name


@given(sentences)
def test_case_and_final_stops_mean_nothing_to_a_guard(text: str) -> None:
    for name in ("numbers", "dates", "negation", "modality", "quantifiers"):
        assert GUARDS[name](read(text), read(f"{text}.")) is None


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_numbers_agree_only_if_they_are_one(one: int, two: int) -> None:
    found = guards.numbers(read(f"It takes {one} steps."), read(f"It takes {two} steps."))
    assert (found is None) == (one == two)


@given(st.integers(1, 31), st.integers(1, 31))
def test_a_day_of_the_month_is_a_number(one: int, two: int) -> None:
    found = veto(read(f"The exam is on the {one}th of June."), read(f"The exam is on the {two}th of June."))
    assert (found is None) == (one == two)


@given(
    st.sampled_from([("is", "is not"), ("ist", "ist nicht"), ("est", "n'est pas"), ("es", "no es"), ("can", "can't")])
)
def test_a_denial_is_seen_in_every_language(forms: tuple[str, str]) -> None:
    plain, denied = forms
    assert guards.negation(read(f"It {plain} safe"), read(f"It {denied} safe")) is not None


@pytest.mark.parametrize(
    ("guard", "one", "two"),
    [
        ("numbers", "It costs twelve euros", "It costs 13 euros"),
        ("numbers", "Chapter 5 before chapter 6", "Chapter 6 before chapter 5"),
        ("numbers", "Version 2.1 is out", "Version 2.10 is out"),
        ("dates", "It is due in March", "It is due in May"),
        ("dates", "Abgabe ist am Montag", "Abgabe ist am Dienstag"),
        ("dates", "Le cours est en juin", "Le cours est en juillet"),
        ("dates", "La clase es el lunes", "La clase es el martes"),
        ("units", "It lasts 5 minutes", "It lasts 5 hours"),
        ("units", "Es dauert 5 Minuten", "Es dauert 5 Stunden"),
        ("units", "It weighs 5kg", "It weighs 5 g"),
        ("names", "We met Anna there", "We met Hanna there"),
        ("names", "It runs on AWS", "It runs on GCP"),
        ("negation", "Salt is allowed", "Salt is forbidden"),
        ("negation", "Das ist erlaubt", "Das ist verboten"),
        ("negation", "C'est possible", "C'est impossible"),
        ("negation", "Está permitido", "Está prohibido"),
        ("modality", "You must rest", "You should rest"),
        ("modality", "You may rest", "You can rest"),
        ("modality", "Man muss pausieren", "Man soll pausieren"),
        ("modality", "On doit se reposer", "On peut se reposer"),
        ("modality", "Se debe parar", "Se puede parar"),
        ("quantifiers", "All metals conduct", "Some metals conduct"),
        ("quantifiers", "Alle Metalle leiten", "Manche Metalle leiten"),
        ("quantifiers", "Tous les métaux conduisent", "Certains métaux conduisent"),
        ("quantifiers", "Todos los metales conducen", "Algunos metales conducen"),
        ("quantifiers", "At least 5 rows", "At most 5 rows"),
        ("comparatives", "Zinc is better", "Zinc is worse"),
        ("comparatives", "Zink ist besser", "Zink ist schlechter"),
        ("tense", "I live there", "I used to live there"),
        ("tense", "It was open", "It will be open"),
        ("tense", "Es ist offen", "Es war offen"),
        ("tense", "C'est ouvert", "C'était ouvert"),
        ("tense", "Está abierto", "Estaba abierto"),
        ("tense", "It works", "It no longer works"),
        ("tense", "We clean it", "We cleaned it"),
        ("scope", "Only cats eat fish", "Cats eat only fish"),
        ("scope", "5 cats like dogs", "Cats like 5 dogs"),
    ],
)
def test_each_guard_sees_what_it_is_for(guard: str, one: str, two: str) -> None:
    assert GUARDS[guard](read(one), read(two)) is not None
    assert GUARDS[guard](read(one), read(one)) is None


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("It costs 1,000 euros", "It costs 1000 EUR"),
        ("It takes five days", "It takes 5 days"),
        ("It isn't safe", "It is not safe"),
        ("You cannot stop it", "You can't stop it"),
        ("Salt is banned", "Salt is not allowed"),
        ("It weighs 5kg", "It weighs 5 kilograms"),
        ("The 15th of Oct", "The 15. of October"),
    ],
)
def test_another_spelling_is_no_disagreement(one: str, two: str) -> None:
    assert veto(read(one), read(two)) is None


def test_what_differs_is_said() -> None:
    found = disagreements(read("The deadline is October 15th"), read("The deadline is October 16th"))
    assert found["numbers"] == "numbers: 15 against 16"
