"""The main job on the sample chats and documents, from import to context, as one report."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from coverage.importers.load import ChatReport, Report, import_paths
from coverage.importers.records import Problem
from coverage.models import Chat, Learner
from extraction import runs
from extraction.documents import services as documents
from extraction.documents.errors import DocumentError
from extraction.models import Batch, Document, ExtractionVersion, Resolution, Run
from extraction.reconcile import recover_chat
from extraction.selectors import coverage_of_chats
from extraction.services import request_run
from graphctx.models import Proposition
from graphctx.selection import select

SAMPLES = Path(__file__).resolve().parent / "samples"
LEARNER = "Sample learner"
TOPIC = "Planning a heat pump for an old house"
BUDGET = 1024
VARIANT_OPTIONS = {"encoding": "utf-8"}
SHOWN_FORMATS = ("inspecting*.pdf", "*.docx", "*.xlsx", "*.html")  # text recognition would take longer than all else
EXAMPLES = 12
"""Propositions shown with their quotes; the report counts all."""

Step = Callable[[str], None]


def run_demo(say: Step) -> dict[str, Any]:
    """Import, extract, report and ask; idempotent: a second call reads nothing. ``say`` is told each step."""
    say("Importing the sample chats")
    imported = _import_chats()
    learner = Learner.objects.get(name=LEARNER)
    before = _coverage(learner)
    say("Reading what is uncovered")
    batches = list(_extract(before["chats"], say))
    say("Adding the sample documents")
    library = _add_documents(learner)
    say("Asking what this learner knows")
    return {
        "imported": imported,
        "coverage_before": before["totals"],
        "extraction": _extraction(batches),
        "coverage_after": _coverage(learner)["totals"],
        "propositions": _propositions(batches),
        "documents": library,
        "context": {"topic": TOPIC, "learner": LEARNER} | select(learner, TOPIC, BUDGET).to_dict(),
        "nothing_to_do": not before["totals"]["uncovered_tokens"],
    }


def _import_chats() -> dict[str, Any]:
    reports = list(import_paths([SAMPLES / "chats"], learner=LEARNER))
    chats = [report for report in reports if isinstance(report, ChatReport)]
    return {
        "chats": len(chats),
        "messages": sum(chat.added + chat.changed + chat.unchanged for chat in chats),
        "messages_added": sum(chat.added for chat in chats),
        "messages_changed": sum(chat.changed for chat in chats),
        "problems": [asdict(problem) for report in reports for problem in _problems(report)],
    }


def _problems(report: Report) -> list[Problem]:
    """What went wrong with a conversation, or with a file that gave none."""
    if isinstance(report, ChatReport):
        return report.problems
    return [report] if isinstance(report, Problem) else []


def _coverage(learner: Learner) -> dict[str, Any]:
    chats = coverage_of_chats(Chat.objects.filter(learner=learner).values_list("pk", flat=True))
    keys = ("total_tokens", "covered_tokens", "uncovered_tokens", "parked_tokens")
    return {"chats": chats, "totals": {key: sum(chat[key] for chat in chats) for key in keys}}


def _extract(chats: list[dict[str, Any]], say: Step) -> Iterator[Batch]:
    for chat in chats:
        if not chat["uncovered_tokens"]:
            continue
        ended: list[Batch] = []
        recover_chat(UUID(chat["chat_id"]))
        run = request_run(UUID(chat["chat_id"]), Run.Mode.REST, settings.EXTRACTION_WORKER, enqueue=False)
        runs.execute(run.pk, on_batch=ended.append)
        say(f"  {chat['title']}: {len(ended)} batch(es)")
        yield from ended


def _extraction(batches: list[Batch]) -> dict[str, Any]:
    resolutions = Resolution.objects.filter(candidate__batch__in=batches)
    return {
        "batches": len(batches),
        "failed_batches": sum(batch.status != Batch.Status.SUCCEEDED for batch in batches),
        "batches_that_found_nothing": sum(batch.found_nothing for batch in batches),
        "tokens_read": sum(batch.tokens for batch in batches),
        "candidates_staged": sum(batch.staged_count or 0 for batch in batches),
        "propositions_new": resolutions.filter(outcome=Resolution.Outcome.NEW).count(),
        "propositions_known": resolutions.filter(outcome=Resolution.Outcome.SAME).count(),
    }


def _propositions(batches: list[Batch]) -> dict[str, Any]:
    """A few propositions with their quotes, spread over kinds and chats; of this run, or of the graph on a later one."""
    ids = [batch.pk for batch in batches]
    rows = Proposition.objects.filter(learner__name=LEARNER)
    total = rows.count()
    if ids:
        rows = rows.filter(instances__batch__in=ids).distinct()
    chosen = _spread(list(rows.prefetch_related("instances__chat").order_by("created_at")))
    return {"total": total, "examples": [_example(proposition) for proposition in chosen]}


def _spread(propositions: list[Proposition]) -> list[Proposition]:
    """The first of each (kind, chat), round by round, so that no chat and no kind fills the list."""
    groups: dict[tuple[str, Any], list[Proposition]] = {}
    for proposition in propositions:
        instance = proposition.instances.all()[0]
        groups.setdefault((proposition.kind, instance.chat_id), []).append(proposition)
    chosen: list[Proposition] = []
    while groups and len(chosen) < EXAMPLES:
        for key in list(groups)[: EXAMPLES - len(chosen)]:
            chosen.append(groups[key].pop(0))
            if not groups[key]:
                del groups[key]
    return chosen


def _example(proposition: Proposition) -> dict[str, Any]:
    return {
        "proposition_id": str(proposition.pk),
        "kind": proposition.kind,
        "text": proposition.text,
        "evidence": [
            {
                "quote": instance.quote,
                "speaker": instance.speaker,
                "level": instance.level,
                "chat": instance.chat.title if instance.chat else None,
                "message_id": instance.message_id,
                "position": instance.position,
            }
            for instance in proposition.instances.all()
        ],
    }


def _add_documents(learner: Learner) -> dict[str, Any]:
    """Extract each sample document, one path with two contents among them; then a second version of the first document
    is saved beside its primary and promoted.
    """
    rows = [_document(path, learner) for path in sorted((SAMPLES / "documents").glob("*.*"))]
    rows += [
        _document(path, learner)
        for kind in SHOWN_FORMATS
        for path in sorted((SAMPLES / "documents" / "formats").glob(kind))
    ]
    rows += [_document(path, learner) for path in map(_revised, (SAMPLES / "documents" / "revised").glob("*.*"))]
    return {"documents": rows, "promoted": _promote_another(rows)}


def _document(path: Path, learner: Learner) -> dict[str, Any]:
    try:
        outcome = documents.add_file(path, learner)
        added = {"file": path.name, "file_id": outcome.file_id, "status": outcome.status, "replaces": outcome.replaces}
        return added | _in_force(outcome.file_id)
    except DocumentError as error:
        return {"file": path.name, "status": "failed", "error": str(error)}


def _revised(path: Path) -> Path:
    """A copy of the document that was added with its first content and now has its revised one."""
    source = settings.OSII_HOME / "demo" / path.name
    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLES / "documents" / path.name, source)
        documents.add_file(source)
    shutil.copy(path, source)
    return source


def _in_force(file_id: str) -> dict[str, Any]:
    """The document's primary version, extracted now if it has none."""
    version = Document.objects.get(pk=file_id).primary
    extracted = version is None
    if version is None:
        version = documents.extract(file_id, actor="demo")
    return {
        "extraction_id": version.pk,
        "extraction_status": version.status,
        "extracted_now": extracted,
        "characters": version.text_chars,
        "error": version.error,
    }


def _promote_another(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Save another version of the first document beside its primary, then make it primary: both stay readable."""
    row = next((row for row in rows if row.get("extraction_status") == ExtractionVersion.Status.SUCCEEDED), None)
    if row is None:
        return None
    variant = documents.extract(row["file_id"], policy=documents.SAVE_VARIANT, options=VARIANT_OPTIONS, actor="demo")
    moved = row["extraction_id"] != variant.pk
    if moved:
        seen = row["extraction_id"]
        documents.promote(row["file_id"], variant.pk, "demo", "shows a promotion", expected_primary=seen)
    return {
        "file": row["file"],
        "file_id": row["file_id"],
        "before": row["extraction_id"] if moved else None,
        "primary_id": variant.pk,
        "moved": moved,
    }
