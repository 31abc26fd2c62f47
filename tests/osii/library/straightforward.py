"""The states of documents in the most straightforward way: one subquery for each state and reason.

Slow for many documents; what is faster must say the same.
"""

from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Subquery, Value, When

from extraction.documents.selectors import replaced
from extraction.models import Document
from osii.library.methods import Wanted
from osii.library.models import Output
from osii.library.staleness import (
    BLOCKED,
    CURRENT,
    EXTRACTION_CHANGED,
    METHOD_CHANGED,
    MISSING,
    NO_LEARNER,
    NO_TEXT,
    NOT_READY,
    OPTIONS_CHANGED,
    PROMPT_CHANGED,
    SOURCE_CHANGED,
    SPACE_CHANGED,
    STALE,
    STATES,
    as_wanted,
    outputs_of,
)


def annotate(documents: QuerySet[Document], wanted: Wanted) -> QuerySet[Document]:
    """Add ``output_state``, ``output_reason`` and ``output_error`` to each document."""
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
    attempts = Output.objects.filter(source_extraction=OuterRef("primary"), kind=wanted.kind, method=wanted.method)
    error = Subquery(attempts.order_by("-created_at", "-id").values("error")[:1])
    return documents.annotate(output_state=state, output_reason=reason, output_error=error)


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


def counts(documents: QuerySet[Document], wanted: Wanted) -> dict[str, dict[str, int]]:
    """How many of these documents are in each state, by reason: {"current": {"": 5}, "stale": {"options changed": 2}, …}."""
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
