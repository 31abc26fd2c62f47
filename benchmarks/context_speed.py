"""From a topic to its block, warm: embedding the topic, the scan, the lines, with the configured embedder."""

import time

from coverage.services import get_or_create_learner
from graphctx.embedding import active_space, get_embedder
from graphctx.selection import Selection, select

from .measure import percentile, spread
from .result import Result, Target
from .vectors import fill_graph

PROPOSITIONS = 50_000
BUDGET = 1024
ROUNDS = 60
WARM_UP = 3
TOPICS = (
    "How do the tides come about?",
    "I want to understand why plants are green and what light they cannot use.",
    "Wie lese ich den Quintenzirkel?",
    "A short introduction to heat pumps for an old house with radiators, please.",
)


def run() -> list[Result]:
    begun = time.perf_counter()
    get_embedder().warm()
    cold = (time.perf_counter() - begun) * 1000
    learner = get_or_create_learner("Benchmark context")
    fill_graph(learner, active_space(), PROPOSITIONS)
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    for number in range(WARM_UP + ROUNDS):
        begun = time.perf_counter()
        selection = select(learner, TOPICS[number % len(TOPICS)], BUDGET)
        taken = (time.perf_counter() - begun) * 1000
        _check(selection)
        if number >= WARM_UP:
            times.append(taken)
            for stage, milliseconds in selection.timings.items():
                stages.setdefault(stage, []).append(milliseconds)
    name = f"{get_embedder().spec.name}, {PROPOSITIONS:,} propositions"
    results = [
        Result("context", f"topic to block, warm, {name}", "ms", **spread(times), target=Target(300)),
        Result("context", "95th percentile of the same", "ms", **_single(percentile(times, 95), len(times))),
    ]
    results += [Result("context", f"of which {stage}", "ms", **spread(values)) for stage, values in stages.items()]
    return [*results, Result("context", "loading the model, once per process", "ms", **_single(cold, 1))]


def _check(selection: Selection) -> None:
    if not 0 < selection.tokens <= BUDGET:
        raise RuntimeError("the block is not within its budget: the context benchmark is void")


def _single(value: float, runs: int) -> dict[str, float | int]:
    return {"median": value, "low": value, "high": value, "runs": runs}
