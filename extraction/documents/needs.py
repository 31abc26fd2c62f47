"""Which versions something still stands on, beside being primary: a clean-up leaves them unless it is told otherwise."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from graphctx.models import Instance

from ..models import ExtractionVersion, Promotion

EVIDENCE = "has live evidence in a learner's graph"
ROLLBACK = "is what taking the last promotion back would return to"
PRIMARY = "is the primary"


def needed_versions(versions: QuerySet[ExtractionVersion]) -> dict[str, str]:
    """{version id: why it is needed} for those of ``versions`` that are; one query.

    Outputs in force are made from the primary, so they need no other version.
    """
    live = Instance.objects.filter(
        document_id=OuterRef("document_id"), extraction_id=OuterRef("pk"), live=True, withdrawn_at__isnull=True
    )
    standing = Promotion.objects.filter(
        document=OuterRef("document"), takes_back__isnull=True, taken_back_by__isnull=True
    ).order_by("-created_at", "-id")
    rows = versions.annotate(cited=Exists(live), return_to=Subquery(standing.values("before")[:1])).values_list(
        "pk", "document__primary", "cited", "return_to"
    )
    found = {}
    for pk, primary, cited, return_to in rows:
        reason = PRIMARY if pk == primary else EVIDENCE if cited else ROLLBACK if pk == return_to else ""
        if reason:
            found[pk] = reason
    return found
