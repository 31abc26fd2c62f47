"""Intake of small text files: time and bytes written per file, which must not grow with the library.

Files are added one after the other as add_files does, beside writing their bytes once; while the library is small, and
again when it is large, some of them are extracted too, each by a process of its own. Written is what this process and its
children write to files, and the database to its log.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from django.db import connection
from django.test.utils import override_settings

from extraction.documents import services
from extraction.models import Document

from .measure import cost_of, growth, median_ratio, spread
from .processor import worked
from .result import Result, Target

FEW, QUICK, FULL = 100, 300, 2000
PART = 50
"""Files measured together: a value is a mean over so many."""
WORKED = "ms of processor time"
LIMIT = "writing the bytes of a file once"
EXTRACTED = 10
"""So many files of each part are extracted."""


def run_quick() -> list[Result]:
    return _run(QUICK)


def run_full() -> list[Result]:
    return _run(FULL)


def _run(many: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as directory, override_settings(OSII_HOME=Path(directory) / "home"):
        parts = [_part(Path(directory), start, many) for start in range(0, many, PART)]
        found = Document.objects.filter(sources__path__startswith=directory).count()
        if found != many or sum(1 for _ in services.reconcile_all(dry_run=True)):
            raise RuntimeError(f"{found} documents are whole, not {many}: the intake benchmark is void")
        queries = _queries(Path(directory) / "one more.txt")
    compared = FEW // PART
    bytes_once = [part["written", "ms"] for part in parts[:compared]]
    results = [Result("intake", LIMIT, "ms/file", **spread(bytes_once))]
    for what, unit in (("added", "ms"), ("added", WORKED), ("added", "KiB"), ("extracted", "ms"), ("extracted", "KiB")):
        first, last = ([part[what, unit] for part in rows] for rows in (parts[:compared], parts[-compared:]))
        case = f"{what}, of the first {FEW:,} files"
        against: dict[str, Any] = {"beside": LIMIT, "ratio": median_ratio(first, bytes_once)} if unit == "ms" else {}
        results += [
            Result("intake", case, f"{unit}/file", **spread(first), **against),
            Result(
                "intake", f"{what}, of the last {FEW:,} of {many:,}", f"{unit}/file", **spread(last), beside=case,
                ratio=median_ratio(last, first), target=Target(1.25, of_ratio=True), queries=queries.get(what),
                growth=growth(first, last, many / FEW),
            ),
        ]  # fmt: skip
    return results


def _part(directory: Path, start: int, many: int) -> dict[tuple[str, str], float]:
    """Add a part of the files, and extract some where it is compared: {("added", "ms"): per file, …}."""
    paths = []
    for number in range(start, start + PART):
        paths.append(directory / f"note {number:05}.txt")
        paths[-1].write_text(f"Note {number}.\n\n" + f"Line of the note with the number {number}.\n" * 40)
    ids: list[str] = []
    once = _measured("written", PART, lambda: [_write(directory / "written once", path.read_bytes()) for path in paths])
    measured = once | _measured("added", PART, lambda: ids.extend(services.add_file(path).file_id for path in paths))
    if start < FEW or start >= many - FEW:
        measured |= _measured("extracted", EXTRACTED, lambda: [services.extract(one) for one in ids[:EXTRACTED]])
    return measured


def _queries(path: Path) -> dict[str, int]:
    """How many of each kind of work on one file more."""
    path.write_text("A note that is not there yet.\n")
    added: list[str] = []
    return {
        "added": cost_of(lambda: added.append(services.add_file(path).file_id)).queries,
        "extracted": cost_of(lambda: services.extract(added[0])).queries,
    }


def _write(path: Path, data: bytes) -> None:
    """So that they are on the disk, as the store's own are."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _measured(what: str, files: int, work: Callable[[], object]) -> dict[tuple[str, str], float]:
    before, had, begun = _written(), worked(), time.perf_counter()
    work()
    taken, used = (time.perf_counter() - begun) * 1000, worked() - had
    return {
        (what, "ms"): taken / files,
        (what, WORKED): used / files,
        (what, "KiB"): (_written() - before) / 1024 / files,
    }


def _written() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        log = int(cursor.fetchone()[0])
    return log + psutil.Process().io_counters().write_chars
