"""The Propositions tab: the claims that have evidence in this document, with the quotes they stand on."""

from typing import Any

from extraction.models import Document
from graphctx.models import Instance
from osii.web.access import PageRequest
from osii.web.paging import page_of

PER_PAGE = 50


def context(request: PageRequest, document: Document) -> dict[str, Any]:
    """Live quotes first. One query for the page and one for its count."""
    rows = (
        Instance.objects.filter(document_id=document.pk, withdrawn_at__isnull=True)
        .select_related("proposition__learner")
        .order_by("-live", "char_start", "id")
    )
    return {"page": page_of(request, rows, PER_PAGE)}
