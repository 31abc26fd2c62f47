"""Numbers with their nouns, in code and in templates."""

import pytest

from coverage.words import counted
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
