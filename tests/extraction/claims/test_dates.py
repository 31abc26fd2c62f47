"""Relative dates in four languages: what is put into the calendar, and what has more than one reading and stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.claims.dates import with_dates

SAID = "2026-03-04T10:00:00+00:00"  # a Wednesday

RESOLVED = [
    ("en", "It must be done by next week.", "It must be done by the week of 2026-03-09."),
    ("en", "I have lived here since last Friday.", "I have lived here since Friday 2026-02-27."),
    ("de", "Gestern haben wir entschieden.", "Am 2026-03-03 haben wir entschieden."),
    ("de", "Ab heute nehmen wir den Bus.", "Ab 2026-03-04 nehmen wir den Bus."),
    ("de", "Bis nächste Woche muss es fertig sein.", "Bis zur Woche vom 2026-03-09 muss es fertig sein."),
    ("de", "Seit letzter Woche probe ich.", "Seit der Woche vom 2026-02-23 probe ich."),
    ("de", "Im nächsten Monat geht es los.", "Im April 2026 geht es los."),
    ("de", "Das war letztes Jahr.", "Das war im Jahr 2025."),
    ("fr", "Hier, nous avons décidé.", "Le 2026-03-03, nous avons décidé."),
    ("fr", "Après-demain je pars.", "Le 2026-03-06 je pars."),
    ("fr", "Nous livrons avant la semaine prochaine.", "Nous livrons avant la semaine du 2026-03-09."),
    ("fr", "Il est parti le mois dernier.", "Il est parti en février 2026."),
    ("fr", "Je pars l’année prochaine.", "Je pars en 2027."),
    ("es", "Pasado mañana salgo.", "El 2026-03-06 salgo."),
    ("es", "Tenemos hasta la próxima semana.", "Tenemos hasta la semana del 2026-03-09."),
    ("es", "En la semana que viene entregamos.", "En la semana del 2026-03-09 entregamos."),
    ("es", "El próximo mes nos mudamos.", "En abril de 2026 nos mudamos."),
]
AS_IT_WAS = [
    ("de", "Guten Morgen, heute morgen war es kalt."),
    ("de", "Am Morgen laufe ich, und wir nutzen heute den Ofen."),
    ("de", "Der Bericht von gestern ist lang."),
    ("fr", "La réunion d'hier était longue, et jusqu'à demain rien."),
    ("fr", "Aujourd’hui nous utilisons le four."),
    ("es", "Por la mañana corro y hoy en día leo."),
    ("es", "La reunión de ayer fue larga."),
    ("pl", "Jutro, hier, morgen, ayer, tomorrow."),
]


@pytest.mark.parametrize(("language", "said", "resolved"), RESOLVED)
def test_what_has_one_reading_becomes_a_date(language: str, said: str, resolved: str) -> None:
    assert with_dates(said, SAID, language) == resolved
    assert with_dates(resolved, SAID, language) == resolved
    assert with_dates(said, None, language) == said


@pytest.mark.parametrize(("language", "said"), AS_IT_WAS)
def test_what_may_mean_something_else_stays(language: str, said: str) -> None:
    assert with_dates(said, SAID, language) == said


@given(
    st.sampled_from(["en", "de", "fr", "es"]),
    st.text(max_size=80),
    st.sampled_from(["0001-01-01", "9999-12-31", "2024-02-29"]),
)
def test_no_text_and_no_end_of_the_calendar_breaks_it(language: str, text: str, day: str) -> None:
    words = "heute morgen gestern nächste Woche; hier demain la semaine dernière; ayer mañana el mes pasado; last week tomorrow"
    for said in (text, f"{text} {words} {text}"):
        assert isinstance(with_dates(said, day, language), str)
