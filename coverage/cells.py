"""Texts as cells of a table that somebody may open in a spreadsheet, which would run some of them as formulas."""

import re
from collections.abc import Iterable
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?[\d.,\u00a0 ]*\d\s*%?", re.ASCII)


def safe_cell(value: Any) -> Any:
    """The value as a cell: a text that a spreadsheet would take for a formula begins with an apostrophe."""
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA):
        return f"'{value}"
    return value


def safe_row(row: Iterable[Any]) -> list[Any]:
    """The same for a row of data, whose numbers stay what they are: a sign alone makes no formula."""
    return [value if isinstance(value, str) and _NUMBER.fullmatch(value) else safe_cell(value) for value in row]
