"""Taking files into the library one after the other, and saying of each what became of it.

A chat export among them is imported as chats.
"""

import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from coverage.importers.checkpoints import CheckpointReport
from coverage.importers.load import ChatReport, import_paths
from coverage.importers.records import Problem
from coverage.importers.values import printable
from coverage.models import Learner
from coverage.words import counted
from extraction.documents import routing, services
from extraction.documents.chat_exports import chat_export
from extraction.documents.errors import DocumentError, PrimaryMoved
from extraction.documents.extractors import registry
from extraction.documents.intake import AddOutcome
from extraction.documents.sources import Found, shown
from extraction.models import Document, ExtractionVersion
from osii.actors import command_actor
from osii.imports.jobs import is_read_now

# Met in a folder, these are passed over; named by the caller, they are failures.
PASSED_OVER = {"symlink", "special_file", "no_extractor"}
STATUSES = ("added", "replaces", "unchanged", "chats", "skipped", "failed")


class Adding:
    """Takes one file after the other and says of each what became of it."""

    def __init__(
        self, learner: Learner | None, *, extractor: str, policy: services.Policy, dry_run: bool = False
    ) -> None:
        self.learner, self.extractor, self.policy, self.dry_run = learner, extractor, policy, dry_run
        self.new_learner: str | None = None

    def take(self, found: Found) -> dict[str, Any]:
        """{path, status (one of STATUSES), …}: reason and message when it was skipped or failed, the ids when not."""
        entry: dict[str, Any] = {"path": shown(found.path), "status": "failed"}
        try:
            if found.problem is not None:
                raise found.problem
            chats = self._chats(found)
            if chats is not None:
                return entry | chats
            outcome = services.add_file(found.path, self.learner, dry_run=self.dry_run, check_new=self._check_new)
            if self.learner is not None and outcome.new_learner:
                self.new_learner = self.learner.name
            entry |= {"document": outcome.status, "file_id": outcome.file_id, "replaces": outcome.replaces}
            entry |= {"learner_set": outcome.learner_set}
            entry |= self._foresee(outcome) if self.dry_run else self._extract(outcome)
        except PrimaryMoved as error:
            entry |= {"reason": error.reason, "message": f"the new version is kept, but not primary: {error}"}
        except DocumentError as error:
            entry |= {"reason": error.reason, "message": str(error)}
            if error.reason in PASSED_OVER and not found.given:
                entry["status"] = "skipped"
        return entry

    def _chats(self, found: Found) -> dict[str, Any] | None:
        """Import a chat export as chats, and say what became of them; None when the file is none."""
        label = chat_export(Path(found.path)) if _is_regular(found.path) else ""
        if not label:
            return None
        name = self.learner.name if self.learner is not None else ""
        states, problems = Counter[str](), []
        for report in import_paths([found.path], learner=name, dry_run=self.dry_run, is_busy=is_read_now):
            if isinstance(report, Problem):
                problems.append(report)
            elif isinstance(report, ChatReport | CheckpointReport):
                states[report.state] += 1
                problems += getattr(report, "problems", ())
        entry: dict[str, Any] = {"status": "chats", "format": label, "chats": dict(states)}
        if problems:
            first = ", ".join(filter(None, (problems[0].position, problems[0].reason)))
            entry |= {"status": "failed", "reason": "chat_problems"}
            entry["message"] = f"{counted(len(problems), 'problem')} in this chat export, the first: {printable(first)}"
        return entry

    def _check_new(self, document: Document) -> None:
        """Refuse a file that no extractor will read, before its bytes are kept."""
        routing.choose(self.extractor, document.mime, document.filename)

    def _wants_extraction(self, file_id: str) -> bool:
        if self.extractor != registry.AUTO:
            return True
        return not Document.objects.filter(pk=file_id, primary__isnull=False).exists()

    def _foresee(self, outcome: AddOutcome) -> dict[str, Any]:
        extractor = None
        if self._wants_extraction(outcome.file_id):
            extractor = routing.choose(self.extractor, outcome.media_type, Path(outcome.path).name).name
        return {"status": outcome.status, "extractor": extractor}

    def _extract(self, outcome: AddOutcome) -> dict[str, Any]:
        if not self._wants_extraction(outcome.file_id):
            return {"status": outcome.status}
        version = services.extract(outcome.file_id, self.extractor, self.policy, actor=command_actor())
        if version.status == ExtractionVersion.Status.FAILED:
            reason, _, message = version.error.partition(": ")
            return {"extraction_id": version.pk, "reason": reason, "message": f"kept without a text: {message}"}
        primary = Document.objects.filter(pk=outcome.file_id, primary=version).exists()
        return {"status": outcome.status, "extraction_id": version.pk, "primary": primary}


def _is_regular(path: str) -> bool:
    """Opening anything else may wait for ever."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
