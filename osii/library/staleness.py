"""What is current, stale, missing or blocked: derived in the database from the outputs there are, never stored.

An output is current when the wanted method made it, as wanted, of the document's primary. So a former primary that comes
back finds its outputs current again, and the outputs of another method count for nothing.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from django.db.models import F, Q, QuerySet

from extraction.documents.selectors import replaced
from extraction.models import Document

from .methods import Wanted
from .models import Output

Key = TypeVar("Key", bound=Hashable)

CURRENT, STALE, MISSING, BLOCKED = STATES = ("current", "stale", "missing", "blocked")

EXTRACTION_CHANGED = "extraction changed"
METHOD_CHANGED = "method version changed"
OPTIONS_CHANGED = "options changed"
PROMPT_CHANGED = "prompt changed"
SPACE_CHANGED = "space changed"
SOURCE_CHANGED = "source file changed"
STALE_REASONS = (
    EXTRACTION_CHANGED, METHOD_CHANGED, OPTIONS_CHANGED, PROMPT_CHANGED, SPACE_CHANGED, SOURCE_CHANGED,
)  # fmt: skip
"""``source file changed`` is not cured by making the output again: a newer document took this one's place."""

NO_TEXT = "no text"
NO_LEARNER = "no learner"
NOT_READY = "not ready"


def outputs_of(wanted: Wanted) -> QuerySet[Output]:
    """Succeeded outputs of the wanted kind and method, whatever they were made of and however."""
    return Output.objects.filter(kind=wanted.kind, method=wanted.method, status=Output.Status.SUCCEEDED)


def as_wanted(wanted: Wanted) -> Q:
    """Outputs that were made as it is wanted now, whatever their source."""
    return Q(
        method_version=wanted.method_version,
        options_hash=wanted.options_hash,
        prompt_version=wanted.prompt_version,
    ) & (Q(space=wanted.space_id) if wanted.space_id else Q(space__isnull=True))


def current_outputs(wanted: Wanted) -> QuerySet[Output]:
    """The outputs that are current: of each document's primary, as wanted. At most one per document."""
    return outputs_of(wanted).filter(as_wanted(wanted), document__primary=F("source_extraction"))


class Standing(NamedTuple):
    """One of STATES; the reason is empty for current and missing ones. ``error``: why the last attempt at the primary
    failed, if it came after every success."""

    state: str
    reason: str
    error: str = ""


def of_document(document: Document, wanted: Mapping[Key, Wanted]) -> dict[Key, Standing]:
    """What each of these methods has made of one document as it is wanted now: two statements, whatever their number."""
    is_replaced = Document.objects.filter(replaced(), pk=document.pk).exists()
    attempts: defaultdict[tuple[str, str], list[Output]] = defaultdict(list)
    rows = document.outputs.only(
        "document", "source_extraction", "kind", "method", "method_version", "options_hash", "prompt_version", "space",
        "status", "error",
    )  # fmt: skip
    for row in rows.order_by("-created_at", "-id"):
        attempts[row.kind, row.method].append(row)
    return {
        key: _standing(document, one, attempts[one.kind, one.method], is_replaced=is_replaced)
        for key, one in wanted.items()
    }


def _standing(document: Document, wanted: Wanted, attempts: list[Output], *, is_replaced: bool) -> Standing:
    """From the attempts of one method, newest first."""
    made = [one for one in attempts if one.status == Output.Status.SUCCEEDED]
    of_primary = [one for one in attempts if one.source_extraction_id == document.primary_id]
    error = of_primary[0].error if of_primary else ""
    if document.primary_id is None:
        return Standing(BLOCKED, NO_TEXT)
    if wanted.needs_learner and document.learner_id is None:
        return Standing(BLOCKED, NO_LEARNER, error)
    if is_replaced:
        return Standing(STALE if made else BLOCKED, SOURCE_CHANGED, error)
    reason = _nearest(wanted, [one for one in of_primary if one.status == Output.Status.SUCCEEDED])
    if reason == "":
        return Standing(CURRENT, "", error)
    if wanted.unready:
        return Standing(BLOCKED, NOT_READY, error)
    return Standing(STALE, reason or EXTRACTION_CHANGED, error) if made else Standing(MISSING, "", error)


def _nearest(wanted: Wanted, made: Iterable[Output]) -> str | None:
    """How the output that comes nearest to what is wanted differs from it: "" when it does not, None without outputs."""
    compared = ("method_version", "options_hash", "prompt_version", "space_id")
    names = (METHOD_CHANGED, OPTIONS_CHANGED, PROMPT_CHANGED, SPACE_CHANGED)
    reasons = {
        next((n for n, name in enumerate(compared) if getattr(one, name) != getattr(wanted, name)), len(names))
        for one in made
    }
    return (*names, "")[max(reasons)] if reasons else None
