"""A first pass over a quarter of the bytes: rows as int8, whose error is known, and then everything within it exactly.

Each row x is stored as whole numbers c and a scale, x = c·scale + r. The length of r is measured when the row is coded,
and by Cauchy-Schwarz no score can be wrong by more than |r|·|q| for the row and |c·scale|·|r'| for the query's own rest r'.
"""

import os
from dataclasses import dataclass

import numpy as np
import simsimd

from .topk import Top, candidates, top_k, top_k_among

STEPS = 127
BLOCK = 4096
"""Rows coded at a time: the float64 copies that measure the error stay small."""

THREADS_FROM = 100_000
"""Below, one thread has finished before a second one has begun."""

MAX_THREADS = 4
"""The pass is bound by memory; more cores than these do not read faster."""

WORTH_IT = 8
"""When more than one row in so many is within the error, reading all of them once is faster than picking them out."""

SLACK = 1 + 1e-3
UNIT = 2.0**-23
SMALLEST = np.float32(1e-30)


@dataclass(frozen=True, slots=True)
class Codes:
    """``codes`` (n, d) int8 and ``scales`` (n,) float32; no row differs from its code by more than ``rest`` in length, and
    no coded row is longer than ``length``.
    """

    codes: np.ndarray
    scales: np.ndarray
    rest: float
    length: float


def quantise(rows: np.ndarray) -> Codes:
    """Code float32 rows (n, d), not zero."""
    codes = np.empty(rows.shape, dtype=np.int8)
    scales = np.empty(len(rows), dtype=np.float32)
    rest = length = 0.0
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        steps = np.maximum(np.abs(rows[part]).max(axis=1), SMALLEST) / np.float32(STEPS)
        scales[part] = steps
        coded = np.rint(rows[part] / steps[:, None])
        codes[part] = coded
        coded *= steps[:, None]
        length = max(length, float(np.linalg.norm(coded, axis=1).max()))
        np.subtract(rows[part], coded, out=coded)
        rest = max(rest, float(np.linalg.norm(coded, axis=1).max()))
    # Both lengths are float32 sums of float32 products: the slack is many times what that can be wrong by.
    return Codes(codes, scales, rest * SLACK + UNIT, length * SLACK)


def nearest(
    codes: Codes,
    matrix: np.ndarray,
    query: np.ndarray,
    k: int,
    *,
    ids: np.ndarray | None = None,
    dead: np.ndarray | None = None,
) -> Top:
    """What ``topk.top_k`` answers, from the codes of the same rows."""
    scores, error = approximate(codes, query)
    found = candidates(scores, k, error, dead)
    if len(found) * WORTH_IT > len(matrix):
        return top_k(matrix, query, k, ids=ids, dead=dead)
    return top_k_among(matrix, query, found, k, ids)


def approximate(codes: Codes, query: np.ndarray) -> tuple[np.ndarray, float]:
    """Scores (n,) float32 in a unit of their own, the same for all rows, and the largest error that they can have in it."""
    asked = quantise(query[None])
    threads = min(MAX_THREADS, _cores()) if len(codes.codes) >= THREADS_FROM else 1
    # Sums of whole numbers, exact until they become float32.
    dots = simsimd.cdist(asked.codes, codes.codes, metric="dot", out_dtype="float32", threads=threads)
    scores = np.asarray(dots).reshape(-1)
    np.multiply(scores, codes.scales, out=scores)
    unit = float(asked.scales[0])
    size = float(np.linalg.norm(query.astype(np.float64))) * SLACK
    error = codes.rest * size + codes.length * asked.rest
    # Two float32 roundings of a number no longer than both vectors, and room for the comparison's own.
    rounding = 4 * UNIT * codes.length * asked.length
    return scores, (error + rounding) / unit


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
