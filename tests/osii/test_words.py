"""Numbers with their nouns, in code and in templates."""

import pytest

from coverage.words import counted, shown_title
from osii.templatetags import osii


@pytest.mark.parametrize(
    ("nouns", "one"),
    [
        ("chats", "chat"),
        ("batches", "batch"),
        ("activities", "activity"),
        ("pieces of evidence", "piece of evidence"),
        ("nearest propositions", "nearest proposition"),
    ],
)
def test_a_list_of_one_is_not_counted_in_the_plural(nouns: str, one: str) -> None:
    forms = f"{osii._singular(nouns)},{nouns}"
    assert [osii.number(count, forms) for count in (0, 1, 1200)] == [f"0 {nouns}", f"1 {one}", f"1,200 {nouns}"]


def test_the_plural_is_an_s_where_no_other_is_named() -> None:
    assert [counted(1, "chat"), counted(2, "chat"), counted(2, "batch", "batches")] == [
        "1 chat",
        "2 chats",
        "2 batches",
    ]


@pytest.mark.parametrize(
    "title", ["", "  \t", "\u200b\ufeff", "\x07\x1b", "\u2060 \u00ad", "\u3164", "\ufe0f", "\u2800"]
)
def test_a_title_that_nobody_can_see_is_named_by_the_id(title: str) -> None:
    assert shown_title(title, "c1") == "(no title) c1"
    assert shown_title(title) == "(no title)"


@pytest.mark.parametrize("title", ["Tea", "\u200bTea", "茶", "👩\u200d🚀", "-", "\u200f\u05ea\u05d4"])
def test_a_title_with_anything_to_be_seen_stays_as_it_is(title: str) -> None:
    assert shown_title(title, "c1") == title
