"""The exact scan beside its rivals and beside reading the matrix once, in turns; and what a merge costs the next scan."""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import F

from coverage.models import Learner
from coverage.services import get_or_create_learner
from graphctx.embedders import EmbedderSpec
from graphctx.embedding import space_of
from graphctx.matrix import Matrix, Seen
from graphctx.models import EmbeddingSpace
from graphctx.reading import now, read_all
from graphctx.scan import cache, nearest
from graphctx.selection import MAX_LINES

from . import scan_real
from .measure import Cost, cost_of, growth, median_ratio, once, spread, take_turns
from .result import Result, Target
from .vectors import COPY_HEADER, COPY_TRAILER, add_to_graph, fill_graph, unit_rows

DIMENSION = 512
SIZES = {2_000: 200, 50_000: 40}  # rows: rounds
FULL_SIZES = {200_000: 15, 1_000_000: 11}
K = MAX_LINES + 1
LOADS = 3
MERGES = 10
MERGED = 20

Times = dict[str, list[float]]


def run_quick() -> list[Result]:
    return [*_at_sizes(SIZES), *_through_the_database(max(SIZES)), *scan_real.run_quick()]


def run_full() -> list[Result]:
    return [*_at_sizes(SIZES | FULL_SIZES), *_through_the_database(max(SIZES)), *scan_real.run_full()]


def _at_sizes(sizes: dict[int, int]) -> list[Result]:
    results: list[Result] = []
    before: tuple[int, list[float]] | None = None
    for rows, rounds in sizes.items():
        times, matrix, cost = _in_memory(rows, rounds)
        grown = growth(before[1], times["osii"], rows / before[0]) if before else None
        results += _rows(times, f"{rows:,} × {DIMENSION}", matrix, cost, grown)
        before = rows, times["osii"]
    return results


def matrix_of(rows: np.ndarray) -> Matrix:
    """These rows as a scan holds them."""
    ids = np.frombuffer(b"".join(number.to_bytes(16, "big") for number in range(len(rows))), dtype="V16")
    return Matrix.of(Seen(0, 0, 0, 0), ids, rows)


def _in_memory(rows: int, rounds: int) -> tuple[Times, Matrix, Cost]:
    made = unit_rows(rows, DIMENSION)
    matrix = matrix_of(made)
    queries = iter(unit_rows(6 * (rounds + 3), DIMENSION, seed=1))
    flat = made.reshape(-1)
    rivals = {"numpy": lambda: plain_scan(made, next(queries), K), **_faiss(made, queries)}
    with PgvectorTable(made, queries) as in_database:
        # Two readers touch every byte once; the faster one of each round is the floor.
        # Whoever scans these rows comes after one that has just read them: none begins with a colder cache.
        ours = {"osii": lambda: matrix.nearest(next(queries), K)}
        calls = {"dot": lambda: np.dot(flat, flat), "max": flat.max, **ours, **rivals, **in_database}
        _check(matrix, made)
        times = take_turns(calls, rounds=rounds)
    times["floor"] = [min(pair) for pair in zip(times.pop("dot"), times.pop("max"), strict=True)]
    return times, matrix, cost_of(ours["osii"])


def _rows(times: Times, size: str, matrix: Matrix, cost: Cost, grown: float | None) -> list[Result]:
    names = {
        "numpy": "numpy float32, argpartition", "faiss": "faiss flat index", "pgvector": "pgvector, sequential scan",
    }  # fmt: skip
    floor = f"reading {size} once"
    results = [Result("scan", floor, "ms", **spread(times["floor"]))]
    rivals = [name for name in names if name in times]
    for name in rivals:
        ratio = median_ratio(times[name], times["floor"])
        results.append(Result("scan", f"{names[name]}, {size}", "ms", **spread(times[name]), beside=floor, ratio=ratio))
    ours = spread(times["osii"])
    best = [min(values) for values in zip(*(times[name] for name in rivals), strict=True)]

    def beside(case: str, other: str, against: list[float], target: Target | None, **more: Any) -> Result:
        ratio = median_ratio(times["osii"], against)
        return Result("scan", case, "ms", **ours, beside=other, ratio=ratio, target=target, **more)

    costs = {"growth": grown, "peak_mb": cost.peak_mb, "queries": cost.queries}
    limit = Target(1.3, of_ratio=True)
    results.append(
        beside(
            f"top {K}, exact, {size}", floor, times["floor"], limit, to_rival=median_ratio(times["osii"], best), **costs
        )
    )
    results.append(beside(f"the same beside the best rival, {size}", "", best, Target(1.0, of_ratio=True)))
    third = Target(1 / 3, of_ratio=True) if len(matrix) >= max(FULL_SIZES) else None
    results.append(beside(f"the same beside numpy, {size}", "", times["numpy"], third))
    megabytes = matrix.nbytes / len(matrix) * 100_000 / 1e6
    return [*results, Result("scan", f"memory per 100,000 of {size}", "MB", **once(megabytes))]


def plain_scan(matrix: np.ndarray, query: np.ndarray, k: int) -> np.ndarray:
    """The k nearest by numpy alone: all similarities, the best ones sorted."""
    scores = matrix @ query
    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :] if k < len(scores) else np.arange(len(scores))
    return best[np.argsort(-scores[best])]


def _check(matrix: Matrix, rows: np.ndarray) -> None:
    for query in unit_rows(3, DIMENSION, seed=2):
        if matrix.nearest(query, K)[0].tolist() != plain_scan(rows, query, K).tolist():
            raise RuntimeError("the two scans disagree: the scan benchmark is void")


def _faiss(rows: np.ndarray, queries: Any) -> dict[str, Callable[[], object]]:
    """A flat index of faiss, where it is installed; it is no requirement of the project."""
    try:
        import faiss
    except ImportError:
        return {}
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return {"faiss": lambda: index.search(next(queries)[None], K)}


class PgvectorTable:
    """The same rows in a table without an index, for as long as the block lasts."""

    def __init__(self, rows: np.ndarray, queries: Any) -> None:
        self.rows, self.queries = rows, queries

    def __enter__(self) -> dict[str, Callable[[], object]]:
        count, dimension = self.rows.shape
        record = np.dtype(
            [("fields", ">i2"), ("id_length", ">i4"), ("id", ">i8"), ("length", ">i4"), ("dimension", ">i2"),
             ("unused", ">i2"), ("vector", ">f4", (dimension,))]
        )  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS bench_vectors")
            cursor.execute(f"CREATE UNLOGGED TABLE bench_vectors (id bigint, embedding vector({dimension}))")
            cursor.execute("ALTER TABLE bench_vectors SET (toast_tuple_target = 8160)")
            with cursor.copy("COPY bench_vectors FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(COPY_HEADER)
                for start in range(0, count, 5000):
                    part = self.rows[start : start + 5000]
                    records = np.zeros(len(part), dtype=record)
                    records["fields"], records["id_length"], records["length"] = 2, 8, 4 + 4 * dimension
                    records["id"], records["dimension"] = np.arange(start, start + len(part)), dimension
                    records["vector"] = part
                    copy.write(records.tobytes())
                copy.write(COPY_TRAILER)
            cursor.execute("VACUUM ANALYZE bench_vectors")
        return {"pgvector": self._scan}

    def __exit__(self, *_error: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE bench_vectors")

    def _scan(self) -> object:
        return self.search(next(self.queries))

    @staticmethod
    def search(vector: np.ndarray) -> list[tuple[int]]:
        """The nearest rows, by whatever way the database takes."""
        query = "[" + ",".join(map(repr, vector.tolist())) + "]"
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM bench_vectors ORDER BY embedding <#> %s::vector LIMIT %s", [query, K])
            return cursor.fetchall()


def _through_the_database(rows: int) -> list[Result]:
    space = _space()
    learner = get_or_create_learner("Benchmark scan")
    fill_graph(learner, space, rows)
    query = unit_rows(1, DIMENSION, seed=3)[0]
    load = take_turns({"load": lambda: read_all(space, learner.pk, now(learner.pk))}, rounds=LOADS, warm_up=1)["load"]
    warm = take_turns({"warm": lambda: nearest(space, learner.pk, query, K)}, rounds=max(SIZES.values()))["warm"]
    size, cost = f"{rows:,} × {DIMENSION}", cost_of(lambda: nearest(space, learner.pk, query, K))
    return [
        Result("scan", f"reading {size} as a whole", "ms", **spread(load)),
        Result(
            "scan",
            f"nearest() with its freshness check, {size}",
            "ms",
            **spread(warm),
            peak_mb=cost.peak_mb,
            queries=cost.queries,
        ),
        _after_merges(space, learner, query, size),
    ]


def _after_merges(space: EmbeddingSpace, learner: Learner, query: np.ndarray, size: str) -> Result:
    """The first scan after each merge, with what it has to read."""
    held = cache.get(space, learner.pk)

    def merge_and_scan() -> list:
        return nearest(space, learner.pk, query, K)

    times = []
    for number in range(MERGES):
        ids = sorted(uuid.uuid4() for _ in range(MERGED))
        with transaction.atomic():
            add_to_graph(learner, space, ids, unit_rows(MERGED, DIMENSION, seed=100 + number))
            Learner.objects.filter(pk=learner.pk).update(graph_revision=F("graph_revision") + 1)
        times += take_turns({"scan": merge_and_scan}, rounds=1, warm_up=0)["scan"]
    if len(cache.get(space, learner.pk)) != len(held) + MERGES * MERGED:
        raise RuntimeError("a scan missed what was merged: the scan benchmark is void")
    return Result("scan", f"the first scan after {MERGED} more were merged into {size}", "ms", **spread(times))


def _space() -> EmbeddingSpace:
    spec = EmbedderSpec("benchmark", "none", "random", "1", "none", DIMENSION, "{text}", "{text}", 1)
    return space_of(spec)
