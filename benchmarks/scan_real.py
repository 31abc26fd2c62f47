"""The scan on a model's own vectors, which lie otherwise than random ones; and how many of the nearest an index finds.

Sentences are put together from lists of words, each different, and embedded once by the configured embedder; the vectors
are kept in OSII_HOME. More rows are made of these by adding noise of a fixed length, as a paraphrase would differ.
"""

import itertools
import random
from pathlib import Path

import numpy as np
from django.conf import settings
from django.db import connection

from coverage.services import get_or_create_learner
from graphctx import approximate
from graphctx.embedding import get_embedder, space_of
from graphctx.matrix import Matrix
from graphctx.scan import nearest

from .measure import median_ratio, once, spread, take_turns
from .result import MORE, Result, Target
from .vectors import fill_graph

QUICK = (1_000, 50_000)
"""Sentences embedded, rows made of them."""
FULL = (20_000, 1_000_000)
INDEXED = 100_000
TOP = 100
QUERIES = 40
ROUNDS = 9
NOISE = 0.35
"""Length of the noise beside the vector's own length of 1: a cosine of 0.94 to the sentence that it is made of."""

WHO = ("the learner", "a teacher", "my neighbour", "an engineer", "the choir", "a nurse", "our team", "the gardener",
       "a historian", "the baker", "an astronomer", "the cook")  # fmt: skip
DOES = ("explains why", "doubts that", "found out that", "wrote down that", "is sure that", "wants to know whether",
        "showed yesterday that", "forgot that", "read that", "measured how")  # fmt: skip
WHAT = ("the tides follow the moon", "yeast needs warmth", "a sorted list is searched in halves", "roses need pruning",
        "the treaty was signed in spring", "copper carries heat", "a minor third sounds sad", "light bends in water",
        "interest compounds monthly", "antibodies remember", "glaciers carve valleys", "a lever trades force for way",
        "vowels shifted over centuries", "batteries lose charge in the cold", "bees dance to point the way",
        "a prime has two divisors", "steel rusts near the sea", "mountains make rain")  # fmt: skip
WHERE = ("in winter", "at night", "on the coast", "in the lab", "in the second lesson", "near the equator",
         "after the break", "in most cases", "for large numbers", "without sugar", "at low pressure", "in the choir",
         "since March", "on Mars", "under load")  # fmt: skip


def sentences(count: int) -> list[str]:
    """So many different sentences, always the same ones."""
    parts = [f"{who} {does} {what} {where}" for who, does, what, where in itertools.product(WHO, DOES, WHAT, WHERE)]
    random.Random(7).shuffle(parts)
    return [
        f"{parts[at % len(parts)]}, case {at // len(parts)}." if at >= len(parts) else f"{parts[at]}."
        for at in range(count)
    ]


def embedded(count: int) -> np.ndarray:
    """Vectors (count, d) of the sentences, from the file where they were embedded before."""
    embedder = get_embedder()
    kept = Path(settings.OSII_HOME) / "benchmarks" / f"sentences-{embedder.spec.stamp}-{count}.npy"
    if kept.exists():
        return np.load(kept)
    rows = np.concatenate([embedder.embed_documents(texts) for texts in _parts(sentences(count))])
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_suffix(".new.npy")
    np.save(fresh, rows)
    fresh.replace(kept)  # who ends this meanwhile leaves no half of them
    return rows


def _parts(texts: list[str]) -> list[list[str]]:
    return [texts[start : start + 512] for start in range(0, len(texts), 512)]


def many(real: np.ndarray, count: int) -> np.ndarray:
    """``count`` unit rows: the real ones, and as many made of them as are missing."""
    noise = np.random.default_rng(11)
    rows = np.empty((count, real.shape[1]), dtype=np.float32)
    for start in range(0, count, len(real)):
        part = rows[start : start + len(real)]
        part[:] = real[: len(part)]
        if start:
            moved = noise.standard_normal(part.shape, dtype=np.float32)
            part += moved * (NOISE / np.linalg.norm(moved, axis=1, keepdims=True))
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def run_quick() -> list[Result]:
    return _identical(*QUICK)


def run_full() -> list[Result]:
    return [*_identical(*FULL), *_recall(FULL[0], INDEXED)]


def topics() -> np.ndarray:
    """Vectors (QUERIES, d) of questions about what the sentences say."""
    embedder = get_embedder()
    asked = [f"What do we know about whether {what} {where}?" for what, where in zip(WHAT * 3, WHERE * 4, strict=False)]
    return np.stack([embedder.embed_query(topic) for topic in asked[:QUERIES]])


def _identical(sentence_count: int, count: int) -> list[Result]:
    from .scan_speed import matrix_of, plain_scan

    rows = many(embedded(sentence_count), count)
    matrix, queries = matrix_of(rows), topics()
    _check(matrix, rows, queries)
    turns = itertools.cycle(queries)
    times = take_turns(
        {"numpy": lambda: plain_scan(rows, next(turns), TOP), "osii": lambda: matrix.nearest(next(turns), TOP)},
        rounds=ROUNDS,
    )
    what = f"{count:,} × {rows.shape[1]} by {get_embedder().spec.name}, {sentence_count:,} of them real"
    third = Target(1 / 3, of_ratio=True) if count >= FULL[1] else None
    ratio = median_ratio(times["osii"], times["numpy"])
    note = f"the top {TOP} of {len(queries)} topics are those of a float64 scan of every row, in the same order"
    return [
        Result("scan", f"numpy float32, {what}", "ms", **spread(times["numpy"])),
        Result(
            "scan", f"top {TOP}, exact, {what}", "ms", **spread(times["osii"]), beside=f"numpy float32, {what}",
            ratio=ratio, target=third, notes=(note,),
        ),
    ]  # fmt: skip


def _check(matrix: Matrix, rows: np.ndarray, queries: np.ndarray) -> None:
    """Each answer against all rows in float64."""
    exact = np.concatenate(
        [
            part.astype(np.float64) @ queries.T.astype(np.float64)
            for part in np.array_split(rows, max(1, len(rows) // 50_000))
        ]
    )
    for at, query in enumerate(queries):
        found, scores = matrix.nearest(query, TOP)
        order = np.lexsort((np.arange(len(rows)), -exact[:, at]))[:TOP]
        # Sums in another order differ in the last place: scores must agree, and rows wherever scores tell them apart.
        apart = np.abs(np.diff(exact[order, at], prepend=np.inf, append=-np.inf)) > 1e-12
        settled = apart[:-1] & apart[1:]
        if not np.allclose(scores, exact[order, at], atol=1e-12) or (found[settled] != order[settled]).any():
            raise RuntimeError("the scan differs from a float64 scan: the scan benchmark is void")


def _recall(sentence_count: int, count: int) -> list[Result]:
    space = space_of(get_embedder().spec)
    learner = get_or_create_learner("Benchmark index")
    fill_graph(learner, space, count, many(embedded(sentence_count), count))
    queries = topics()
    exact = [{key for key, _score in nearest(space, learner.pk, query, TOP)} for query in queries]
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
    built = take_turns({"build": lambda: approximate.build_index(space)}, rounds=1, warm_up=0)["build"]
    turns = itertools.cycle(queries)
    times = take_turns({"index": lambda: approximate.nearest(space, learner.pk, next(turns), TOP)}, rounds=QUERIES)[
        "index"
    ]
    shares = [
        len(wanted & {key for key, _score in approximate.nearest(space, learner.pk, query, TOP)}) / TOP * 100
        for query, wanted in zip(queries, exact, strict=True)
    ]
    size = f"{count:,} × {space.dimension}"
    return [
        Result("scan", f"making the HNSW index of {size}", "s", **once(built[0] / 1000)),
        Result("scan", f"top {TOP} by the index, {size}", "ms", **spread(times)),
        Result("scan", f"of the exact top {TOP}, found by the index", "%", **spread(shares), target=Target(95, MORE)),
    ]
