"""Timing that survives a busy machine: rivals take turns, medians are compared, the spread is kept.

And what an operation costs beside its time: how that grows with the size, the memory at its highest, and the queries.
"""

import contextlib
import ctypes
import gc
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db import connection

from . import scratch
from .result import Result, Target

Call = Callable[[], object]

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Of this process's memory, where the kernel tells it; and where the highest mark so far is forgotten by writing a 5."""


def take_turns(calls: Mapping[str, Call], *, rounds: int, warm_up: int = 2) -> dict[str, list[float]]:
    """Milliseconds of each call in each round. All calls run once per round, so that what slows one slows all."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(warm_up + rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            taken = (time.perf_counter() - begun) * 1000
            if number >= warm_up:
                times[name].append(taken)
    return times


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which ``percent`` of the sorted values lie, interpolated."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def spread(values: Sequence[float]) -> dict[str, float | int]:
    """The fields ``median``, ``low``, ``high`` and ``runs`` of a Result."""
    return {
        "median": statistics.median(values),
        "low": percentile(values, 10),
        "high": percentile(values, 90),
        "runs": len(values),
    }


def once(value: float) -> dict[str, float | int]:
    """The same fields of what is measured once, or is the same each time."""
    return {"median": value, "low": value, "high": value, "runs": 1}


def median_ratio(values: Sequence[float], beside: Sequence[float]) -> float:
    """The median of the ratios within each round."""
    return statistics.median(value / other for value, other in zip(values, beside, strict=True))


def growth(small: Sequence[float], large: Sequence[float], factor: float) -> float:
    """The exponent of growth between two sizes, of which the second is ``factor`` times the first: 0 for what stays as it is,
    1 for what grows as the size does. Of the fastest round of each, which others on the machine delay the least.
    """
    return math.log(min(large) / min(small)) / math.log(factor)


def grown(before: Result, now: Result, factor: float) -> float | None:
    """The exponent between the same row at two sizes, of its fastest rounds (their 10th percentile). Of a rate it is that of
    the time for all: 1 where the rate stays. None where there is nothing to compare.
    """
    if before.unit != now.unit or not (before.low and now.low):
        return None
    if now.unit.endswith("/s"):
        return 1 - growth([before.high], [now.high], factor)
    return growth([before.low], [now.low], factor)


def with_growth(rows: list[Result], before: list[Result], factor: float) -> list[Result]:
    """The rows with their growth from the same rows at the size before, where there was one."""
    if not before:
        return rows
    return [replace(row, growth=grown(old, row, factor)) for old, row in zip(before, rows, strict=True)]


@dataclass(frozen=True, slots=True)
class Cost:
    """``peak_mb`` is None where the kernel does not tell."""

    peak_mb: float | None
    queries: int


def cost_of(call: Call) -> Cost:
    """What one call costs: the fields ``peak_mb`` and ``queries`` of a Result."""
    with _counting() as counted:
        before = _told(_resting)
        call()
        highest = _told(lambda: _resident("VmHWM"))
    return Cost(None if before is None or highest is None else max(0.0, (highest - before) / 1e6), counted.number)


class _Counted(deque[Any]):
    """In place of Django's list of statements: how many there are, and none of their texts, which would be taken for the
    call's own memory.
    """

    number = 0

    def append(self, _statement: Any) -> None:
        self.number += 1


@contextlib.contextmanager
def _counting() -> Iterator[_Counted]:
    connection.ensure_connection()
    counted, before = _Counted(), (connection.queries_log, connection.force_debug_cursor)
    connection.queries_log, connection.force_debug_cursor = counted, True
    try:
        yield counted
    finally:
        connection.queries_log, connection.force_debug_cursor = before


def _told(ask: Callable[[], int]) -> int | None:
    try:
        return ask()
    except OSError:
        return None


def _resting() -> int:
    """Bytes in memory with nothing left over from earlier; the highest mark begins here."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed and is still held would hide what the call takes
    FORGET.write_text("5")
    return _resident("VmRSS")


def _resident(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


@dataclass(frozen=True, slots=True)
class Case:
    """What is done at one size: ``limit`` does the least that there is to do, ``rivals`` do the work otherwise.

    ``amount`` operations are in one call: times are told for one, or with a unit "…/s" as operations in a second.
    """

    ours: Call
    limit: tuple[str, Call]
    rivals: Mapping[str, Call]
    amount: float = 1
    name: str = ""
    target: Target | None = None


def compare(benchmark: str, sizes: Mapping[int, int], case: Callable[[int], Case], *, unit: str = "ms") -> list[Result]:
    """Rows of each size (size: rounds): the limit, the rivals and ours, which is compared with both and with the size before."""
    results: list[Result] = []
    before: tuple[int, list[float]] | None = None
    for size, rounds in sizes.items():
        made = case(size)
        made.ours()  # what is imported and remembered once is not what a call costs
        cost = cost_of(made.ours)
        calls = {"limit": made.limit[1], **made.rivals, "ours": made.ours}
        times = take_turns(calls, rounds=rounds, warm_up=1)
        exponent = growth(before[1], times["ours"], size / before[0]) if before else None
        results += _rows(benchmark, unit, made, times, cost, exponent)
        before = size, times["ours"]
    return results


def at_sizes(sizes: Sequence[int], over: Callable[[int], list[Result]]) -> list[Result]:
    """The rows of each size, each in a database of its own, named by their size and with their growth from the one before."""
    results: list[Result] = []
    before: dict[str, Result] = {}
    for place, size in enumerate(sizes):
        with scratch.another():
            rows = {row.case: row for row in over(size)}
        for case, row in rows.items():
            old = before.get(case)
            exponent = grown(old, row, size / sizes[place - 1]) if old else None
            beside = f"{size:,}: {row.beside}" if row.beside in rows else row.beside
            results.append(replace(row, case=f"{size:,}: {case}", beside=beside, growth=exponent))
        before = rows
    return results


def _rows(
    benchmark: str, unit: str, case: Case, times: dict[str, list[float]], cost: Cost, exponent: float | None
) -> list[Result]:
    rate = unit.endswith("/s")
    values = {
        name: [case.amount / taken * 1000 if rate else taken / case.amount for taken in row]
        for name, row in times.items()
    }
    limit = f"{case.name}: {case.limit[0]}"
    best = (max if rate else min)(case.rivals, key=lambda name: statistics.median(values[name]), default=None)
    results = [Result(benchmark, limit, unit, **spread(values["limit"]))]
    results += [
        Result(
            benchmark, f"{case.name}: {name}", unit, **spread(values[name]), beside=limit,
            ratio=median_ratio(values[name], values["limit"]),
        )
        for name in case.rivals
    ]  # fmt: skip
    ours = Result(
        benchmark, f"{case.name}: ours", unit, **spread(values["ours"]), beside=limit,
        ratio=median_ratio(values["ours"], values["limit"]), target=case.target,
        to_rival=median_ratio(values["ours"], values[best]) if best else None,
        growth=exponent, peak_mb=cost.peak_mb, queries=cost.queries,
    )  # fmt: skip
    return [*results, ours]
