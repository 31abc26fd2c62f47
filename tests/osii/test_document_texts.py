"""Comparing two texts, and cutting a window of one at its pages and at a passage."""

from hypothesis import given
from hypothesis import strategies as st

from osii.intake import staging
from osii.web.documents import diff
from osii.web.documents.text import pieces
from osii.web.reader import Window

TEXT = st.text(alphabet="ab \nü東.", max_size=60)


def sides(found: diff.Comparison) -> tuple[list[str], list[str]]:
    """The lines of both texts that the comparison shows, without those in gaps."""
    left = ["".join(text for text, _ in row.left_runs) for row in found.rows if row.left is not None]
    right = ["".join(text for text, _ in row.right_runs) for row in found.rows if row.right is not None]
    return left, right


@given(TEXT, TEXT)
def test_a_comparison_shows_every_line_that_differs_and_loses_none(before, after):
    found = diff.compare(before, after)
    left, right = sides(found)
    skipped = sum(row.skipped for row in found.rows)
    assert len(left) + skipped == len(before.splitlines())
    assert len(right) + skipped == len(after.splitlines())
    for row in found.rows:
        if row.left is not None:
            assert "".join(text for text, _ in row.left_runs) == before.splitlines()[row.left - 1]
        if row.right is not None:
            assert "".join(text for text, _ in row.right_runs) == after.splitlines()[row.right - 1]
        if row.kind == "equal":
            assert row.left_runs == row.right_runs
    assert found.same == (before.splitlines() == after.splitlines())


def test_a_change_within_a_line_is_shown_by_words():
    old, new = diff.runs("the blue lamp", "the red lamp")
    assert old == [("the ", False), ("blue", True), (" lamp", False)]
    assert new == [("the ", False), ("red", True), (" lamp", False)]


def test_long_texts_are_compared_as_far_as_the_bounds_go(monkeypatch):
    monkeypatch.setattr(diff, "LINES", 50)
    before = "\n".join(f"line {number}" for number in range(200))
    after = before.replace("line", "row")
    found = diff.compare(before, after)
    assert found.cut
    assert found.changed == 50


@given(
    st.text(alphabet="abc\n", min_size=1, max_size=40),
    st.lists(st.integers(0, 60), unique=True),
    st.integers(-5, 60),
    st.integers(0, 30),
)
def test_pieces_of_a_window_are_its_text_and_mark_the_passage(text, places, first, length):
    window = Window(10, 10 + len(text), text)
    pages = [(place, number) for number, place in enumerate(sorted(places), start=1)]
    found = list(pieces(window, pages, (first, first + length)))
    assert "".join(piece.text for piece in found) == text
    marked = "".join(piece.text for piece in found if piece.marked)
    assert marked == text[max(0, first - 10) : max(0, first + length - 10)]
    inside = [number for place, number in pages if window.start <= place < window.end]
    assert [piece.page for piece in found if piece.page is not None] == inside


@given(st.text(max_size=300), st.integers(1, 999))
def test_a_staged_name_is_a_name_that_a_disk_takes(name, number):
    made = staging.file_name(name, number)
    assert 0 < len(made.encode()) <= 255
    assert "/" not in made
    assert "\0" not in made
    assert made not in {".", ".."}
