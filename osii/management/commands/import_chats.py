"""Import chats that people already have, from files, folders, archives and standard input."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC
from typing import Any

from django.core.management.base import CommandParser

from coverage.importers.checkpoints import CheckpointReport
from coverage.importers.formats import FORMATS, NAMES
from coverage.importers.load import ChatReport, Report, import_paths, total_bytes
from coverage.importers.records import MAX_LEARNER, Problem, Skipped, shorten
from coverage.importers.sources import Given, spooled
from coverage.importers.values import printable
from coverage.view import MalformedParts, check_storable
from coverage.words import counted
from osii.console import Command as OsiiCommand
from osii.imports.jobs import is_read_now

# Longer lists are cut in the printed report, with a count of the rest; --json has everything.
_SHOWN_CHATS = 40
_SHOWN_PROBLEMS = 50
_MEGABYTE = 1_000_000


class Command(OsiiCommand):
    help = (
        "Import chats from files, folders, zip archives and standard input, plain or packed with gzip. The format is "
        f"found from the content: {'; '.join(module.LABEL for module in FORMATS.values())}. What is broken is reported "
        "by file and position, and the rest is imported; importing the same again adds nothing and updates what "
        "changed. Reading the chats is extract_chats' work."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths", nargs="+", metavar="PATH", help="a file, a folder, a zip archive, or - for standard input"
        )
        parser.add_argument("--format", choices=NAMES, default="auto", help="default: found from the content")
        parser.add_argument(
            "--learner", metavar="NAME", default="", help='whose chats these are; default: as the file says, else "me"'
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would happen and change nothing")

    def run(self, **options: Any) -> None:
        learner = self._learner(options["learner"])
        data: dict[str, Any] = {"dry_run": options["dry_run"]}
        data |= {"conversations": [], "checkpoints": [], "problems": [], "skipped_files": [], "links_left_out": []}
        with ExitStack() as stack:
            paths = self._with_standard_input(options["paths"], stack)
            advance = stack.enter_context(self.progress("Importing (MB)", total=_megabytes(total_bytes(paths))))
            reports = import_paths(
                paths,
                format=options["format"],
                learner=learner,
                dry_run=options["dry_run"],
                on_progress=_Megabytes(advance),
                is_busy=is_read_now,
            )
            for report in reports:
                _sort(report, data)
        data["totals"] = _totals(data)
        self.result(data, _render)
        if data["problems"]:
            done = "would be imported" if options["dry_run"] else "was imported"
            self.fail(f"{counted(len(data['problems']), 'problem')}; everything else {done}")

    def _with_standard_input(self, paths: list[str], stack: ExitStack) -> list[Given]:
        """The paths, with what comes in on standard input in the place of "-"."""
        if paths.count("-") > 1:
            self.fail('standard input can be read only once: give "-" one time')
        return [stack.enter_context(spooled(sys.stdin.buffer)) if path == "-" else path for path in paths]

    def _learner(self, name: str) -> str:
        name = name.strip()
        try:
            check_storable(name, "--learner")
        except MalformedParts as error:
            self.fail(str(error))
        if len(name) > MAX_LEARNER:
            self.fail(f"--learner: at most {MAX_LEARNER} characters")
        return name


class _Megabytes:
    """Adds up bytes and moves the bar by whole megabytes."""

    def __init__(self, advance: Any):
        self._advance = advance
        self._bytes = 0

    def __call__(self, count: int) -> None:
        before = _megabytes(self._bytes)
        self._bytes += count
        self._advance(_megabytes(self._bytes) - before)


def _megabytes(count: int) -> int:
    return -(-count // _MEGABYTE)


def _sort(report: Report, data: dict[str, Any]) -> None:
    """Put a report into its list."""
    if isinstance(report, Problem):
        data["problems"].append(_problem(report))
    elif isinstance(report, Skipped):
        row = {"file": printable(report.source), "reason": report.reason}
        data["links_left_out" if report.told else "skipped_files"].append(row)
    elif isinstance(report, CheckpointReport):
        row = {**asdict(report), "file": printable(report.source), "position": report.where}
        data["checkpoints"].append({key: row[key] for key in _CHECKPOINT})
    else:
        data["problems"].extend(_problem(problem) for problem in report.problems)
        data["conversations"].append(_conversation(report))


_CHECKPOINT = (
    "file", "position", "external_id", "folded_at", "learner", "title", "state", "chat_id", "messages", "tokens",
)  # fmt: skip


def _conversation(report: ChatReport) -> dict[str, Any]:
    return {
        "file": printable(report.source),
        "position": report.where,
        "format": report.format,
        "learner": report.learner,
        "title": report.title,
        "state": report.state,
        "chat_id": report.chat_id,
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "unchanged": report.unchanged,
        "left": report.left,
        "problems": len(report.problems),
    }


def _problem(problem: Problem) -> dict[str, str]:
    return {
        "file": printable(problem.source),
        "position": problem.position,
        "reason": printable(problem.reason),
        "remedy": problem.remedy,
    }


def _totals(data: dict[str, Any]) -> dict[str, Any]:
    chats, checkpoints = data["conversations"], data["checkpoints"]
    names = ("added", "changed", "moved", "unchanged", "left")
    return {
        "conversations": len(chats),
        "states": dict(Counter(chat["state"] for chat in chats)),
        "messages": {name: sum(chat[name] for chat in chats) for name in names},
        "checkpoints": dict(Counter(row["state"] for row in checkpoints)),
        "covered": {name: sum(row[name] for row in checkpoints) for name in ("messages", "tokens")},
        "problems": len(data["problems"]),
    }


def _render(data: dict[str, Any]) -> Iterator[str]:
    chats = data["conversations"]
    if chats:
        yield f"{'state':<9} {'added':>7} {'changed':>7} {'same':>7}  {'learner':<16}  title"
    for chat in chats[:_SHOWN_CHATS]:
        yield (
            f"{chat['state']:<9} {chat['added']:>7,} {chat['changed']:>7,} {chat['moved'] + chat['unchanged']:>7,}  "
            f"{shorten(chat['learner'], 16):<16}  {shorten(chat['title']) or chat['position']}"
            + (f"  ({counted(chat['problems'], 'problem')})" if chat["problems"] else "")
        )
    if len(chats) > _SHOWN_CHATS:
        yield f"… and {counted(len(chats) - _SHOWN_CHATS, 'more conversation')} (--json lists them all)"
    yield from _render_checkpoints(data["checkpoints"])
    yield from _render_problems(data["problems"])
    yield from _render_left_out(data["links_left_out"])
    if data["skipped_files"]:
        yield f"{counted(len(data['skipped_files']), 'file')} without chats passed over."
    yield _summary(data)
    messages = data["totals"]["messages"]
    if not data["dry_run"] and (messages["added"] or messages["changed"]):
        yield "Next: `manage.py extract_chats --all --rest` reads what is not read yet; `manage.py coverage_report` shows it."


def _render_checkpoints(rows: list[dict[str, Any]]) -> Iterator[str]:
    if rows:
        yield f"{'covered':>8} {'tokens':>9}  {'read up to':<20}  {'state':<8}  chat"
    for row in rows[:_SHOWN_CHATS]:
        moment = row["folded_at"].astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        title = shorten(row["title"]) or shorten(row["external_id"])
        yield f"{row['messages']:>8,} {row['tokens']:>9,}  {moment:<20}  {row['state']:<8}  {title}"
    if len(rows) > _SHOWN_CHATS:
        yield f"… and {counted(len(rows) - _SHOWN_CHATS, 'more checkpoint')} (--json lists them all)"


def _render_problems(problems: list[dict[str, str]]) -> Iterator[str]:
    if problems:
        yield f"Problems ({len(problems):,}):"
    for problem in problems[:_SHOWN_PROBLEMS]:
        place = ", ".join(filter(None, (problem["file"], problem["position"])))
        yield f"  {place}: {problem['reason']}" + (f" → {problem['remedy']}" if problem["remedy"] else "")
    if len(problems) > _SHOWN_PROBLEMS:
        yield f"  … and {len(problems) - _SHOWN_PROBLEMS:,} more (--json lists them all)"


def _render_left_out(links: list[dict[str, str]]) -> Iterator[str]:
    for link in links[:_SHOWN_PROBLEMS]:
        yield f"Passed over {link['file']}: {link['reason']}"
    if len(links) > _SHOWN_PROBLEMS:
        yield f"… and {counted(len(links) - _SHOWN_PROBLEMS, 'more link')} out of the folder (--json lists them all)"


def _summary(data: dict[str, Any]) -> str:
    totals = data["totals"]
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(totals["states"].items()))
    messages = totals["messages"]
    more = f", {messages['moved']:,} moved" if messages["moved"] else ""
    more += f", {messages['left']:,} left the transcript" if messages["left"] else ""
    covered = totals["covered"]
    if data["checkpoints"]:
        more += f"; covered by checkpoints: {counted(covered['messages'], 'message')}, {counted(covered['tokens'], 'token')}"
    prefix = "Would import" if data["dry_run"] else "Imported"
    return (
        f"{prefix}: {counted(totals['conversations'], 'conversation')}{f' ({states})' if states else ''}; messages: "
        f"{messages['added']:,} added, {messages['changed']:,} changed, {messages['unchanged']:,} unchanged{more}."
    )
