"""Timing that survives a busy machine: rivals take turns, medians are compared, the spread is kept."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

Call = Callable[[], object]


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


def median_ratio(values: Sequence[float], beside: Sequence[float]) -> float:
    """The median of the ratios within each round."""
    return statistics.median(value / other for value, other in zip(values, beside, strict=True))
