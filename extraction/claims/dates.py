"""Relative dates in statements, put into the calendar by the day on which they were said.

Only what has one reading is touched: "tomorrow", "two weeks ago", "by Friday", "next month". Everything else stays. For German,
French and Spanish see ``dates_words``.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from . import dates_words

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SMALL = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_PREPOSITION = r"(?P<before>\b(?:by|until|till|before|after|from|since|due|for|on|in|of)\s+)?"
_NOT_OWNED = r"(?!['’]s|\s*-)"

_DAY = re.compile(
    rf"{_PREPOSITION}\b(?P<word>today|tomorrow|yesterday){_NOT_OWNED}\b(?! morning| evening| night| afternoon)", re.I
)
_AGO = re.compile(r"\b(?P<n>\d{1,3}|a|one|two|three|four|five|six) (?P<unit>days?|weeks?) ago\b", re.IGNORECASE)
_WEEKDAY = re.compile(
    rf"\b(?P<before>by|until|due|before)\s+(?:this |on )?(?P<day>{'|'.join(_WEEKDAYS)}){_NOT_OWNED}\b(?! \d)", re.I
)
_MONTH = re.compile(
    rf"{_PREPOSITION}\b(?P<which>next|last|this) (?P<unit>week|month|year){_NOT_OWNED}\b", re.IGNORECASE
)
_LAST_WEEKDAY = re.compile(
    rf"(?:\b(?P<before>since|on|from)\s+)?\blast (?P<day>{'|'.join(_WEEKDAYS)}){_NOT_OWNED}\b(?! \d)", re.IGNORECASE
)
_DAY_SHIFT = {"today": 0, "tomorrow": 1, "yesterday": -1}
_STEP = {"next": 1, "last": -1, "this": 0}


def said_on(said_at: str | None) -> date | None:
    """The day of an ISO timestamp in its own zone (UTC when it names none), or None when there is no readable one."""
    if not said_at:
        return None
    try:
        moment = datetime.fromisoformat(said_at.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).date()


def _day_words(today: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        day = today + timedelta(days=_DAY_SHIFT[match["word"].lower()])
        return f"{match['before'] or 'on '}{day.isoformat()}"

    return put


def _ago(today: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        number = _SMALL.get(match["n"].lower()) or int(match["n"])
        days = number * (7 if match["unit"].lower().startswith("week") else 1)
        return f"on {(today - timedelta(days=days)).isoformat()}"

    return put


def _weekday(today: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        ahead = (_WEEKDAYS.index(match["day"].lower()) - today.weekday()) % 7 or 7
        return f"{match['before']} {match['day']} {(today + timedelta(days=ahead)).isoformat()}"

    return put


def _last_weekday(today: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        behind = (today.weekday() - _WEEKDAYS.index(match["day"].lower())) % 7 or 7
        return f"{match['before'] or 'on'} {match['day']} {(today - timedelta(days=behind)).isoformat()}"

    return put


def _month(today: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        step = _STEP[match["which"].lower()]
        before = match["before"] or "in "
        if match["unit"].lower() == "week":
            monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
            return f"{before}the week of {monday.isoformat()}"
        if match["unit"].lower() == "year":
            return f"{before}{today.year + step}"
        index = today.year * 12 + today.month - 1 + step
        return f"{before}{_MONTHS[index % 12]} {index // 12}"

    return put


def with_dates(text: str, said_at: str | None, language: str = "en") -> str:
    """The text with its relative dates resolved, or as it was when nobody knows when it was said, or in a language of which no
    such words are known.
    """
    today = said_on(said_at)
    if today is None:
        return text
    try:
        if language != "en":
            return dates_words.put(text, language, today) if language in dates_words.LANGUAGES else text
        for pattern, made in (
            (_DAY, _day_words),
            (_AGO, _ago),
            (_WEEKDAY, _weekday),
            (_LAST_WEEKDAY, _last_weekday),
            (_MONTH, _month),
        ):
            text = pattern.sub(made(today), text)
    except OverflowError:
        return text
    return text
