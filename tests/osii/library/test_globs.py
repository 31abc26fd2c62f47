"""Patterns of names in the database match what they match in Python, and none of them breaks a statement."""

from fnmatch import fnmatchcase

from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from osii.library.globs import backwards, glob

NAMES = st.text(alphabet="abc-]^!.", max_size=5)
LETTERS = st.text(alphabet=r"ab\c-[]!^*?.:=&|~( é", max_size=12)
SETS = st.text(alphabet=r"abc-!]^\[:.", min_size=1, max_size=6).map("[{}]".format)
PATTERNS = st.lists(LETTERS | SETS, max_size=4).map("".join)


class PatternsInTheDatabase(TestCase):
    @given(PATTERNS, st.lists(NAMES, max_size=8))
    def test_a_pattern_matches_there_what_it_matches_here(self, pattern: str, names: list[str]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT coalesce(array_agg(name ~* %s ORDER BY place), '{}') FROM unnest(%s::text[]) WITH ORDINALITY "
                "AS given (name, place)",
                [glob(pattern), names],
            )
            found = cursor.fetchone()[0]
        assert found == [fnmatchcase(name, pattern) for name in names], glob(pattern)


def test_a_range_that_runs_backwards_is_found_in_any_set() -> None:
    assert backwards("[a-b-c]*[!z-a]x") == "z-a"
    assert backwards("[]-[]") == "]-["
    assert backwards("[a-b-c]*?[--a][!]-z]") is None
