"""From a topic to the steer that waits for the next turn, warm, with the configured embedder; and what the stages take."""

import time
from functools import partial

from coverage.models import Chat, Learner
from coverage.services import get_or_create_learner
from graphctx.embedding import active_space, get_embedder
from graphctx.models import Steer
from graphctx.selection import select
from graphctx.steers import prepare, steer_id

from .measure import at_sizes, cost_of, median_ratio, once, percentile, spread
from .result import Result, Target
from .vectors import fill_graph

SIZES = (5_000, 50_000)  # propositions
BUDGET = 1024
ROUNDS = 40
WARM_UP = 3
LEAST = "embedding the topic and one scan"
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
    loading = Result("context", "loading the model, once per process", "ms", **once(cold))
    return [*at_sizes(SIZES, _over), loading]


def _over(propositions: int) -> list[Result]:
    learner = get_or_create_learner("Benchmark context")
    fill_graph(learner, active_space(), propositions)
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    blocks: list[float] = []
    for number in range(WARM_UP + ROUNDS):
        topic = TOPICS[number % len(TOPICS)]
        waiting = _steer(learner, topic)
        begun = time.perf_counter()
        steer = prepare(waiting.pk)
        taken = (time.perf_counter() - begun) * 1000
        _check(steer)
        selection = select(learner, topic, BUDGET)
        if number >= WARM_UP:
            times.append(taken)
            blocks.append(sum(selection.timings.values()))
            for stage, milliseconds in selection.timings.items():
                stages.setdefault(stage, []).append(milliseconds)
    cost = cost_of(partial(prepare, _steer(learner, TOPICS[0]).pk))
    # Nobody can do with less than the topic's vector and one scan.
    least = [embed + scan for embed, scan in zip(stages["embed"], stages["scan"], strict=True)]
    what = "topic to queued steer, warm"
    return [
        Result("context", LEAST, "ms", **spread(least)),
        Result(
            "context", what, "ms", **spread(times), beside=LEAST, ratio=median_ratio(times, least),
            peak_mb=cost.peak_mb, queries=cost.queries,
        ),
        Result("context", "95th percentile of the same", "ms", **once(percentile(times, 95)), target=Target(250)),
        Result("context", "the block alone", "ms", **spread(blocks)),
        *(Result("context", f"of which {stage}", "ms", **spread(values)) for stage, values in stages.items()),
    ]  # fmt: skip


def _steer(learner: Learner, topic: str) -> Steer:
    """A steer that waits for its job, as the first message of a chat leaves it."""
    chat = Chat.objects.create(learner=learner)
    return Steer.objects.create(pk=steer_id(chat.pk), chat=chat, topic=topic, budget=BUDGET)


def _check(steer: Steer) -> None:
    if steer.status != Steer.Status.READY or not 0 < steer.tokens <= BUDGET:
        raise RuntimeError("there is no block within the budget: the context benchmark is void")
