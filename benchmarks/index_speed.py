"""Our exact scan, pgvector's sequential scan and its HNSW index over the same vectors of a model, side by side."""

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from django.db import connection, transaction

from graphctx.matrix import Matrix

from .measure import growth, median_ratio, once, spread, take_turns
from .result import Result
from .scan_real import embedded, many, topics
from .scan_speed import K, PgvectorTable, matrix_of

QUICK, FULL = (2_000, 20_000), (100_000, 1_000_000)  # rows
SENTENCES = {QUICK: 1_000, FULL: 20_000}
"""So many of them are real; the others are made of these."""
ROUNDS = 9
SEARCHED = (100, 400)
"""Candidates that the index keeps while it searches (hnsw.ef_search)."""
MEMORY = {QUICK: "512MB", FULL: "4GB"}
"""For making the index: less than the graph takes, and it is made many times as slowly."""
BYTES_PER_ROW = 10_000
"""Of disk, for the table, its index and the log."""


def run_quick() -> list[Result]:
    return _sizes(QUICK)


def run_full() -> list[Result]:
    return _sizes(FULL)


def _sizes(sizes: tuple[int, int]) -> list[Result]:
    needed, free = BYTES_PER_ROW * max(sizes), shutil.disk_usage(tempfile.gettempdir()).free
    if free < needed:
        raise RuntimeError(f"{free / 1e9:.0f} GB are free, {needed / 1e9:.0f} GB are needed for {max(sizes):,} rows")
    real, results, before = embedded(SENTENCES[sizes]), [], {}
    for size in sizes:
        rows, before = _measure(many(real, size), MEMORY[sizes], before, sizes[1] / sizes[0])
        results += rows
    return results


def _measure(rows: np.ndarray, memory: str, before: dict, factor: float) -> tuple[list[Result], dict]:
    matrix, turns = matrix_of(rows), itertools.cycle(topics())
    floor, ours, one = "reading the rows once", f"ours, exact: the {K} nearest", "pgvector, sequential"
    with PgvectorTable(rows, turns) as in_database:
        with _planned(index=False):
            calls = {floor: rows.max, ours: lambda: matrix.nearest(next(turns), K), one: in_database["pgvector"]}
            times = take_turns(calls, rounds=ROUNDS)
        built = take_turns({"build": lambda: _build(memory)}, rounds=1, warm_up=0)["build"][0]
        shares, floors = {}, dict.fromkeys(times, times[floor])
        for kept in SEARCHED:
            name = f"pgvector, HNSW, {kept} candidates"
            with _planned(index=True, kept=kept):
                # The limit once more: only times of the same rounds are compared.
                taken = take_turns({floor: rows.max, name: in_database["pgvector"]}, rounds=ROUNDS)
                times[name], floors[name] = taken[name], taken[floor]
                shares[name] = _found(matrix)
    size = f"{len(rows):,} × {rows.shape[1]}"
    results = [
        Result(
            "index", f"{size}: {name}", "ms", **spread(values), beside="" if name == floor else f"{size}: {floor}",
            ratio=None if name == floor else median_ratio(values, floors[name]),
            to_rival=median_ratio(values, times[one]) if name == ours else None,
            growth=growth(before[name], values, factor) if before else None,
        )
        for name, values in times.items()
    ]  # fmt: skip
    results.append(Result("index", f"{size}: making the HNSW index, with {memory}", "s", **once(built / 1000)))
    results += [Result("index", f"{size}: {name}: found", "%", **spread(found)) for name, found in shares.items()]
    return results, times


@contextmanager
def _planned(*, index: bool, kept: int = 100) -> Iterator[None]:
    """Within the block the table is searched by its index, or row by row."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL enable_indexscan = {'on' if index else 'off'}")
        cursor.execute(f"SET LOCAL enable_seqscan = {'off' if index else 'on'}")
        cursor.execute(f"SET LOCAL hnsw.ef_search = {kept}")
        yield


def _build(memory: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET maintenance_work_mem = '{memory}'")
        cursor.execute("CREATE INDEX bench_vectors_hnsw ON bench_vectors USING hnsw (embedding vector_ip_ops)")


def _found(matrix: Matrix) -> list[float]:
    """Of the exact answer to each topic, the percentage that the index finds."""
    shares = []
    for topic in topics():
        exact = set(matrix.nearest(topic, K)[0].tolist())
        shares.append(100 * len(exact & {number for (number,) in PgvectorTable.search(topic)}) / len(exact))
    return shares
