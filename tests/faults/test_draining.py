"""Draining is waited for as long as less is left, and no longer."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.faults import rounds


def drained(left: Iterable[int], home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `drain` finds wrong where so many runs are left, looked at every quarter of a second."""
    passed, numbers = [0.0], iter(left)
    clock = SimpleNamespace(monotonic=lambda: passed[0], sleep=lambda seconds: passed.append(passed.pop() + seconds))
    monkeypatch.setattr(rounds, "time", clock)
    made = rounds.Rounds.__new__(rounds.Rounds)
    made.installation = SimpleNamespace(
        process=SimpleNamespace(poll=lambda: None),
        ready=lambda: True,
        rows=lambda _: [(next(numbers), 0, 0, 0, 0, 0)],
        home=home,
    )
    return made.drain(1.0)


def counting_down(most: int, times: int) -> Iterator[int]:
    for number in range(most, -1, -1):
        yield from [number] * times


def test_a_slow_machine_is_waited_for_and_one_that_stands_still_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert drained(counting_down(4, 3), tmp_path, monkeypatch) == []  # 3 seconds, of which each but the last had less
    (still,) = drained(counting_down(4, 6), tmp_path, monkeypatch)
    assert "draining stands still" in still
    (still,) = drained(counting_down(90, 3), tmp_path, monkeypatch)  # less each time, and no end
    assert "takes too long" in still
