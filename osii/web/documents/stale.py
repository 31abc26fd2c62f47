"""Which outputs of a page's documents are stale, and why: the plan's own statement, asked of these documents only."""

from collections.abc import Sequence
from contextlib import suppress

from django.db import connection

from extraction.documents.errors import DocumentError
from osii.library import methods, plan_sql
from osii.library.methods import Wanted
from osii.library.models import Output, OutputKind
from osii.library.requests import CHOSEN, Request, Scope
from osii.library.run_models import Step
from osii.library.staleness import STALE


def stale_outputs(file_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Of these documents, those with a stale output by a chosen method: id → [(what it is, why it is stale)]. The number of
    queries does not depend on that of the documents."""
    wanted = _wanted(file_ids)
    if not wanted:
        return {}
    request = Request(
        Scope(file_ids=tuple(file_ids)),
        build_chunks=Step.CHUNKS.value in wanted,
        build_embeddings=Step.EMBEDDINGS.value in wanted,
        synthesizer_name=CHOSEN if Step.SYNTHESIS.value in wanted else None,
        enricher_name=CHOSEN if Step.ENRICHMENT.value in wanted else None,
        build_propositions=Step.PROPOSITIONS.value in wanted,
    )
    sql, parameters = plan_sql.planned(request, [], wanted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT file_id, {', '.join(wanted)} FROM ({sql}) of_page", parameters)
        rows = cursor.fetchall()
    found = {file_id: _reasons(dict(zip(wanted, codes, strict=True))) for file_id, *codes in rows}
    return {file_id: reasons for file_id, reasons in found.items() if reasons}


def _wanted(file_ids: Sequence[str]) -> dict[str, Wanted]:
    """What is wanted of each kind that these documents have outputs of; one without a method has none that could be stale."""
    made = Output.objects.filter(document__in=file_ids, status=Output.Status.SUCCEEDED).order_by()
    kinds = set(made.values_list("kind", flat=True).distinct())
    found = {}
    for kind in OutputKind.values:  # also the names of the steps, in their order
        with suppress(DocumentError):
            if kind in kinds:
                found[kind] = methods.wanted(kind)
    if Step.EMBEDDINGS.value in found:  # a plan has these with the chunks that they are of
        found.setdefault(Step.CHUNKS.value, methods.wanted(OutputKind.CHUNKS))
    return found


def _reasons(codes: dict[str, int]) -> list[tuple[str, str]]:
    meant = {step: plan_sql.MEANINGS[code] for step, code in codes.items()}
    return [(Step(step).label, reason) for step, (state, reason) in meant.items() if state == STALE]
