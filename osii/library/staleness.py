"""What is current, stale, missing or blocked: derived in the database from the outputs there are, never stored.

An output is current when the wanted method made it, as wanted, of the document's primary. So a former primary that comes
back finds its outputs current again, and the outputs of another method count for nothing.
"""

from django.db.models import Case, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When

from extraction.documents.selectors import replaced
from extraction.models import Document

from .methods import Wanted
from .models import Output

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
BLOCKED_REASONS = (NO_TEXT, NO_LEARNER, NOT_READY, SOURCE_CHANGED)


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


def annotate(documents: QuerySet[Document], wanted: Wanted, prefix: str = "output") -> QuerySet[Document]:
    """Add ``<prefix>_state`` (one of STATES) and ``<prefix>_reason`` to each document; the reason is empty for current and
    missing ones. One statement, whatever the number of documents.
    """
    of_primary = outputs_of(wanted).filter(source_extraction=OuterRef("primary"))
    now = Exists(of_primary.filter(as_wanted(wanted)))
    any_output = Exists(outputs_of(wanted).filter(document=OuterRef("pk")))
    is_replaced = replaced()
    blocked = Q(primary__isnull=True) | (Q(learner__isnull=True) if wanted.needs_learner else Q(pk__in=[]))
    state = Case(
        When(blocked, then=Value(BLOCKED)),
        When(is_replaced & any_output, then=Value(STALE)),
        When(is_replaced, then=Value(BLOCKED)),
        When(now, then=Value(CURRENT)),
        *([When(Q(pk__isnull=False), then=Value(BLOCKED))] if wanted.unready else []),
        When(any_output, then=Value(STALE)),
        default=Value(MISSING),
        output_field=CharField(),
    )
    reason = Case(
        When(primary__isnull=True, then=Value(NO_TEXT)),
        When(blocked, then=Value(NO_LEARNER)),
        When(is_replaced, then=Value(SOURCE_CHANGED)),
        When(now, then=Value("")),
        *([When(Q(pk__isnull=False), then=Value(NOT_READY))] if wanted.unready else []),
        *_stale_reasons(wanted, of_primary),
        When(any_output, then=Value(EXTRACTION_CHANGED)),
        default=Value(""),
        output_field=CharField(),
    )
    return documents.annotate(**{f"{prefix}_state": state, f"{prefix}_reason": reason})


def _stale_reasons(wanted: Wanted, of_primary: QuerySet[Output]) -> list[When]:
    """What alone differs of the output of the primary that comes nearest to what is wanted."""
    version = Q(method_version=wanted.method_version)
    options = version & Q(options_hash=wanted.options_hash)
    prompt = options & Q(prompt_version=wanted.prompt_version)
    return [
        When(Exists(of_primary.filter(prompt)), then=Value(SPACE_CHANGED)),
        When(Exists(of_primary.filter(options)), then=Value(PROMPT_CHANGED)),
        When(Exists(of_primary.filter(version)), then=Value(OPTIONS_CHANGED)),
        When(Exists(of_primary), then=Value(METHOD_CHANGED)),
    ]


def with_last_failure(documents: QuerySet[Document], wanted: Wanted, prefix: str = "output") -> QuerySet[Document]:
    """Add ``<prefix>_error``: why the last attempt of this method at the primary failed, if it came after every success."""
    attempts = Output.objects.filter(
        source_extraction=OuterRef("primary"), kind=wanted.kind, method=wanted.method
    ).order_by("-created_at", "-id")
    return documents.annotate(**{f"{prefix}_error": Subquery(attempts.values("error")[:1])})


def counts(documents: QuerySet[Document], wanted: Wanted) -> dict[str, dict[str, int]]:
    """How many of these documents are in each state, by reason: {"current": {"": 5}, "stale": {"options changed": 2}, …}.

    One statement.
    """
    rows = (
        annotate(documents.order_by(), wanted)
        .values("output_state", "output_reason")
        .annotate(documents=Count("pk"))
        .values_list("output_state", "output_reason", "documents")
    )
    found: dict[str, dict[str, int]] = {state: {} for state in STATES}
    for state, reason, count in rows:
        found[state][reason] = count
    return found


def totals(found: dict[str, dict[str, int]]) -> dict[str, int]:
    """The same as {"eligible", "current", "stale", "missing", "blocked"}: stale ones that can be made again are eligible."""
    each = {state: sum(reasons.values()) for state, reasons in found.items()}
    cannot = found[STALE].get(SOURCE_CHANGED, 0)
    return {"eligible": each[STALE] - cannot + each[MISSING], **each}
