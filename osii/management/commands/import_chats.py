"""Import chats that people already have, from files, folders, archives and standard input."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandParser

from coverage.importers.formats import NAMES
from coverage.importers.load import ChatReport, import_paths, total_bytes
from coverage.importers.records import MAX_LEARNER, Problem, Skipped, shorten
from coverage.importers.sources import Given, spooled
from coverage.importers.values import printable
from coverage.view import MalformedParts, check_storable
from osii.console import Command as OsiiCommand

# Longer lists are cut in the printed report, with a count of the rest; --json has everything.
_SHOWN_CHATS = 40
_SHOWN_PROBLEMS = 50
_MEGABYTE = 1_000_000


class Command(OsiiCommand):
    help = (
        "Import chats from files and folders. The format is found from the content: AI SDK UIMessages (JSON or JSONL) "
        "or a ChatGPT export. What is broken is reported by file and position, and the rest is imported; importing the "
        "same again adds nothing and updates what changed. Reading the chats is extract_chats' work."
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
        chats: list[dict[str, Any]] = []
        problems: list[dict[str, str]] = []
        skipped: list[dict[str, str]] = []
        with ExitStack() as stack:
            paths = self._with_standard_input(options["paths"], stack)
            advance = stack.enter_context(self.progress("Importing (MB)", total=_megabytes(total_bytes(paths))))
            reports = import_paths(
                paths,
                format=options["format"],
                learner=learner,
                dry_run=options["dry_run"],
                on_progress=_Megabytes(advance),
            )
            for report in reports:
                _sort(report, chats, problems, skipped)
        data = {
            "dry_run": options["dry_run"],
            "conversations": chats,
            "problems": problems,
            "skipped_files": skipped,
            "totals": _totals(chats, problems),
        }
        self.result(data, _render)
        if problems:
            done = "would be imported" if options["dry_run"] else "was imported"
            self.fail(f"{len(problems):,} problem(s); everything else {done}")

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


def _sort(
    report: ChatReport | Problem | Skipped,
    chats: list[dict[str, Any]],
    problems: list[dict[str, str]],
    skipped: list[dict[str, str]],
) -> None:
    if isinstance(report, Problem):
        problems.append(_problem(report))
    elif isinstance(report, Skipped):
        skipped.append({"file": printable(report.source), "reason": report.reason})
    else:
        problems.extend(_problem(problem) for problem in report.problems)
        chats.append(
            {
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
        )


def _problem(problem: Problem) -> dict[str, str]:
    return {
        "file": printable(problem.source),
        "position": problem.position,
        "reason": printable(problem.reason),
        "remedy": problem.remedy,
    }


def _totals(chats: list[dict[str, Any]], problems: list[dict[str, str]]) -> dict[str, Any]:
    counted = ("added", "changed", "moved", "unchanged", "left")
    return {
        "conversations": len(chats),
        "states": dict(Counter(chat["state"] for chat in chats)),
        "messages": {name: sum(chat[name] for chat in chats) for name in counted},
        "problems": len(problems),
    }


def _render(data: dict[str, Any]) -> Iterator[str]:
    chats = data["conversations"]
    if chats:
        yield f"{'state':<9} {'added':>7} {'changed':>7} {'same':>7}  {'learner':<16}  title"
    for chat in chats[:_SHOWN_CHATS]:
        yield (
            f"{chat['state']:<9} {chat['added']:>7,} {chat['changed']:>7,} {chat['moved'] + chat['unchanged']:>7,}  "
            f"{shorten(chat['learner'], 16):<16}  {shorten(chat['title']) or chat['position']}"
            + (f"  ({chat['problems']} problem(s))" if chat["problems"] else "")
        )
    if len(chats) > _SHOWN_CHATS:
        yield f"… and {len(chats) - _SHOWN_CHATS:,} more conversations (--json lists them all)"
    yield from _render_problems(data["problems"])
    if data["skipped_files"]:
        yield f"{len(data['skipped_files']):,} file(s) hold no chats and were passed over."
    yield _summary(data)


def _render_problems(problems: list[dict[str, str]]) -> Iterator[str]:
    if problems:
        yield f"Problems ({len(problems):,}):"
    for problem in problems[:_SHOWN_PROBLEMS]:
        place = ", ".join(filter(None, (problem["file"], problem["position"])))
        yield f"  {place}: {problem['reason']}" + (f" → {problem['remedy']}" if problem["remedy"] else "")
    if len(problems) > _SHOWN_PROBLEMS:
        yield f"  … and {len(problems) - _SHOWN_PROBLEMS:,} more (--json lists them all)"


def _summary(data: dict[str, Any]) -> str:
    totals = data["totals"]
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(totals["states"].items()))
    messages = totals["messages"]
    more = f", {messages['moved']:,} moved" if messages["moved"] else ""
    more += f", {messages['left']:,} left the transcript" if messages["left"] else ""
    prefix = "Would import" if data["dry_run"] else "Imported"
    return (
        f"{prefix}: {totals['conversations']:,} conversations{f' ({states})' if states else ''}; messages: "
        f"{messages['added']:,} added, {messages['changed']:,} changed, {messages['unchanged']:,} unchanged{more}."
    )
