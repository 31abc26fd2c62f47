"""Two versions' texts side by side, by lines: what stands in one only, and what changed within a line. Bounded in size."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

CHARACTERS = 2_000_000
"""Of each text that are read."""
LINES = 20_000
"""Of each text that are compared, after the equal lines at the beginning and the end are set aside."""
CONTEXT = 3
WORDS = 2_000
"""Characters of a line up to which its words are compared too."""

Run = tuple[str, bool]
"""A stretch of a line, and whether it changed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison; ``kind`` is equal, changed, removed, added or gap (``skipped`` equal lines)."""

    kind: str
    left: int | None = None
    right: int | None = None
    left_runs: list[Run] = field(default_factory=list)
    right_runs: list[Run] = field(default_factory=list)
    skipped: int = 0


@dataclass(slots=True)
class Comparison:
    """``rows`` without equal stretches; counts of lines. ``cut``: one text was too long to be compared whole."""

    rows: list[Row] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    changed: int = 0
    cut: bool = False

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.changed)


def compare(before: str, after: str) -> Comparison:
    """Compare two texts line by line."""
    made = Comparison(cut=max(len(before), len(after)) > CHARACTERS)
    left, right = before[:CHARACTERS].splitlines(), after[:CHARACTERS].splitlines()
    head = _equal(left, right)
    tail = _equal(left[head:][::-1], right[head:][::-1])
    inner_left, inner_right = left[head : len(left) - tail], right[head : len(right) - tail]
    if max(len(inner_left), len(inner_right)) > LINES:
        made.cut, tail = True, 0
        inner_left, inner_right = inner_left[:LINES], inner_right[:LINES]
        left, right = left[: head + LINES], right[: head + LINES]
    blocks = difflib.SequenceMatcher(None, inner_left, inner_right).get_opcodes()
    codes = [("equal", 0, head, 0, head)] if head else []
    codes += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in blocks]
    if tail:
        codes.append(("equal", len(left) - tail, len(left), len(right) - tail, len(right)))
    for place, (tag, a, b, c, d) in enumerate(codes):
        if tag == "equal":
            _add_equal(made, left, (a, b, c), first=place == 0, last=place == len(codes) - 1)
        else:
            _add_changed(made, left[a:b], right[c:d], a, c)
    return made


def _equal(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _add_equal(made: Comparison, lines: list[str], place: tuple[int, int, int], *, first: bool, last: bool) -> None:
    """Equal lines: a few beside a change, the rest as a gap."""
    start, end, other = place
    before = 0 if first else CONTEXT
    after = 0 if last else CONTEXT
    shown = [*range(start, min(start + before, end)), *range(max(end - after, start + before), end)]
    skipped = end - start - len(shown)
    for number in shown:
        if skipped and number >= end - after:
            made.rows.append(Row("gap", skipped=skipped))
            skipped = 0
        text = [(lines[number], False)]
        made.rows.append(Row("equal", number + 1, number - start + other + 1, text, text))
    if skipped:
        made.rows.append(Row("gap", skipped=skipped))


def _add_changed(made: Comparison, left: list[str], right: list[str], a: int, c: int) -> None:
    """Lines that differ, paired as far as there are as many; the rest stands on one side only."""
    paired = min(len(left), len(right))
    for place in range(paired):
        old, new = runs(left[place], right[place])
        made.rows.append(Row("changed", a + place + 1, c + place + 1, old, new))
    made.rows += [Row("removed", a + n + 1, None, [(left[n], True)]) for n in range(paired, len(left))]
    made.rows += [Row("added", None, c + n + 1, [], [(right[n], True)]) for n in range(paired, len(right))]
    made.changed += paired
    made.removed += len(left) - paired
    made.added += len(right) - paired


def runs(left: str, right: str) -> tuple[list[Run], list[Run]]:
    """Both lines as stretches of words, with those that differ marked. Joined they are the lines."""
    if max(len(left), len(right)) > WORDS:
        return [(left, True)], [(right, True)]
    old, new = _words(left), _words(right)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.3:
        return [(left, True)], [(right, True)]
    first, second = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        changed = tag != "equal"
        first.append(("".join(old[a:b]), changed))
        second.append(("".join(new[c:d]), changed))
    return [run for run in first if run[0]], [run for run in second if run[0]]


def _words(line: str) -> list[str]:
    """Words and what lies between them; joined they are the line."""
    found: list[str] = []
    for letter in line:
        kind = letter.isalnum()
        if found and found[-1][-1].isalnum() == kind and not letter.isspace() and not found[-1].isspace():
            found[-1] += letter
        else:
            found.append(letter)
    return found
