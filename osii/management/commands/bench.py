"""Measure the speed of what users wait for, beside rivals, in a scratch database."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandParser

from osii.console import Command as OsiiCommand

RESULTS = Path("benchmarks") / "results.json"


class Command(OsiiCommand):
    help = (
        "Run the benchmarks, each in a scratch database of its own, which is dropped afterwards. Rivals take turns in the "
        "same run; values are medians with the 10th and 90th percentile."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names",
            nargs="*",
            metavar="NAME",
            help="which: import, import-size, rereading, diff, scan, context, merge, intake, promote, plan, extractors, documents, search, and with --full chats; default: all",
        )
        parser.add_argument("--only", action="append", default=[], metavar="NAME", help="the same as NAME")
        parser.add_argument(
            "--full", action="store_true", help="also what takes many minutes: 2 million messages, 500 MB"
        )
        parser.add_argument("--save", action="store_true", help=f"also write {RESULTS}")

    def run(self, **options: Any) -> None:
        from benchmarks import registry
        from benchmarks.machine import describe
        from benchmarks.scratch import scratch_databases
        from graphctx.embedding import EmbeddingError

        benchmarks = registry(full=options["full"])
        names = options["names"] + options["only"] or list(benchmarks)
        unknown = [name for name in names if name not in benchmarks]
        if unknown:
            self.fail(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(benchmarks)}")
        data: dict[str, Any] = {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(),
            "results": [],
        }
        try:
            with scratch_databases() as fresh:
                for name in names:
                    self.note(f"Measuring {name} …")
                    with fresh():
                        data["results"] += [result.to_dict() for result in benchmarks[name]()]
        except psycopg.errors.InsufficientPrivilege as error:
            self.fail(f"the benchmarks need a role that may create databases: {str(error).strip()}")
        except EmbeddingError as error:
            self.fail(str(error))
        if options["save"]:
            path = settings.BASE_DIR / RESULTS
            path.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
            self.note(f"Written to {RESULTS}")
        self.result(data, _render)


def _render(data: dict[str, Any]) -> str:
    from rich.console import Console
    from rich.table import Table

    machine = data["machine"]
    table = Table(title=None, caption=_caption(machine), caption_justify="left")
    for heading in ("benchmark", "case"):
        table.add_column(heading, overflow="fold")
    for heading in ("median", "10 %", "90 %", "×"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("target", overflow="fold")
    previous = None
    for row in data["results"]:
        if previous not in (None, row["benchmark"]):
            table.add_section()
        table.add_row(row["benchmark"] if row["benchmark"] != previous else "", *_cells(row))
        previous = row["benchmark"]
    out = io.StringIO()
    Console(file=out, width=118).print(table)
    notes = [f"{row['case']}\n    {note}" for row in data["results"] for note in row["notes"]]
    return "\n".join([out.getvalue().rstrip(), *notes])


def _caption(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['processor']}, load {machine['load_before']}; "
        f"Python {machine['python']}, numpy {machine['numpy']}, PostgreSQL {machine['postgresql']}. "
        "×: median of the ratios to the first row of its group."
    )


def _cells(row: dict[str, Any]) -> list[str]:
    values = [_number(row[name], row["unit"]) for name in ("median", "low", "high")]
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    target = "" if row["met"] is None else f"{row['target']}: {'met' if row['met'] else 'NOT met'}"
    return [row["case"], f"{values[0]} {row['unit']}", values[1], values[2], ratio, target]


def _number(value: float, unit: str) -> str:
    if unit == "ms" and value < 10:
        return f"{value:.3f}"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
