"""Measure the speed of what users wait for, beside rivals, in a scratch database."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandParser

from osii.console import Command as OsiiCommand

RESULTS = Path("benchmarks") / "results.json"
Fresh = Callable[[], AbstractContextManager[str]]


class Command(OsiiCommand):
    help = (
        "Run the benchmarks, each in a scratch database of its own, which is dropped afterwards. Rivals take turns in the "
        "same run; values are medians with the 10th and 90th percentile. One that fails does not keep the others from "
        "being measured."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help="which; default: all (--list names them)")
        parser.add_argument("--only", action="append", default=[], metavar="NAME", help="the same as NAME")
        parser.add_argument(
            "--full",
            action="store_true",
            help="at full size, which takes an hour and a half: 2 million messages, 500 MB",
        )
        parser.add_argument(
            "--save", action="store_true", help=f"also put the figures into {RESULTS}, each as soon as it is measured"
        )
        parser.add_argument(
            "--list", action="store_true", dest="listed", help="measure nothing; name them with their rivals and limits"
        )
        parser.add_argument("--show", action="store_true", help=f"measure nothing; print what {RESULTS} holds")
        parser.add_argument("--markdown", action="store_true", help="with --show: as Markdown")

    def run(self, **options: Any) -> None:
        from benchmarks import registry
        from benchmarks.record import FULL, QUICK

        benchmarks = registry()
        names = options["names"] + options["only"] or list(benchmarks)
        unknown = [name for name in names if name not in benchmarks]
        if unknown:
            self.fail(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(benchmarks)}")
        part = FULL if options["full"] else QUICK
        if options["listed"]:
            self.result({"benchmarks": [benchmarks[name].to_dict() for name in names]}, _listed)
        elif options["show"]:
            self._show(names, markdown=options["markdown"])
        else:
            self._measure(part, [benchmarks[name] for name in names], save=options["save"])

    def _measure(self, part: str, benchmarks: list[Any], *, save: bool) -> None:
        from benchmarks import report
        from benchmarks.machine import describe
        from benchmarks.scratch import scratch_databases

        data: dict[str, Any] = {"part": part, "measured_at": _now(), "machine": describe(), "results": [], "failed": {}}
        expected = sum(benchmark.seconds(part) for benchmark in benchmarks)
        self.note(f"{len(benchmarks)} benchmarks, about {_long(expected)} on two cores with nothing else to do")
        stopped = False
        try:
            with scratch_databases() as fresh:
                for number, benchmark in enumerate(benchmarks, 1):
                    self.note(
                        f"[{number}/{len(benchmarks)}] {benchmark.name}, about {_long(benchmark.seconds(part))} …"
                    )
                    self._measure_one(part, benchmark, fresh, data, save=save)
        except KeyboardInterrupt:
            stopped = True
            self.note("Stopped." + (" What was measured by then:" if data["results"] else ""))
        except psycopg.errors.InsufficientPrivilege as error:
            self.fail(f"the benchmarks need a role that may create databases: {str(error).strip()}")
        except psycopg.Error as error:  # the server went away: what was measured is told all the same
            data["failed"]["the scratch databases"] = f"{type(error).__name__}: {error}".strip()
        if data["results"]:
            self.result(data, lambda data: report.table(data["results"], data["machine"]))
        if stopped:
            raise KeyboardInterrupt  # ends the command as Ctrl-C ends any
        if data["failed"]:
            failed = "; ".join(f"{name} ({error})" for name, error in data["failed"].items())
            self.fail(f"{len(data['failed'])} of {len(benchmarks)} benchmarks failed: {failed}")

    def _measure_one(self, part: str, benchmark: Any, fresh: Fresh, data: dict[str, Any], *, save: bool) -> None:
        """Its rows into ``data``, and its figures into the record; one that fails is told there and keeps nothing up."""
        from benchmarks.machine import describe
        from benchmarks.record import keep

        began = time.perf_counter()
        figures: dict[str, Any] = {"measured_at": _now()}
        try:
            figures["machine"] = describe()
            with fresh():
                results = [result.to_dict() for result in benchmark.run(part)]
        except Exception as error:  # noqa: BLE001 - the others are worth measuring, whatever it is
            data["failed"][benchmark.name] = f"{type(error).__name__}: {error}".strip()
            self.note(f"{benchmark.name} failed: {data['failed'][benchmark.name]}")
            return
        figures |= {"seconds": round(time.perf_counter() - began, 1), "results": results}
        data["results"] += results
        self.note(f"    took {_long(figures['seconds'])}")
        if save:
            keep(settings.BASE_DIR / RESULTS, part, benchmark.name, figures)

    def _show(self, names: list[str], *, markdown: bool) -> None:
        from benchmarks import record, registry, report

        known = record.read(settings.BASE_DIR / RESULTS)
        data = {part: {name: entries[name] for name in names if name in entries} for part, entries in known.items()}
        about = {name: (one.rival, one.limit) for name, one in registry().items()}

        def render(data: dict[str, Any]) -> Iterator[str]:
            for part, entries in data.items():
                if markdown:
                    yield from (f"### {part.capitalize()}", *report.markdown(entries, about), "")
                    continue
                for name, entry in entries.items():
                    yield f"{part} {name}, {entry['measured_at']}, {_long(entry['seconds'])}"
                    yield report.table(entry["results"], entry["machine"])

        self.result(data, render)


def _listed(data: dict[str, Any]) -> Iterator[str]:
    for one in data["benchmarks"]:
        times = f"{_long(one['quick_seconds'])}; --full {_long(one['full_seconds'])}"
        yield f"{one['name']} ({times}): {one['what']}. Rival: {one['rival']}. Limit: {one['limit']}."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _long(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
