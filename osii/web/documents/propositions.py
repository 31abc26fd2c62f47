"""The Propositions tab: whether the text in force was read for the graph, and the claims with their quotes."""

from typing import Any

from extraction.models import Document
from graphctx.models import Instance
from osii.models import OutputKind
from osii.web.access import PageRequest
from osii.web.paging import page_of

from . import outputs

PER_PAGE = 50


def context(request: PageRequest, document: Document) -> dict[str, Any]:
    """Live quotes first. A fixed number of queries: the page, its count, the states of the methods and their newest outputs."""
    rows = (
        Instance.objects.filter(document_id=document.pk, withdrawn_at__isnull=True)
        .select_related("proposition__learner")
        .order_by("-live", "char_start", "id")
    )
    readings = outputs.method_rows(document, outputs.states(document), OutputKind.PROPOSITIONS)
    return {
        "page": page_of(request, rows, PER_PAGE),
        "readings": [row for row in readings if row.chosen or row.output is not None],
        "chosen_reading": next(row for row in readings if row.chosen),
    }
