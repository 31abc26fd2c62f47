"""Days, weeks, months and years counted from today in German, French and Spanish, and how a date is said in their place.

Only what has one reading is touched, as in English: "am Morgen" and "por la mañana" are times of day, "heute" and "hoy" may mean
nowadays, and where another preposition stands before the word the sentence is left as it was.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

_BEFORE = r"(?:\b(?![Pp]asado\b)(?P<before>[^\W\d_]+)\s+)?(?<![\w'’-])"


@dataclass(frozen=True)
class Words:
    """How one language names a time. ``kept`` are prepositions that stay before a date, ``since`` those that make "today" a date.
    Forms are by unit: (by itself, after a kept preposition).
    After a word of ``stop`` nothing is touched.
    """

    days: dict[str, int]
    day: re.Pattern[str]
    span: re.Pattern[str]
    units: dict[str, str]
    past: re.Pattern[str]
    kept: frozenset[str]
    since: frozenset[str]
    stop: frozenset[str]
    forms: dict[str, tuple[str, str]]
    months: list[str]


def _words(days: dict[str, int], not_before: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    listed = "|".join(sorted(days, key=len, reverse=True))
    return re.compile(rf"{_BEFORE}(?P<word>{listed})(?![\w'’-])(?!\s+(?:{not_before})\b)", flags)


_DE = {"morgen": 1, "heute": 0, "Heute": 0, "gestern": -1, "Gestern": -1} | {
    "übermorgen": 2, "Übermorgen": 2, "vorgestern": -2, "Vorgestern": -2,
}  # fmt: skip
_FR = {"aujourd['’]hui": 0, "demain": 1, "après-demain": 2, "hier": -1, "avant-hier": -2}
_ES = {"hoy": 0, "mañana": 1, "pasado mañana": 2, "ayer": -1, "anteayer": -2}

LANGUAGES = {
    "de": Words(
        days=_DE,
        day=_words(_DE, "morgen|früh|abend|mittag|vormittag|nachmittag|nacht", 0),
        span=re.compile(
            rf"{_BEFORE}(?P<which>letzte|vorige|nächste|kommende)[nrs]?\s+(?P<unit>Woche|Monat|Jahr)\b", re.I
        ),
        units={"woche": "week", "monat": "month", "jahr": "year"},
        past=re.compile("letzte|vorige", re.I),
        kept=frozenset({"seit", "bis", "ab"}),
        since=frozenset({"ab", "seit"}),
        stop=frozenset(
            "am guten jeden der den dem des die das von vor nach für zu zum zur in einen diesen heute gestern übermorgen ende".split()
        ),
        forms={
            "day": ("am {day}", "{day}"),
            "week": ("in der Woche vom {week}", "{to} Woche vom {week}"),
            "month": ("im {month} {year}", "{month} {year}"),
            "year": ("im Jahr {year}", "{year}"),
        },
        months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    ),
    "fr": Words(
        days=_FR,
        day=_words(_FR, "matin|soir|midi"),
        span=re.compile(
            rf"{_BEFORE}(?:la|le|l['’])\s*(?P<unit>semaine|mois|année|an)\s+(?P<which>derni(?:er|ère)|passée?|prochaine?)\b",
            re.I,
        ),
        units={"semaine": "week", "mois": "month", "année": "year", "an": "year"},
        past=re.compile("derni|pass", re.I),
        kept=frozenset({"depuis", "avant", "pour"}),
        since=frozenset({"depuis"}),
        stop=frozenset("de du des d à au dès partir jusqu après le la ce cette les".split()),
        forms={
            "day": ("le {day}", "le {day}"),
            "week": ("dans la semaine du {week}", "la semaine du {week}"),
            "month": ("en {month} {year}", "{month} {year}"),
            "year": ("en {year}", "{year}"),
        },
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    ),
    "es": Words(
        days=_ES,
        day=_words(_ES, "por la|en día|temprano"),
        span=re.compile(
            rf"{_BEFORE}(?:la|el)\s+(?:(?P<near>próxim[oa])\s+)?(?P<unit>semana|mes|año)(?(near)|\s+(?P<which>que viene|próxim[oa]|pasad[oa]))\b",
            re.I,
        ),
        units={"semana": "week", "mes": "month", "año": "year"},
        past=re.compile("pasad", re.I),
        kept=frozenset({"desde", "hasta", "para"}),
        since=frozenset({"desde"}),
        stop=frozenset("de del a al la una esta este por cada las los el partir pasado".split()),
        forms={
            "day": ("el {day}", "el {day}"),
            "week": ("en la semana del {week}", "la semana del {week}"),
            "month": ("en {month} de {year}", "{month} de {year}"),
            "year": ("en {year}", "{year}"),
        },
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    ),
}


def put(text: str, language: str, today: date) -> str:
    """The text with its relative dates resolved; raises OverflowError at the end of the calendar."""
    words = LANGUAGES[language]
    return words.span.sub(_span(words, today), words.day.sub(_day(words, today), text))


def _day(words: Words, today: date) -> Callable[[re.Match[str]], str]:
    def said(match: re.Match[str]) -> str:
        # "aujourd'hui" is listed as a pattern, for its apostrophe; it is today as every word that is not found.
        step = words.days.get(match["word"].lower(), 0)
        before = (match["before"] or "").lower()
        if step == 0 and before not in words.since:
            return match.group()
        return _said(words, match, "day", {"day": (today + timedelta(days=step)).isoformat()})

    return said


def _span(words: Words, today: date) -> Callable[[re.Match[str]], str]:
    def said(match: re.Match[str]) -> str:
        unit = words.units[match["unit"].lower()]
        step = -1 if words.past.match(match["which"] or "") else 1
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        index = today.year * 12 + today.month - 1 + step
        year = index // 12 if unit == "month" else today.year + step
        return _said(
            words, match, unit, {"week": monday.isoformat(), "month": words.months[index % 12], "year": str(year)}
        )

    return said


def _said(words: Words, match: re.Match[str], unit: str, values: dict[str, str]) -> str:
    """The date in the place of the words, with what stood before them."""
    before = match["before"]
    if before is not None and before.lower() in words.stop:
        return match.group()
    by_itself, kept = words.forms[unit]
    if before is not None and before.lower() in words.kept:
        return f"{before} {kept.format(to='zur' if before.lower() == 'bis' else 'der', **values)}"
    shown = by_itself.format(**values)
    own, _, rest = shown.partition(" ")
    if before is not None and before.lower() == own:  # "im nächsten Monat": once is enough
        return f"{before} {rest}"
    return f"{before} {shown}" if before is not None else shown[0].upper() + shown[1:] if not match.start() else shown
