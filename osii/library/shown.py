"""What of a document's outputs is current, and what each kind stands at: for the document's page and the API."""

from collections.abc import Iterable
from typing import Any

from extraction.documents.errors import DocumentError
from extraction.models import Document

from . import methods, staleness
from .methods import Wanted
from .models import Output, OutputKind
from .run_models import Step

GONE = "method not installed"


def states(document: Document, outputs: Iterable[Output]) -> dict[Any, tuple[str, str]]:
    """(state, reason) of each output, by its id: current, or stale and why, or failed with its named reason.

    Asked of each output's own method, as that is set now.
    """
    wanted: dict[tuple[str, str], Wanted | None] = {}
    found = {}
    for output in outputs:
        key = (output.kind, output.method)
        if key not in wanted:
            wanted[key] = _wanted(*key)
        found[output.pk] = _state(document, output, wanted[key])
    return found


def _wanted(kind: str, method: str) -> Wanted | None:
    try:
        return methods.wanted(kind, method)
    except DocumentError:
        return None


def _state(document: Document, output: Output, wanted: Wanted | None) -> tuple[str, str]:
    if output.status == Output.Status.FAILED:
        return "failed", output.reason
    differs = {
        staleness.EXTRACTION_CHANGED: output.source_extraction_id != document.primary_id,
        GONE: wanted is None,
        staleness.METHOD_CHANGED: wanted and output.method_version != wanted.method_version,
        staleness.OPTIONS_CHANGED: wanted and output.options_hash != wanted.options_hash,
        staleness.PROMPT_CHANGED: wanted and not wanted.unready and output.prompt_version != wanted.prompt_version,
        staleness.SPACE_CHANGED: wanted and not wanted.unready and output.space_id != wanted.space_id,
    }
    reason = next((reason for reason, holds in differs.items() if holds), "")
    return (staleness.STALE, reason) if reason else (staleness.CURRENT, "")


def processing(document: Document) -> dict[str, dict[str, Any]]:
    """By step: the chosen method and whether its output is current, stale, missing or blocked, and why; and whether the
    text is extracted."""
    wanted = {kind: found for kind in OutputKind.values if (found := _wanted(kind, "")) is not None}
    standings = staleness.of_document(document, wanted)
    shown: dict[str, dict[str, Any]] = {
        Step.EXTRACT.value: {
            "method": document.primary.extractor if document.primary else None,
            "state": staleness.CURRENT if document.primary else staleness.MISSING,
            "reason": "",
        }
    }
    for kind, one in wanted.items():
        shown[kind] = {"method": one.method, "state": standings[kind].state, "reason": standings[kind].reason}
    return shown
