"""Rows of the document library as the API shows them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from extraction.documents.retention import Candidate
from extraction.models import Document, Removal
from osii.library.progress import Progress
from osii.library.removing import Removing
from osii.models import Output, ProcessingItem, ProcessingRun, ProcessingStep

from .shapes import moment


def run(row: ProcessingRun, progress: Progress) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "status": row.status,
        "workflow": row.workflow,
        "steps": [operation["id"] for operation in row.operations],
        "actor": row.actor,
        "created_at": moment(row.created_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "cancel_requested": row.cancel_requested_at is not None,
        "error": row.error,
        "resolved_count": progress.total,
        "progress": progress.to_dict(),
    }


def item(row: ProcessingItem) -> dict[str, Any]:
    """With ``document`` and ``step_rows`` loaded."""
    return {
        "position": row.position,
        "file_id": row.document_id,
        "filename": row.document.filename if row.document else None,
        "path": row.path or None,
        "status": row.status,
        "error": row.error,
        "planned": row.steps,
        "blocked": row.blocked,
        "attempt": row.attempt,
        "worker": row.held_by,
        "heartbeat_at": moment(row.heartbeat_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "steps": [step(one) for one in row.step_rows.all()],
    }


def step(row: ProcessingStep) -> dict[str, Any]:
    return {
        "step": row.step,
        "status": row.status,
        "error": row.error,
        "extraction_id": row.extraction_id,
        "output_id": row.output_id and str(row.output_id),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
    }


def listed(row: Document) -> dict[str, Any]:
    """With ``primary`` and ``learner`` loaded."""
    return {
        "file_id": row.pk,
        "filename": row.filename,
        "mime": row.mime,
        "size_bytes": row.size_bytes,
        "learner": row.learner.name if row.learner else None,
        "primary_id": row.primary_id,
        "extractor": row.primary.extractor if row.primary else None,
        "text_chars": row.primary.text_chars if row.primary else None,
        "added_at": moment(row.added_at),
    }


def meta(row: Document) -> dict[str, Any]:
    """As ``meta.toml`` has it, with every path the bytes were seen under."""
    sources = list(row.sources.all())
    first = sources[0] if sources else None
    return {
        "file": {
            "source_relpath": first.path.lstrip("/") if first else None,
            "filename": row.filename,
            "mime": row.mime,
            "size_bytes": row.size_bytes,
            "mtime_utc": moment(first.modified_at) if first else None,
        },
        "hash": {"sha256": row.pk.removeprefix("sha256-")},
        "learner": row.learner.name if row.learner else None,
        "added_at": moment(row.added_at),
        "sources": [
            {
                "path": source.path,
                "replaces": source.replaces_id,
                "mtime_utc": moment(source.modified_at),
                "seen_at": moment(source.seen_at),
            }
            for source in sources
        ],
    }


def output(row: Output, state: tuple[str, str]) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "kind": row.kind,
        "method": row.method,
        "method_version": row.method_version,
        "options": row.options,
        "prompt_version": row.prompt_version or None,
        "source_extraction_id": row.source_extraction_id,
        "status": row.status,
        "error": row.error,
        "state": state[0],
        "reason": state[1],
        "text": row.text,
        "content": row.content,
        "counts": row.counts,
        "created_at": moment(row.created_at),
    }


def removing(found: Removing) -> dict[str, Any]:
    return {
        "file_id": found.file_id,
        "filename": found.filename,
        "size_bytes": found.size_bytes,
        "counts": found.counts,
        "propositions": asdict(found.fate),
        "in_hand": found.in_hand,
    }


def removal(row: Removal) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "what": row.what,
        "file_id": row.file_id,
        "filename": row.filename,
        "versions": row.versions,
        "counts": row.counts,
        "actor": row.actor,
        "reason": row.reason,
        "created_at": moment(row.created_at),
    }


def retention(row: Document, found: Sequence[Candidate]) -> dict[str, Any]:
    return {
        "file_id": row.pk,
        "primary_id": row.primary_id,
        "versions": [
            {
                "extraction_id": one.extraction_id,
                "status": one.status,
                "created_at": moment(one.created_at),
                "size_bytes": one.size_bytes,
                "kept": one.kept or None,
            }
            for one in found
        ],
        "removable_bytes": sum(one.size_bytes for one in found if not one.kept),
    }
