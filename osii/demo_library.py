"""The sample documents: added, processed by a run of the library, and searched."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from coverage.models import Learner
from extraction.documents import services as documents
from extraction.documents.errors import DocumentError
from extraction.models import Document, ExtractionVersion
from osii.library import jobs, plan, progress, run_reconcile, runs
from osii.library.requests import CHOSEN, Request, Scope
from osii.library.search import find
from osii.library.staleness import current_outputs
from osii.models import ProcessingItem, ProcessingRun

VARIANT_OPTIONS = {"encoding": "utf-8"}
SHOWN_FORMATS = ("inspecting*.pdf", "*.docx", "*.xlsx", "*.html")  # text recognition would take longer than all else
QUERY = "lowering the heating curve"
RESULTS = 3
KEYWORDS = 5
ACTOR = "demo"
WAIT_SECONDS = 0.5

Step = Callable[[str], None]


def add(samples: Path, learner: Learner) -> dict[str, Any]:
    """Extract each sample document, one path with two contents among them; then a second version of the first document
    is saved beside its primary and promoted.
    """
    rows = [_document(path, learner) for path in sorted(samples.glob("*.*"))]
    rows += [_document(path, learner) for kind in SHOWN_FORMATS for path in sorted((samples / "formats").glob(kind))]
    rows += [_document(path, learner) for path in _revised(samples)]
    return {"documents": rows, "promoted": _promote_another(rows)}


def _document(path: Path, learner: Learner) -> dict[str, Any]:
    try:
        outcome = documents.add_file(path, learner)
        added = {"file": path.name, "file_id": outcome.file_id, "status": outcome.status, "replaces": outcome.replaces}
        return added | _in_force(outcome.file_id)
    except DocumentError as error:
        return {"file": path.name, "status": "failed", "error": str(error)}


def _revised(samples: Path) -> Iterator[Path]:
    """Copies of documents that were added with their first content and now have their revised one."""
    for path in sorted((samples / "revised").glob("*.*")):
        source = settings.OSII_HOME / "demo" / path.name
        if not source.exists():
            source.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(samples / path.name, source)
            documents.add_file(source)
        shutil.copy(path, source)
        yield source


def _in_force(file_id: str) -> dict[str, Any]:
    """The document's primary version, extracted now if it has none."""
    version = Document.objects.get(pk=file_id).primary
    extracted = version is None
    if version is None:
        version = documents.extract(file_id, actor=ACTOR)
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
    variant = documents.extract(row["file_id"], policy=documents.SAVE_VARIANT, options=VARIANT_OPTIONS, actor=ACTOR)
    moved = row["extraction_id"] != variant.pk
    if moved:
        seen = row["extraction_id"]
        documents.promote(row["file_id"], variant.pk, ACTOR, "shows a promotion", expected_primary=seen)
    return {
        "file": row["file"],
        "file_id": row["file_id"],
        "before": row["extraction_id"] if moved else None,
        "primary_id": variant.pk,
        "moved": moved,
    }


def changed(added: dict[str, Any]) -> bool:
    """Whether adding extracted or promoted anything."""
    moved = added["promoted"] is not None and added["promoted"]["moved"]
    return moved or any(row.get("extracted_now") for row in added["documents"])


def process(file_ids: list[str], say: Step) -> dict[str, Any]:
    """Make what is missing or stale of these documents by a run of the library, in this process beside the workers.

    A run that an earlier demo left is gone on with first. ``run`` is None when everything is current.
    """
    for left in ProcessingRun.objects.filter(actor=ACTOR, status__in=ProcessingRun.ACTIVE):
        runs.resume(left.pk)
        _work(left, say)
    request = _request(file_ids)
    found = plan.make(request)
    run = None
    if found.eligible:
        run, _ = runs.create(request, actor=ACTOR)
        _work(run, say)
    return {
        "run": run and str(run.pk),
        "status": run and run.status,
        "steps": [_step(step, run) for step in found.steps],
        "failed": _failed(run) if run else [],
        "results": _results(request),
    }


def _request(file_ids: list[str]) -> Request:
    return Request(
        scope=Scope(file_ids=tuple(file_ids)),
        build_chunks=True,
        build_embeddings=True,
        synthesizer_name=CHOSEN,
        enricher_name=CHOSEN,
        # A model is asked for what it is connected for, the chats; documents are read into the graph where that is free.
        build_propositions=settings.EXTRACTION_WORKER == "rules",
    )


def _work(run: ProcessingRun, say: Step) -> None:
    """Do the run's items, and wait for those that workers have taken; a paused run is left."""
    waiting = run.items.filter(status=ProcessingItem.Status.QUEUED).order_by("position").select_related("document")
    run.refresh_from_db()
    while run.active and run.status != ProcessingRun.Status.PAUSED:
        item = waiting.first()
        if item is not None:
            say(f"  {item.document.filename if item.document else item.path}")
            jobs.execute(item.pk)
        elif not run_reconcile.recover_run(run.pk):
            time.sleep(WAIT_SECONDS)
        run.refresh_from_db()


def _step(step: plan.StepPlan, run: ProcessingRun | None) -> dict[str, Any]:
    """What was planned, and how many documents it was done for."""
    done = progress.steps(run.pk).get(step.id, {}) if run else {}
    return {
        "step": step.id,
        "method": step.method,
        "eligible": step.count("missing", "stale"),
        "current": step.count("current"),
        "blocked": {reason: count for (state, reason), count in step.reasons.items() if state == "blocked"},
        "succeeded": done.get("succeeded", 0) + done.get("current", 0),
        "failed": done.get("failed", 0) + done.get("blocked", 0),
    }


def _failed(run: ProcessingRun) -> list[dict[str, Any]]:
    rows, _ = progress.items(run.pk, ProcessingItem.Status.FAILED)
    return [{"file": row.document and row.document.filename, "error": row.error} for row in rows]


def _results(request: Request) -> list[dict[str, Any]]:
    """Of each document: how many chunks, the first key sentence, keywords, and what was read into the graph."""
    rows: dict[str, dict[str, Any]] = {}
    for kind, wanted in request.wanted().items():
        found = current_outputs(wanted).filter(document__in=request.scope.file_ids).select_related("document")
        for output in found.order_by("document__added_at"):
            row = rows.setdefault(output.document_id, {"file": output.document.filename, "file_id": output.document_id})
            if kind == "chunks":
                row["chunks"] = output.counts["chunks"]
            elif kind == "synthesis":
                row["summary"] = output.text
            elif kind == "enrichment":
                row["keywords"] = [one["keyword"] for one in output.content.get("keywords", [])[:KEYWORDS]]
            elif kind == "propositions":
                row["claims"] = dict(output.content["outcomes"])
    return list(rows.values())


def search(learner: str) -> dict[str, Any]:
    """The best passages of this learner's documents for a question."""
    return {"query": QUERY} | find.search(QUERY, top_k=RESULTS, scope={"learner": learner}).to_dict()
