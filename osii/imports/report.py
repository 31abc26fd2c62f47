"""From the loader's reports to the rows and lists that an import keeps of them."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum

from coverage.importers.checkpoints import CheckpointReport
from coverage.importers.load import ChatReport, Report
from coverage.importers.records import Problem, Skipped
from coverage.importers.values import printable
from osii.models import ChatImport, ImportedChat

PROBLEMS_KEPT = 200
SKIPPED_KEPT = 50
_LONGEST_TEXT = 1000
SUMS = ("added", "changed", "unchanged", "left", "covered_messages", "covered_tokens")


@dataclass(slots=True)
class ImportReport:
    """What one attempt has met: ``fresh`` rows wait to be written, lists are bounded and their counts are not."""

    import_id: UUID
    dry_run: bool
    fresh: list[ImportedChat] = field(default_factory=list)
    conversations: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)
    problem_count: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)
    skipped_count: int = 0

    def add(self, report: Report) -> None:
        if isinstance(report, Problem):
            self._problem(report)
        elif isinstance(report, Skipped):
            self.skipped_count += 1
            if len(self.skipped) < SKIPPED_KEPT:
                self.skipped.append({"file": _text(report.source), "reason": _text(report.reason)})
        else:
            self.conversations += 1
            self.fresh.append(self._row(report))

    def take(self) -> list[ImportedChat]:
        """The rows that wait; they are not handed out again."""
        rows, self.fresh = self.fresh, []
        return rows

    def values(self) -> dict[str, Any]:
        """What of it stands in the import's own row."""
        return {
            "problems": self.problems,
            "problem_count": self.problem_count,
            "skipped": self.skipped,
            "skipped_count": self.skipped_count,
        }

    def _problem(self, problem: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_KEPT:
            shown = (problem.source, problem.position, problem.reason, problem.remedy)
            self.problems.append(dict(zip(("file", "position", "reason", "remedy"), map(_text, shown), strict=True)))

    def _row(self, report: ChatReport | CheckpointReport) -> ImportedChat:
        row = ImportedChat(
            chat_import_id=self.import_id,
            number=self.conversations,
            file=_text(report.source),
            position=_text(report.where),
            learner=_text(report.learner)[:200],
            title=_text(report.title)[:500],
            state=report.state,
            chat_id=report.chat_id,
        )
        if isinstance(report, CheckpointReport):
            row.kind = ImportedChat.Kind.CHECKPOINT
            row.title = row.title or _text(report.external_id)[:500]
            row.covered_messages, row.covered_tokens = report.messages, report.tokens
            return row
        row.format = report.format
        row.added, row.changed, row.left = report.added, report.changed, report.left
        row.unchanged = report.unchanged + report.moved
        row.problem_count = len(report.problems)
        for problem in report.problems:
            self._problem(problem)
        return row


def _text(value: str) -> str:
    """Fit for the database and a page: no NUL, no lone surrogate, no control characters, not endless."""
    return printable(value[:_LONGEST_TEXT])


def totals(row: ChatImport) -> dict[str, Any]:
    """The counts of everything that is reported so far: ``states`` and ``checkpoints`` by state, and sums of messages."""
    by_state = row.conversations.order_by().values("kind", "state").annotate(n=Count("pk"), **_sums())
    found: dict[str, Any] = {"conversations": 0, "states": {}, "checkpoints": {}} | dict.fromkeys(SUMS, 0)
    for group in by_state:
        is_chat = group["kind"] == ImportedChat.Kind.CHAT
        found["states" if is_chat else "checkpoints"][group["state"]] = group["n"]
        found["conversations"] += group["n"] if is_chat else 0
        for name in SUMS:
            found[name] += group[f"sum_{name}"]
    return found


def _sums() -> dict[str, Sum]:
    return {f"sum_{name}": Sum(name) for name in SUMS}
