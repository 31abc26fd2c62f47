"""The one statement behind a plan: for every document in scope, the state of each step with its reason.

States are ``missing``, ``stale``, ``current`` and ``blocked``; the first two are what a run does. A document that this
run extracts is judged as it will be then.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, CharField, Exists, OuterRef, Q, QuerySet, Value, When

from extraction.documents import routing
from extraction.documents.services import SAVE_VARIANT
from extraction.models import Document, ExtractionVersion

from . import scopes, staleness
from .methods import Wanted
from .readers import Reader, extractor_name, made_already
from .requests import MISSING as MODE_MISSING
from .requests import Request
from .staleness import BLOCKED, CURRENT, MISSING, STALE

NO_EXTRACTOR = "no extractor reads this type"
NOT_ITS_TYPE = "the extractor does not read this type"
FAILED_BEFORE = "failed before"
OTHER_EXTRACTOR = "another extractor made it"
AFTER_EXTRACTION = "after extraction"
FORCED = "to be extracted again"

Sql = tuple[str, list[Any]]


def planned(request: Request, ways: list[Reader], wanted: Mapping[str, Wanted]) -> Sql:
    """``SELECT file_id, filename, mime, size_bytes, added_at, <step>, <step>_reason … , eligible, blocked``."""
    documents = scopes.documents(request)
    columns = ["file_id", "filename", "mime", "size_bytes", "added_at", "learner_id", "primary_id"]
    if request.run_extraction:
        documents = _with_extraction(documents, request, ways)
        columns += ["extractor", "extract_state", "extract_reason"]
    for step, one in wanted.items():
        documents = staleness.annotate(documents, one, step)
        columns += [f"{step}_state", f"{step}_reason"]
    inner, parameters = documents.values(*columns).query.sql_with_params()
    middle = f"SELECT file_id, filename, mime, size_bytes, added_at, primary_id{_finals(request, wanted)} FROM ({inner} OFFSET 0) judged"
    steps = request.steps()
    eligible = " OR ".join(f"{step} IN ('missing', 'stale')" for step in steps)
    blocked = " OR ".join(f"{step} = 'blocked'" for step in steps)
    sql = f"SELECT *, ({eligible}) AS eligible, ({blocked}) AS blocked FROM ({middle} OFFSET 0) decided"
    conditions, more = _conditions(request, wanted)
    return f"SELECT * FROM ({sql}) chosen{conditions}", [*parameters, *more]


def _with_extraction(documents: QuerySet[Document], request: Request, ways: list[Reader]) -> QuerySet[Document]:
    readable = Q(extractor__isnull=False)
    documents = documents.annotate(extractor=extractor_name(ways))
    failed = Exists(ExtractionVersion.objects.filter(document=OuterRef("pk"), status="failed"))
    missing = Q(primary__isnull=True)
    unread = Value(NO_EXTRACTOR if request.extractor_name == routing.AUTO else NOT_ITS_TYPE)
    if request.extract_mode == MODE_MISSING:
        state = [When(~missing, then=Value(CURRENT)), When(~readable, then=Value(BLOCKED))]
        reason = [When(~missing, then=Value("")), When(~readable, then=unread)]
        rest, rest_reason = Value(MISSING), Case(When(failed, then=Value(FAILED_BEFORE)), default=Value(""))
    else:
        made = made_already(request, ways)
        state = [
            When(~readable, then=Value(BLOCKED)),
            When(missing, then=Value(MISSING)),
            *([] if request.force else [When(made, then=Value(CURRENT))]),
        ]
        reason = [
            When(~readable, then=unread),
            When(missing & failed, then=Value(FAILED_BEFORE)),
            When(missing, then=Value("")),
            *([] if request.force else [When(made, then=Value(""))]),
        ]
        rest, rest_reason = Value(STALE), Value(FORCED if request.force else OTHER_EXTRACTOR)
    text = CharField()
    return documents.annotate(
        extract_state=Case(*state, default=rest, output_field=text),
        extract_reason=Case(*reason, default=rest_reason, output_field=text),
    )


def _finals(request: Request, wanted: Mapping[str, Wanted]) -> str:
    """Of each step, its state and reason in this run."""
    parts = []
    extracts = request.run_extraction and request.extraction_policy != SAVE_VARIANT
    if request.run_extraction:
        parts.append("extractor, extract_state AS extract, extract_reason")
    for step, one in wanted.items():
        state, reason = f"{step}_state", f"{step}_reason"
        cases: list[tuple[str, str, str]] = []
        if extracts:
            cases += _after_extraction(state, reason, one)
        replaced = f"{reason} = '{staleness.SOURCE_CHANGED}'"
        cases.append((replaced, f"'{BLOCKED}'", reason))
        cases = cases or [("false", state, reason)]
        states = " ".join(f"WHEN {when} THEN {then}" for when, then, _ in cases)
        reasons = " ".join(f"WHEN {when} THEN {then}" for when, _, then in cases)
        parts.append(f"CASE {states} ELSE {state} END AS {step}")
        parts.append(f"CASE {reasons} ELSE {reason} END AS {step}_reason")
    return "".join(f", {part}" for part in parts)


def _after_extraction(state: str, reason: str, wanted: Wanted) -> list[tuple[str, str, str]]:
    """(when, state, reason) for documents that this run extracts first."""
    will = "extract_state IN ('missing', 'stale')"
    cases = []
    if wanted.needs_learner:
        cases.append((f"{will} AND learner_id IS NULL", f"'{BLOCKED}'", f"'{staleness.NO_LEARNER}'"))
    if wanted.unready:
        cases.append((will, f"'{BLOCKED}'", f"'{staleness.NOT_READY}'"))
    cases += [
        (f"{will} AND {state} IN ('current', 'stale')", f"'{STALE}'", f"'{staleness.EXTRACTION_CHANGED}'"),
        (f"{will} AND primary_id IS NULL", f"'{MISSING}'", f"'{AFTER_EXTRACTION}'"),
        (f"{will} AND {state} = 'missing'", f"'{MISSING}'", f"'{AFTER_EXTRACTION}'"),
    ]
    return cases


def _conditions(request: Request, wanted: Mapping[str, Wanted]) -> Sql:
    """The scope's conditions on states."""
    parts, parameters = [], []
    steps = request.steps()
    if request.scope.stale:
        parts.append("(" + " OR ".join(f"{step}_reason = ANY (%s)" for step in steps) + ")")
        parameters += [list(request.scope.stale)] * len(steps)
    if request.scope.failed:
        failed, more = _failed(request, wanted)
        parts.append(failed)
        parameters += more
    return (" WHERE " + " AND ".join(parts) if parts else ""), parameters


def _failed(request: Request, wanted: Mapping[str, Wanted]) -> Sql:
    """Whether the last attempt at one of the steps failed, and nothing has made up for it since."""
    parts, parameters = [], []
    if request.run_extraction:
        parts.append(
            "(primary_id IS NULL AND EXISTS (SELECT 1 FROM extraction_extractionversion v "
            "WHERE v.document_id = file_id AND v.status = 'failed'))"
        )
    for step, one in wanted.items():
        parts.append(
            f"({step} IN ('missing', 'stale') AND EXISTS (SELECT 1 FROM osii_output o WHERE o.document_id = file_id "
            "AND o.kind = %s AND o.method = %s AND o.status = 'failed' AND o.source_extraction_id = primary_id))"
        )
        parameters += [one.kind, one.method]
    return "(" + " OR ".join(parts) + ")", parameters
