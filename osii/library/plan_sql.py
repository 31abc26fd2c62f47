"""The one statement behind a plan: for every document in scope, the state of each step with its reason.

States are ``missing``, ``stale``, ``current`` and ``blocked``; the first two are what a run does. A document that this
run extracts is judged as it will be then. What `staleness` derives for one document is derived here for all of them: from
the memo that each version has of its outputs (`models.Made`); for few documents the outputs are looked up themselves.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

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

NEW, LATER, FAILED_ONCE = 0, 1, 2
NOW = 10
CHANGED, OTHERWISE, AGAIN = 25, 26, 27
NO_TEXT, NO_LEARNER, NOT_READY, SOURCE_CHANGED, UNREAD, OTHER_TYPE = 40, 41, 42, 43, 44, 45
MEANINGS: dict[int, tuple[str, str]] = {
    NEW: (MISSING, ""),
    LATER: (MISSING, AFTER_EXTRACTION),
    FAILED_ONCE: (MISSING, FAILED_BEFORE),
    NOW: (CURRENT, ""),
    21: (STALE, staleness.SPACE_CHANGED),
    22: (STALE, staleness.PROMPT_CHANGED),
    23: (STALE, staleness.OPTIONS_CHANGED),
    24: (STALE, staleness.METHOD_CHANGED),
    CHANGED: (STALE, staleness.EXTRACTION_CHANGED),
    OTHERWISE: (STALE, OTHER_EXTRACTOR),
    AGAIN: (STALE, FORCED),
    NO_TEXT: (BLOCKED, staleness.NO_TEXT),
    NO_LEARNER: (BLOCKED, staleness.NO_LEARNER),
    NOT_READY: (BLOCKED, staleness.NOT_READY),
    SOURCE_CHANGED: (BLOCKED, staleness.SOURCE_CHANGED),
    UNREAD: (BLOCKED, NO_EXTRACTOR),
    OTHER_TYPE: (BLOCKED, NOT_ITS_TYPE),
}
"""What the statement's codes of a step mean: numbers, because a hundred thousand texts take longer to make and to count.

Of several outputs of a primary the lowest code counts: that of the nearest one."""

FEW = 2000
"""Up to so many documents in scope, their outputs are looked up one by one; for more, the memos of all versions are read."""

Sql = tuple[str, list[Any]]


def is_eligible(step: str) -> str:
    """The condition that a step is missing or stale."""
    return f"({step} < {NOW} OR {step} BETWEEN 20 AND 39)"


def is_blocked(step: str) -> str:
    return f"{step} >= {NO_TEXT}"


def codes(state: str, reason: str | None = None) -> list[int]:
    """Those that mean this state, with this reason if one is given. "eligible" is missing or stale."""
    states = (MISSING, STALE) if state == "eligible" else (state,)
    return [code for code, meaning in MEANINGS.items() if meaning[0] in states and reason in (None, meaning[1])]


EXTENSION = (
    f"CASE WHEN {is_eligible('extract')} AND position('.' in filename) > 1 "
    "THEN lower(right(filename, position('.' in reverse(filename)) - 1)) END"
)


def planned(request: Request, ways: list[Reader], wanted: Mapping[str, Wanted], most: int | None = None) -> Sql:
    """``SELECT file_id, filename, mime, size_bytes, added_at, primary_id, extractor?, <step>…, eligible, blocked``: of each
    step its code. Of all documents in scope, or of the first ``most`` by id."""
    base, parameters = _in_scope(request, ways, wanted, most)
    steps = request.steps()
    extract = ", extractor, extract" if request.run_extraction else ""
    sql = (
        f"SELECT file_id, filename, mime, size_bytes, added_at, primary_id{extract}{_decided(request, wanted)} "
        f"FROM ({base} OFFSET 0) compared OFFSET 0"
    )
    eligible, blocked = " OR ".join(map(is_eligible, steps)), " OR ".join(map(is_blocked, steps))
    sql = f"SELECT *, ({eligible}) AS eligible, ({blocked}) AS blocked FROM ({sql}) decided"
    conditions, more = _conditions(request, wanted)
    return f"SELECT * FROM ({sql}) chosen{conditions}", [*parameters, *more]


def counted(request: Request, ways: list[Reader], wanted: Mapping[str, Wanted]) -> Sql:
    """``SELECT <step>…, extractor, extension, documents, size, extracted, ids``: the code of each step, and of the documents
    that have these their number, their size, how many have a text, and a fingerprint of their ids.
    """
    kinds, fingerprint = "extractor, extension", "bit_xor(hashtextextended(file_id, 0))"
    steps = ", ".join(request.steps())
    groups = f"GROUP BY {steps}{', ' + kinds if request.run_extraction else ''}"
    shown = f"{steps}, {kinds if request.run_extraction else 'NULL::text, NULL::text'}"
    if request.scope.stale or request.scope.failed:  # judged one by one
        sql, parameters = planned(request, ways, wanted)
        sql = f"SELECT *, {EXTENSION} AS extension FROM ({sql}) planned" if request.run_extraction else sql
        return (
            f"SELECT {shown}, count(*), sum(size_bytes), count(primary_id), {fingerprint} FROM ({sql}) counted {groups}",
            parameters,
        )
    # Documents that are alike in all that decides are counted first: a few groups of them are judged, not each.
    base, parameters = _in_scope(request, ways, wanted)
    alike = ["CASE WHEN primary_id IS NOT NULL THEN '' END AS primary_id"]
    alike += ["CASE WHEN learner_id IS NOT NULL THEN '' END AS learner_id"]
    alike += ["replaced", *(f"{step}_near" for step in wanted)] if wanted else []
    alike += ["extractor", "extract", f"{EXTENSION} AS extension"] if request.run_extraction else []
    numbers = ", ".join(str(number) for number in range(1, len(alike) + 1))
    grouped = (
        f"SELECT {', '.join(alike)}, count(*) AS documents, sum(size_bytes) AS size, count(primary_id) AS extracted, "
        f"{fingerprint} AS ids FROM ({base}) compared GROUP BY {numbers} OFFSET 0"
    )
    extract = "extractor, extension, extract, " if request.run_extraction else ""
    return (
        f"SELECT {shown}, sum(documents)::bigint, sum(size), sum(extracted)::bigint, bit_xor(ids) FROM ("
        f"SELECT {extract}documents, size, extracted, ids{_decided(request, wanted)} FROM ({grouped}) compared) counted {groups}",
        parameters,
    )


def _in_scope(request: Request, ways: list[Reader], wanted: Mapping[str, Wanted], most: int | None = None) -> Sql:
    """The documents in scope with what decides about each: ``extractor``, ``extract``, ``replaced``, ``<step>_near``."""
    documents = scopes.documents(request)
    if most is not None:
        documents = documents.filter(pk__in=list(documents.order_by("pk").values_list("pk", flat=True)[:most]))
    columns = ["file_id", "filename", "mime", "size_bytes", "added_at", "learner_id", "primary_id"]
    if request.run_extraction:
        documents = _with_extraction(documents, request, ways)
        columns += ["extractor", "extract"]
    base, parameters = documents.values(*columns).query.sql_with_params()
    if not wanted:
        return base, list(parameters)
    few = most is not None or documents.values("pk")[: FEW + 1].count() <= FEW
    return (_looked_up if few else _compared)(base, list(parameters), wanted)


def _decided(request: Request, wanted: Mapping[str, Wanted]) -> str:
    """The codes of the downstream steps, each with a comma before it."""
    return "".join(f", {_code(step, one, request)} AS {step}" for step, one in wanted.items())


def _looked_up(base: str, parameters: list[Any], wanted: Mapping[str, Wanted]) -> Sql:
    """The same as `_compared`, by looking up the outputs of each document: for few documents."""
    selected, values = [f"{REPLACED} AS replaced"], []
    for step, one in wanted.items():
        selected.append(
            "(SELECT COALESCE(min(CASE WHEN o.source_extraction_id <> base.primary_id THEN %s WHEN o.method_version <> %s "
            "THEN 24 WHEN o.options_hash <> %s THEN 23 WHEN o.prompt_version <> %s THEN 22 "
            f"WHEN o.space_id IS DISTINCT FROM %s THEN 21 ELSE {NOW} END), {NEW}) FROM osii_output o "
            f"WHERE o.document_id = base.file_id AND o.kind = %s AND o.method = %s AND o.status = 'succeeded') AS {step}_near"
        )
        values += [
            CHANGED,
            one.method_version,
            one.options_hash,
            one.prompt_version,
            one.space_id,
            one.kind,
            one.method,
        ]
    return f"SELECT base.*, {', '.join(selected)} FROM ({base}) base", [*values, *parameters]


def _compared(base: str, parameters: list[Any], wanted: Mapping[str, Wanted]) -> Sql:
    """The documents with ``replaced``, and of each step ``<step>_near``: the code of the nearest output there is.

    One row of each version tells which set of makings it has outputs of, and a step is judged once for each set. Outputs are
    made of primaries, so those of another extraction are found where a primary moved away from it.
    """
    selected, nearest, older, codes, kinds = [f"{REPLACED} AS replaced"], [], [], [], []
    for step, one in wanted.items():
        selected.append(
            f"CASE WHEN known.{step} IS NOT NULL THEN known.{step} WHEN older.{step} THEN {CHANGED} ELSE {NEW} END AS {step}_near"
        )
        nearest.append(
            "min(CASE WHEN m.method_version <> %s THEN 24 WHEN m.options_hash <> %s THEN 23 WHEN m.prompt_version <> %s "
            f"THEN 22 WHEN m.space IS DISTINCT FROM %s THEN 21 ELSE {NOW} END) "
            f"FILTER (WHERE m.kind = %s AND m.method = %s) AS {step}"
        )
        older.append(f"bool_or(known.{step} IS NOT NULL) AS {step}")
        codes += [one.method_version, one.options_hash, one.prompt_version, one.space_id, one.kind, one.method]
        kinds += [one.kind, one.method]
    of_methods = " OR ".join(["(m.kind = %s AND m.method = %s)"] * len(wanted))
    sql = (
        # One row of each set, whether it has any of these or not: then the server knows how many there are, and does not go
        # over all moves again for each.
        "WITH known AS MATERIALIZED (SELECT s.id, judged.* FROM osii_makingset s CROSS JOIN LATERAL ("
        f"SELECT {', '.join(nearest)} FROM osii_making m WHERE m.id = ANY (s.makings) AND ({of_methods})) judged) "
        f"SELECT base.*, {', '.join(selected)} FROM ({base}) base "
        "LEFT JOIN osii_made made ON made.extraction_id = base.primary_id "
        "LEFT JOIN known ON known.id = made.making_set_id "
        f"LEFT JOIN (SELECT move.document_id, {', '.join(older)} FROM extraction_promotion move "
        "JOIN osii_made made ON made.extraction_id = move.before_id JOIN known ON known.id = made.making_set_id "
        "WHERE move.before_id IS NOT NULL GROUP BY move.document_id) older "
        "ON older.document_id = base.file_id"
    )
    return sql, [*codes, *kinds, *parameters]


REPLACED = (
    "base.file_id IN (SELECT old.replaces_id FROM extraction_documentsource old WHERE old.replaces_id IS NOT NULL "
    "AND EXISTS (SELECT 1 FROM extraction_documentsource own WHERE own.document_id = old.replaces_id) "
    "AND NOT EXISTS (SELECT 1 FROM extraction_documentsource own WHERE own.document_id = old.replaces_id AND NOT EXISTS ("
    "SELECT 1 FROM extraction_documentsource later WHERE later.path = own.path AND later.seen_at > own.seen_at "
    "AND later.document_id <> own.document_id)))"
)
"""Whether every path of the document names a newer one (`selectors.replaced`), asked of those that were ever replaced."""


def _code(step: str, wanted: Wanted, request: Request) -> str:
    """The code of a step, from the nearest output and what keeps the step from being done."""
    near = f"{step}_near"
    cases: list[tuple[str, int | str]] = []
    if request.run_extraction and request.extraction_policy != SAVE_VARIANT:
        will = is_eligible("extract")
        later = f"CASE WHEN primary_id IS NULL OR {near} = {NEW} THEN {LATER} ELSE {CHANGED} END"
        if wanted.needs_learner:
            cases.append((f"{will} AND learner_id IS NULL", NO_LEARNER))
        cases.append((will, NOT_READY if wanted.unready else later))
    cases.append(("primary_id IS NULL", NO_TEXT))
    if wanted.needs_learner:
        cases.append(("learner_id IS NULL", NO_LEARNER))
    cases += [("replaced", SOURCE_CHANGED), (f"{near} = {NOW}", NOW)]
    if wanted.unready:
        cases.append(("true", NOT_READY))
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in cases)} ELSE {near} END"


def _with_extraction(documents: QuerySet[Document], request: Request, ways: list[Reader]) -> QuerySet[Document]:
    """Add ``extractor``, the name of the one that is tried first, and ``extract``, the step's code."""
    documents = documents.annotate(extractor=extractor_name(ways))
    failed = Exists(ExtractionVersion.objects.filter(document=OuterRef("pk"), status="failed"))
    missing = Q(primary__isnull=True)
    unread = When(extractor__isnull=True, then=Value(UNREAD if request.extractor_name == routing.AUTO else OTHER_TYPE))
    new = [When(missing & failed, then=Value(FAILED_ONCE)), When(missing, then=Value(NEW))]
    if request.extract_mode == MODE_MISSING:
        cases, rest = [When(~missing, then=Value(NOW)), unread, *new], NOW
    elif request.force:
        cases, rest = [unread, *new], AGAIN
    else:
        cases, rest = [unread, *new, When(made_already(request, ways), then=Value(NOW))], OTHERWISE
    return documents.annotate(extract=Case(*cases, default=Value(rest), output_field=IntegerField()))


def _conditions(request: Request, wanted: Mapping[str, Wanted]) -> Sql:
    """The scope's conditions on states."""
    parts, parameters = [], []
    steps = request.steps()
    if request.scope.stale:
        meant = [code for reason in request.scope.stale for state in (STALE, BLOCKED) for code in codes(state, reason)]
        parts.append("(" + " OR ".join(f"{step} = ANY (%s)" for step in steps) + ")")
        parameters += [meant] * len(steps)
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
            f"({is_eligible(step)} AND EXISTS (SELECT 1 FROM osii_output o WHERE o.document_id = file_id "
            "AND o.kind = %s AND o.method = %s AND o.status = 'failed' AND o.source_extraction_id = primary_id))"
        )
        parameters += [one.kind, one.method]
    return "(" + " OR ".join(parts) + ")", parameters
