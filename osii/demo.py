"""The main job on the sample chats and documents, from import to context, as one report."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from coverage.importers.load import ChatReport, Report, import_paths
from coverage.importers.records import Problem
from coverage.models import Chat, Learner
from coverage.words import counted
from extraction.models import Batch, Document, Resolution, Run
from extraction.reconcile import recover_chat
from extraction.running import runs
from extraction.selectors import coverage_of_chats
from extraction.services import request_run
from graphctx.models import Proposition
from graphctx.selection import select
from osii import demo_library as library
from osii.demo_library import Step

SAMPLES = Path(__file__).resolve().parent / "samples"
LEARNER = "Sample learner"
TOPIC = "Planning a heat pump for an old house"
BUDGET = 1024
EXAMPLES = 12
"""Propositions shown with their quotes; the report counts all."""


def run_demo(say: Step) -> dict[str, Any]:
    """Import, extract, report and ask; idempotent: a second call reads nothing. ``say`` is told each step."""
    say("Importing the sample chats")
    imported = _import_chats()
    learner = Learner.objects.get(name=LEARNER)
    before = _coverage(learner)
    say("Reading what is uncovered")
    batches = list(_extract(before["chats"], say))
    say("Adding the sample documents")
    added = library.add(SAMPLES / "documents", learner)
    say("Processing them: search chunks, vectors, summaries, keywords, propositions")
    processing = library.process([row["file_id"] for row in added["documents"] if "file_id" in row], say)
    say("Asking what this learner knows, and searching the documents")
    return {
        "imported": imported,
        "coverage_before": before["totals"],
        "extraction": _extraction(batches),
        "coverage_after": _coverage(learner)["totals"],
        "propositions": _propositions(batches),
        "documents": added,
        "processing": processing,
        "context": {"topic": TOPIC, "learner": LEARNER} | select(learner, TOPIC, BUDGET).to_dict(),
        "search": library.search(LEARNER),
        "nothing_to_do": not (batches or processing["run"] or library.changed(added)),
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
        say(f"  {chat['title']}: {counted(len(ended), 'batch', 'batches')}")
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
    read = {instance.document_id for proposition in chosen for instance in proposition.instances.all()} - {""}
    names = dict(Document.objects.filter(pk__in=read).values_list("pk", "filename"))
    return {"total": total, "examples": [_example(proposition, names) for proposition in chosen]}


def _spread(propositions: list[Proposition]) -> list[Proposition]:
    """The first of each (kind, source), round by round, so that no chat and no kind fills the list."""
    groups: dict[tuple[str, Any], list[Proposition]] = {}
    for proposition in propositions:
        instance = proposition.instances.all()[0]
        groups.setdefault((proposition.kind, instance.chat_id or instance.document_id), []).append(proposition)
    chosen: list[Proposition] = []
    while groups and len(chosen) < EXAMPLES:
        for key in list(groups)[: EXAMPLES - len(chosen)]:
            chosen.append(groups[key].pop(0))
            if not groups[key]:
                del groups[key]
    return chosen


def _example(proposition: Proposition, names: Mapping[str, str]) -> dict[str, Any]:
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
                "document": names.get(instance.document_id),
                "message_id": instance.message_id,
                "position": instance.position,
            }
            for instance in proposition.instances.all()
        ],
    }
