"""Tables of what was measured, for a terminal and for a page in Markdown."""

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

HEADINGS = ("median", "10 %", "90 %", "× limit", "× rival", "growth", "MB", "queries")
WIDTH = 150
KEY = (
    "× limit: median of the ratios to the first row of its group; × rival: to the best other way, in the same rounds. "
    "growth: the exponent with the size (1: ten times as much takes ten times as long). MB: added to the process's memory at "
    "its highest, by one call."
)


def table(rows: Iterable[Mapping[str, Any]], machine: Mapping[str, Any]) -> str:
    """The rows with lines between benchmarks, and below them the machine and the notes."""
    rows = list(rows)
    drawn = Table(title=None, caption=f"{where(machine)}. {KEY}", caption_justify="left")
    drawn.add_column("benchmark", overflow="fold")
    drawn.add_column("case", overflow="fold", min_width=36)  # also beside the widest numbers
    for heading in HEADINGS:
        drawn.add_column(heading, justify="right", no_wrap=True)
    drawn.add_column("target", overflow="fold")
    previous = None
    for row in rows:
        if previous not in (None, row["benchmark"]):
            drawn.add_section()
        drawn.add_row(row["benchmark"] if row["benchmark"] != previous else "", *_cells(row))
        previous = row["benchmark"]
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(drawn)
    notes = [f"{row['case']}\n    {note}" for row in rows for note in row["notes"]]
    return "\n".join([out.getvalue().rstrip(), *notes])


def markdown(entries: Mapping[str, Mapping[str, Any]], about: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Lines of a page: each benchmark with its rival and limit (``about``), when and where it was measured, and its rows."""
    for name, entry in entries.items():
        rival, limit = about.get(name, ("", ""))
        yield from (
            "",
            f"**{name}** · {entry['measured_at'][:10]}, {where(entry['machine'])}, {entry['seconds']:.0f} s",
        )
        if rival:
            yield from ("", f"Rival: {rival}. Limit: {limit}.")
        yield from ("", f"| case | {' | '.join(HEADINGS)} | target |", f"|---|{'---:|' * len(HEADINGS)}---|")
        for row in entry["results"]:
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in _cells(row))} |"


def where(machine: Mapping[str, Any]) -> str:
    return (
        f"{machine['cores']} cores, {machine['memory_gb']} GB, {machine['processor']}, load {machine['load_before']}; "
        f"Python {machine['python']}, numpy {machine['numpy']}, PostgreSQL {machine['postgresql']}"
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    values = [_number(row[name], row["unit"]) for name in ("median", "low", "high")]
    ratios = [_optional(row.get(name), ".2f") for name in ("ratio", "to_rival", "growth")]
    costs = [_optional(row.get("peak_mb"), ".1f"), _optional(row.get("queries"), "d")]
    target = "" if row["met"] is None else f"{row['target']}: {'met' if row['met'] else 'NOT met'}"
    return [row["case"], f"{values[0]} {row['unit']}", values[1], values[2], *ratios, *costs, target]


def _optional(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _number(value: float, unit: str) -> str:
    if unit == "ms" and value < 10:
        return f"{value:.3f}"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
