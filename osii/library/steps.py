"""What each step does to its document, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from extraction.documents import routing, services
from extraction.documents.errors import DocumentError, PrimaryMoved
from extraction.models import Document, ExtractionVersion

from . import intake, methods, outputs
from .base import MethodRefused, Source
from .requests import MISSING
from .run_models import ProcessingItem, ProcessingStep, Step

SUCCEEDED, CURRENT, FAILED, BLOCKED = (
    ProcessingStep.Status.SUCCEEDED,
    ProcessingStep.Status.CURRENT,
    ProcessingStep.Status.FAILED,
    ProcessingStep.Status.BLOCKED,
)
ERROR_CHARACTERS = 2000

NEEDS = {
    Step.EXTRACT: (Step.ADD,),
    Step.CHUNKS: (Step.ADD, Step.EXTRACT),
    Step.EMBEDDINGS: (Step.ADD, Step.EXTRACT, Step.CHUNKS),
    Step.SYNTHESIS: (Step.ADD, Step.EXTRACT),
    Step.ENRICHMENT: (Step.ADD, Step.EXTRACT),
    Step.PROPOSITIONS: (Step.ADD, Step.EXTRACT),
}
"""Steps without whose success a step is not tried."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended; ``error`` is "name: what happened"."""

    status: str
    error: str = ""
    extraction_id: str | None = None
    output_id: Any = None


def do(
    item: ProcessingItem, row: ProcessingStep, operation: Mapping[str, Any], checkpoint: Callable[[], None]
) -> Outcome:
    """Do the step that ``row`` says has begun. A refusal is an outcome; what ``checkpoint`` raises goes on."""
    try:
        if row.step == Step.ADD:
            return _add(item)
        if row.step == Step.EXTRACT:
            return _extract(item, row, operation)
        return _make(item, row, operation, checkpoint)
    except PrimaryMoved as error:
        return Outcome(
            FAILED, f"{error.reason}: the new version is kept, but is not primary: {error}"[:ERROR_CHARACTERS]
        )
    except DocumentError as error:
        blocked = isinstance(error, MethodRefused) and error.reason in {"no_text", "no_learner", "not_ready"}
        return Outcome(BLOCKED if blocked else FAILED, f"{error.reason}: {error}"[:ERROR_CHARACTERS])


def _add(item: ProcessingItem) -> Outcome:
    """Read the file anew: who may name it is asked again, for what lies at a path changes."""
    intake.check_path(item.path)
    outcome = services.add_file(item.path, item.run.learner)
    item.document_id = outcome.file_id
    return Outcome(CURRENT if outcome.status == "unchanged" else SUCCEEDED)


def _extract(item: ProcessingItem, row: ProcessingStep, operation: Mapping[str, Any]) -> Outcome:
    file_id = item.document_id
    document = Document.objects.get(pk=file_id)
    if operation["mode"] == MISSING and document.primary_id is not None:
        return Outcome(CURRENT, extraction_id=document.primary_id)
    force = operation["force"] and _made_since(row, document, operation) is None
    version = services.extract(
        file_id,
        operation["method"],
        operation["policy"],
        force=force,
        actor=item.run.actor,
        reason=f"run {item.run_id}",
    )
    if version.status == ExtractionVersion.Status.FAILED:
        return Outcome(FAILED, version.error[:ERROR_CHARACTERS], extraction_id=version.pk)
    status = CURRENT if version.created_at < row.began_at else SUCCEEDED
    return Outcome(status, extraction_id=version.pk)


def _made_since(row: ProcessingStep, document: Document, operation: Mapping[str, Any]) -> ExtractionVersion | None:
    """The version that this very step made before its worker was lost."""
    names = {route.extractor.name for route in routing.chain(operation["method"], document.mime, document.filename)}
    made = document.versions.filter(extractor__in=names, status="succeeded", created_at__gte=row.began_at)
    return made.first()


def _make(
    item: ProcessingItem, row: ProcessingStep, operation: Mapping[str, Any], checkpoint: Callable[[], None]
) -> Outcome:
    document = Document.objects.select_related("primary", "learner").get(pk=item.document_id)
    wanted = methods.wanted(row.step, operation["method"])
    # What was planned is made, also when the settings have changed since.
    wanted = replace(wanted, options=operation["options"], options_hash=operation["options_hash"])
    if document.primary is None:
        return Outcome(BLOCKED, f"no_text: {document.filename} has no text in force")
    if wanted.needs_learner and document.learner_id is None:
        return Outcome(BLOCKED, f"no_learner: {document.filename} has no learner")
    made = outputs.make_of(Source(document, document.primary, checkpoint), wanted)
    if made.status == made.Status.FAILED:
        return Outcome(FAILED, made.error[:ERROR_CHARACTERS], output_id=made.pk)
    return Outcome(CURRENT if made.created_at < row.began_at else SUCCEEDED, output_id=made.pk)
