"""Intake of small text files: time and bytes written per file, which must not grow with the library.

Files are added and extracted one after the other as add_files does; the first part of them and the last are compared.
Written is what this process and its children write to files, and the database to its log.
"""

import tempfile
import time
from pathlib import Path

import psutil
from django.db import connection
from django.test.utils import override_settings

from extraction.documents import invariants, services
from extraction.models import Document

from .measure import median_ratio, spread
from .result import Result, Target

PART = 50
"""Files measured together: a value is a mean over so many."""


def run_quick() -> list[Result]:
    return run(100, 300)


def run_full() -> list[Result]:
    """Some ten minutes: each file has a process of its own that extracts it."""
    return run(200, 2000)


def run(few: int, many: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as directory, override_settings(OSII_HOME=Path(directory) / "home"):
        seconds, written = _add(Path(directory), many)
        found = Document.objects.filter(primary__isnull=False).count()
        if found != many or list(invariants.check()):
            raise RuntimeError(f"{found} documents are whole, not {many}: the intake benchmark is void")
    parts = few // PART
    results = []
    for unit, values in (("ms/file", [1000 * value for value in seconds]), ("KiB/file", written)):
        first, last = values[:parts], values[-parts:]
        what = "time" if unit == "ms/file" else "written"
        case = f"{what}, the first {few:,} files"
        results += [
            Result("intake", case, unit, **spread(first)),
            Result(
                "intake", f"{what}, the last {few:,} of {many:,}", unit, **spread(last), beside=case,
                ratio=median_ratio(last, first), target=Target(1.25, of_ratio=True),
            ),
        ]  # fmt: skip
    return results


def _add(directory: Path, many: int) -> tuple[list[float], list[float]]:
    """Seconds and KiB per file, one value for each part."""
    seconds, written = [], []
    for start in range(0, many, PART):
        paths = []
        for number in range(start, start + PART):
            paths.append(directory / f"note {number:05}.txt")
            paths[-1].write_text(f"Note {number}.\n\n" + f"Line of the note with the number {number}.\n" * 40)
        bytes_before, begun = _written(), time.perf_counter()
        for path in paths:
            services.extract(services.add_file(path).file_id)
        seconds.append((time.perf_counter() - begun) / PART)
        written.append((_written() - bytes_before) / 1024 / PART)
    return seconds, written


def _written() -> int:
    """Bytes written so far: files by this process and its ended children, and the database's log."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        log = int(cursor.fetchone()[0])
    return log + psutil.Process().io_counters().write_chars
