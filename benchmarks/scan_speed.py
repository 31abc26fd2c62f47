"""The exact scan beside a plain numpy scan and beside reading the matrix once, in turns."""

import numpy as np

from coverage.services import get_or_create_learner
from graphctx.embedders import EmbedderSpec
from graphctx.embedding import space_of
from graphctx.models import EmbeddingSpace
from graphctx.reading import now, read_all
from graphctx.scan import cache, nearest
from graphctx.selection import MAX_LINES
from graphctx.topk import top_k

from .measure import median_ratio, spread, take_turns
from .result import Result, Target
from .vectors import fill_graph, unit_rows

DIMENSION = 512
SIZES = {2_000: 200, 50_000: 40}  # rows: rounds
K = MAX_LINES + 1
LOADS = 3


def run() -> list[Result]:
    space = _space()
    results: list[Result] = []
    for rows, rounds in SIZES.items():
        results += _in_memory(rows, rounds)
    return results + _through_the_database(space, max(SIZES))


def _in_memory(rows: int, rounds: int) -> list[Result]:
    matrix = unit_rows(rows, DIMENSION)
    queries = iter(unit_rows(3 * (rounds + 2), DIMENSION, seed=1))
    flat = matrix.reshape(-1)
    calls = {
        # Two readers that touch every byte once; the faster one of each round is the floor.
        "dot": lambda: np.dot(flat, flat),
        "max": flat.max,
        "numpy": lambda: plain_scan(matrix, next(queries), K),
        "osii": lambda: top_k(matrix, next(queries), K),
    }
    query = unit_rows(1, DIMENSION, seed=2)[0]
    if top_k(matrix, query, K)[0].tolist() != plain_scan(matrix, query, K).tolist():
        raise RuntimeError("the two scans disagree: the scan benchmark is void")
    times = take_turns(calls, rounds=rounds)
    times["floor"] = [min(pair) for pair in zip(times.pop("dot"), times.pop("max"), strict=True)]
    size = f"{rows:,} × {DIMENSION}"
    floor, numpy_scan = f"reading {size} once", f"numpy, full argsort, {size}"
    return [
        Result("scan", floor, "ms", **spread(times["floor"])),
        Result(
            "scan",
            numpy_scan,
            "ms",
            **spread(times["numpy"]),
            beside=floor,
            ratio=median_ratio(times["numpy"], times["floor"]),
        ),
        Result(
            "scan",
            f"top {K}, exact, {size}",
            "ms",
            **spread(times["osii"]),
            beside=floor,
            ratio=median_ratio(times["osii"], times["floor"]),
            target=Target(1.3, of_ratio=True),
        ),
    ]


def plain_scan(matrix: np.ndarray, query: np.ndarray, k: int) -> np.ndarray:
    """What one would write first: all similarities, all sorted."""
    return np.argsort(-(matrix @ query))[:k]


def _through_the_database(space: EmbeddingSpace, rows: int) -> list[Result]:
    learner = get_or_create_learner("Benchmark scan")
    fill_graph(learner, space, rows)
    query = unit_rows(1, DIMENSION, seed=3)[0]
    load = take_turns({"load": lambda: read_all(space, learner.pk, now(learner.pk))}, rounds=LOADS, warm_up=1)["load"]
    warm = take_turns({"warm": lambda: nearest(space, learner.pk, query, K)}, rounds=SIZES[rows])["warm"]
    size = f"{rows:,} × {DIMENSION}"
    megabytes = cache.nbytes / 1e6
    return [
        Result("scan", f"loading {size} after a merge ({megabytes:,.0f} MB)", "ms", **spread(load)),
        Result("scan", f"nearest() with its freshness check, {size}", "ms", **spread(warm)),
    ]


def _space() -> EmbeddingSpace:
    spec = EmbedderSpec("benchmark", "none", "random", "1", "none", DIMENSION, "{text}", "{text}", 1)
    return space_of(spec)
