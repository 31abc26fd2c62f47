"""Batches: consecutive, oldest first, under the budget, nothing split and nothing skipped."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from coverage.batches import context_before, first_batch


@dataclass
class Row:
    position: int
    tokens: int
    extractable: bool = True


rows_of = st.lists(st.tuples(st.integers(0, 900), st.booleans()), max_size=40).map(
    lambda pairs: [Row(i, tokens, extractable=free and tokens > 0) for i, (tokens, free) in enumerate(pairs, start=1)]
)


@given(rows_of, st.integers(1, 1000))
def test_taking_batch_after_batch_reads_each_message_once_and_leaves_none(rows: list[Row], budget: int) -> None:
    wanted = [row.position for row in rows if row.extractable]
    read: list[int] = []
    while batch := first_batch(rows, budget):
        assert sum(row.tokens for row in batch) <= budget or len(batch) == 1
        between = rows[batch[0].position - 1 : batch[-1].position]
        assert all(row in batch or row.tokens == 0 for row in between)
        read += [row.position for row in batch]
        for row in batch:
            row.extractable = False
    assert read == wanted


@given(rows_of, st.integers(1, 1000))
def test_a_batch_stops_only_at_the_budget_or_at_something_already_read(rows: list[Row], budget: int) -> None:
    batch = first_batch(rows, budget)
    if batch:
        later = [row for row in rows[batch[-1].position :] if row.tokens]
        if later and later[0].extractable:
            assert sum(row.tokens for row in batch) + later[0].tokens > budget


def test_a_message_larger_than_the_budget_is_a_batch_of_its_own() -> None:
    rows = [Row(1, 10), Row(2, 5000), Row(3, 10)]
    assert [row.position for row in first_batch(rows, 500)] == [1]
    assert [row.position for row in first_batch(rows[1:], 500)] == [2]


def test_a_covered_message_with_content_ends_the_group_and_an_empty_one_does_not() -> None:
    rows = [Row(1, 10), Row(2, 0, extractable=False), Row(3, 10), Row(4, 10, extractable=False), Row(5, 10)]
    assert [row.position for row in first_batch(rows, 500)] == [1, 3]


@given(st.lists(st.integers(1, 200), max_size=20), st.integers(0, 600))
def test_context_is_the_nearest_messages_that_fit(sizes: list[int], budget: int) -> None:
    rows = [Row(position, tokens) for position, tokens in enumerate(sizes, start=1)]
    shown = context_before(reversed(rows), budget)
    assert shown == rows[len(rows) - len(shown) :]
    assert sum(row.tokens for row in shown) <= budget
    if len(shown) < len(rows):
        assert sum(row.tokens for row in rows[len(rows) - len(shown) - 1 :]) > budget
