"""The base of every command: progress on stderr, results on stdout, `--json` for machines."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

# Titles, names and quotes are other people's: what they hold must not steer the terminal or turn its lines around.
_STEERING = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {code: chr(code).encode("unicode_escape").decode("ascii") for code in _STEERING if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """The text with control characters written as escapes; line breaks and tabs stay."""
    return text.translate(_VISIBLE)


def note(line: str) -> None:
    """One line of progress on stderr."""
    sys.stderr.write(f"{visible(line)}\n")
    sys.stderr.flush()


def warn(line: str) -> None:
    note(f"warning: {line}")


def encode(value: Any) -> Any:
    """What JSON has no form for: ids, times (ISO 8601), paths, decimals, sets."""
    if isinstance(value, UUID | Path):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Command(BaseCommand):
    """Subclasses implement `run(**options)`, report with `progress` or `note`, and end with `result` or `fail`."""

    has_json = True  # False for commands that run until they are stopped
    requires_system_checks: list[str] = []  # `manage.py check` and the tests run them; commands start faster without

    def add_arguments(self, parser: CommandParser) -> None:
        if self.has_json:
            help_text = "print the result as one JSON object"
            parser.add_argument("--json", action="store_true", dest="as_json", help=help_text)
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """Add the command's own arguments."""

    def handle(self, *args: Any, **options: Any) -> None:
        self.as_json = options.get("as_json", False)
        self.run(**options)

    run: Callable[..., None]
    """What the command does, with its options by name; each command has its own."""

    def result(self, data: dict, render: Callable[[dict], str | Iterable[str]]) -> None:
        """Print `data` as JSON with --json, else as the text or lines that `render(data)` returns."""
        if self.as_json:
            self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2, default=encode))
        else:
            text = render(data)
            for line in [text] if isinstance(text, str) else text:
                self.stdout.write(visible(line))
        self.stdout.flush()  # a reader that has gone shows here, where it is handled

    def fail(self, message: str) -> NoReturn:
        """End with a one-line error and exit status 1."""
        raise CommandError(visible(message))

    def note(self, line: str) -> None:
        """One line of progress on stderr."""
        note(line)

    @contextlib.contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A progress bar on a terminal, a line at the start and the end elsewhere; yields `advance(n)`."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task(label, total=total)

                def advance_bar(steps: int = 1) -> None:
                    bar.advance(task, steps)

                yield advance_bar
        else:
            done = 0

            def advance(steps: int = 1) -> None:
                nonlocal done
                done += steps

            note(f"{label} …" if total is None else f"{label}: {total}")
            yield advance
            note(f"{label}: {done} done")
