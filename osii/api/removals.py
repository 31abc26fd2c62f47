"""Routes that remove a document, or old versions of one: what would go first, then exactly that.

They are on the router of documents: one path has one set of methods.
"""

from datetime import timedelta

from django.http import HttpResponse
from django.utils import timezone
from ninja import Query

from extraction.documents import retention, services
from extraction.models import Document
from osii.library import removing

from . import library_shapes as shapes
from . import removal_schemas as schemas
from .auth import FOR_STAFF, ApiRequest, find_document, staff_only
from .objects import router, told
from .openapi import problems
from .runs import actor
from .shapes import reply


@router.get(
    "/{file_id}/removal",
    response={200: schemas.RemovingOut, **problems(403, 404)},
    summary="What removing would take",
    openapi_extra=FOR_STAFF,
)
def foreseen(request: ApiRequest, file_id: str) -> HttpResponse:
    """Nothing is written."""
    return reply(shapes.removing(removing.preview(_find(request, file_id))))


@router.delete(
    "/{file_id}",
    response={200: schemas.RemovalOut, **problems(403, 404, 503)},
    summary="Remove a document for good",
    openapi_extra=FOR_STAFF,
)
def remove(request: ApiRequest, file_id: str, query: Query[schemas.RemovalQuery]) -> HttpResponse:
    """Its bytes, versions, outputs and promotions, the evidence read from it, and each proposition that has no other."""
    row = _find(request, file_id)
    with told():
        return reply(shapes.removal(services.remove_document(row.pk, actor(request), query.reason)))


@router.get(
    "/{file_id}/retention",
    response={200: schemas.RetentionOut, **problems(403, 404, 503)},
    summary="Old versions",
    openapi_extra=FOR_STAFF,
)
def old_versions(request: ApiRequest, file_id: str, query: Query[schemas.RetentionQuery]) -> HttpResponse:
    """Those that the rule names, oldest first; `kept` says why one stays all the same. Nothing is written."""
    row = _find(request, file_id)
    days = query.older_than
    rule = retention.Rule(
        keep=query.keep,
        before=None if days is None else timezone.now() - timedelta(days=days),
        failed=query.failed,
        even_needed=query.even_needed,
        file_ids=(row.pk,),
    )
    with told():
        return reply(shapes.retention(row, list(retention.plan(rule))))


@router.post(
    "/{file_id}/retention",
    response={200: schemas.RemovalOut, **problems(403, 404, 409, 503, body=True)},
    summary="Remove old versions",
    openapi_extra=FOR_STAFF,
)
def clean_up(request: ApiRequest, file_id: str, body: schemas.RetentionIn) -> HttpResponse:
    """Exactly these, with their files and the outputs made from them. 409 when one is primary, or needed."""
    row = _find(request, file_id)
    with told():
        removal = services.remove_versions(
            row.pk, body.extraction_ids, actor(request), body.reason, even_needed=body.even_needed
        )
    return reply(shapes.removal(removal))


def _find(request: ApiRequest, file_id: str) -> Document:
    staff_only(request)
    return find_document(request, file_id)
