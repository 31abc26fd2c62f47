"""The merge into a large graph: what one candidate costs, with the deterministic auditor, beside writing as many undecided.

Each batch holds new claims, claims that the graph has already and corrections of earlier ones, and makes the graph larger, as
batches do. The embedder's share is measured by itself.
"""

import time
from collections.abc import Callable
from functools import partial
from uuid import uuid4

from django.db import connection, transaction

from coverage.models import Chat, Learner
from coverage.services import get_or_create_learner
from extraction.auditing.audit import settle
from extraction.exploring.staging import claim_identity
from extraction.merging import merge
from extraction.merging.writing import GraphWriter
from extraction.models import Batch, Candidate, Resolution, Run
from extraction.sources import source_of
from graphctx.embedding import active_space, get_embedder

from .measure import at_sizes, cost_of, median_ratio, spread, take_turns
from .result import Result
from .vectors import add_to_graph, fill_graph, unit_rows

SIZES = (5_000, 50_000)  # propositions
CANDIDATES = 20  # of each batch
ROUNDS = 12
WARM_UP = 2
TRIP, WRITING = "one round trip", "writing a proposition with its evidence and vector, undecided"


def run() -> list[Result]:
    get_embedder().warm()
    return at_sizes(SIZES, _over)


def _over(propositions: int) -> list[Result]:
    learner = get_or_create_learner("Benchmark merge")
    fill_graph(learner, active_space(), propositions)
    chat = Chat.objects.create(learner=learner, title="A chat that is merged")
    times: dict[str, list[float]] = {"embedding": [], "nominating and deciding": [], "writing, under the locks": []}
    trips: list[float] = []
    rows: list[float] = []
    beside = {TRIP: _round_trip, WRITING: _writing()}
    for number in range(WARM_UP + ROUNDS):
        taken = _merge(learner, _batch(chat, number))
        others = take_turns(beside, rounds=1, warm_up=0)
        if number >= WARM_UP:
            for stage, milliseconds in taken.items():
                times[stage].append(milliseconds / CANDIDATES)
            trips += others[TRIP]
            rows += [milliseconds / CANDIDATES for milliseconds in others[WRITING]]
    _check()
    cost = cost_of(partial(_merge, learner, _batch(chat, WARM_UP + ROUNDS)))
    rest = [
        sum(pair) for pair in zip(*(values for stage, values in times.items() if stage != "embedding"), strict=True)
    ]
    results = [
        Result("merge", TRIP, "ms", **spread(trips)),
        Result("merge", WRITING, "ms", **spread(rows), beside=TRIP, ratio=median_ratio(rows, trips)),
        Result(
            "merge", f"one candidate without embedding, in batches of {CANDIDATES}", "ms", **spread(rest), beside=TRIP,
            ratio=median_ratio(rest, trips), to_rival=median_ratio(rest, rows), peak_mb=cost.peak_mb, queries=cost.queries,
        ),
    ]  # fmt: skip
    return results + [
        Result("merge", f"of one candidate: {stage}", "ms", **spread(values)) for stage, values in times.items()
    ]


def _batch(chat: Chat, number: int) -> Batch:
    run = Run.objects.create(chat=chat, mode="rest", worker="rules", status="succeeded")
    batch = Batch.objects.create(
        chat=chat, run=run, attempt_token=uuid4(), first_position=number + 1, last_position=number + 1, tokens=1000,
        worker="rules", status="aborted",
    )  # fmt: skip
    Candidate.objects.bulk_create(_candidate(batch, number, order) for order in range(CANDIDATES))
    return batch


def _candidate(batch: Batch, number: int, order: int) -> Candidate:
    claims = (
        f"The limit of queue {order} is {number + 10} jobs.",
        f"Metals of sample {order} expand with heat.",
        f"In round {number} sample {order} melted at {300 + number + order} degrees.",
    )
    claim = claims[order % len(claims)]
    item = {
        "id": "m1.0", "kind": "message", "message_id": f"m{number}", "fingerprint": "v1:0", "position": number + 1, "part": order,
        "char_start": 0, "char_end": len(claim), "quote": claim, "quote_match": "exact", "excerpt": claim, "speaker": "user",
        "said_at": None,
    }  # fmt: skip
    return Candidate(
        batch=batch, attempt=1, order=order + 1, kind="fact", claim=claim, why_useful="measured", evidence=[item],
        content_hash=claim_identity(claim),
    )  # fmt: skip


def _merge(learner: Learner, batch: Batch) -> dict[str, float]:
    """Milliseconds of each stage of one batch's merge."""
    candidates = list(batch.candidates.order_by("order"))
    claims = [merge.claim_of(candidate) for candidate in candidates]
    begun = time.perf_counter()
    merge.prepare_vectors(learner.pk, claims)
    embedded = time.perf_counter()
    prepared, made = merge.prepare(learner.pk, claims, "nearness")
    decided = time.perf_counter()
    with transaction.atomic():
        locked = Learner.objects.select_for_update(no_key=True).get(pk=learner.pk)
        writer = GraphWriter(locked, source_of(batch), made.auditor, prepared, batch.pk)
        for candidate, claim, decision in zip(candidates, claims, settle(made, locked), strict=True):
            writer.apply(candidate, claim, decision)
        writer.write()
    written = time.perf_counter()
    embedding = (embedded - begun) * 1000
    return {
        "embedding": embedding,
        # The claims are embedded once more in it.
        "nominating and deciding": max(0.01, (decided - embedded) * 1000 - embedding),
        "writing, under the locks": (written - decided) * 1000,
    }


def _round_trip() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _writing() -> Callable[[], None]:
    """As many propositions as a batch has candidates, with their evidence and vectors, in one transaction as the merge's own,
    without asking what is there. Into the same tables as another learner's, whom no scan has read.
    """
    learner, space = get_or_create_learner("Benchmark merge, undecided"), active_space()
    vectors = unit_rows(CANDIDATES, space.dimension, seed=9)

    def write() -> None:
        with transaction.atomic():
            add_to_graph(learner, space, [uuid4() for _ in range(CANDIDATES)], vectors)

    return write


def _check() -> None:
    outcomes = set(Resolution.objects.values_list("outcome", flat=True))
    if not {"new", "same"} <= outcomes:
        raise RuntimeError(f"the claims were decided as {outcomes}: the merge benchmark is void")
