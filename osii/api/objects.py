"""Routes of documents: what they are, their texts and versions, what was made of them, and which version is in force."""

import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse
from ninja import Query, Router

from extraction.documents import selectors, services
from extraction.documents.errors import (
    DocumentError,
    PrimaryMoved,
    PromotionRefused,
    RemovalRefused,
    StoreError,
    UnknownDocument,
    UnknownVersion,
)
from extraction.documents.sources import as_download
from extraction.documents.store import library_store
from extraction.models import Document, ExtractionVersion
from osii.library import progress, scopes, shown
from osii.library.requests import REPROCESS, BadRequest, Scope
from osii.models import Output, OutputKind

from . import library_schemas as schemas
from . import library_shapes as shapes
from .auth import FOR_STAFF, ApiRequest, find_document, find_learner, own_documents, staff_only
from .openapi import problems
from .problems import Problem
from .runs import actor, after, asked, cursor, start, wrong
from .shapes import moment, reply

router = Router(tags=["library"])

SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
"""With what a stranger's file is sent: nothing in it runs, whatever shows it."""

BYTES = {
    "responses": {
        200: {
            "description": "The bytes",
            "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
        }
    }
}


@contextmanager
def told() -> Iterator[None]:
    """The document room's refusals as answers."""
    try:
        yield
    except (UnknownDocument, UnknownVersion) as error:
        raise Problem(404, _sentence(error)) from None
    except (PrimaryMoved, PromotionRefused, RemovalRefused) as error:
        raise Problem(409, _sentence(error)) from None
    except StoreError as error:
        raise Problem(503, _sentence(error), headers={"Retry-After": "5"}) from None


@router.get("", response={200: schemas.ObjectPage, **problems(403, 404)}, summary="List documents")
def listed(request: ApiRequest, query: Query[schemas.ObjectsQuery]) -> HttpResponse:
    """Newest first. A learner's token lists that learner's documents."""
    rows = own_documents(request)
    if query.learner is not None:
        rows = rows.filter(learner=find_learner(request, query.learner, where="query"))
    if query.q:
        rows = rows.filter(filename__icontains=query.q)
    if query.extracted is not None:
        rows = rows.filter(primary__isnull=not query.extracted)
    rows = rows.filter(pk__in=_scoped(query)) if query.type or query.collection or query.folder else rows
    rows = rows.order_by("-added_at", "-file_id")
    page = list(after(rows, query.cursor, "file_id", "added_at")[: query.limit + 1])
    more = len(page) > query.limit
    page = page[: query.limit]
    next_cursor = cursor(page[-1].added_at, page[-1].pk) if more else None
    return reply({"items": [shapes.listed(row) for row in page], "next_cursor": next_cursor})


def _scoped(query: schemas.ObjectsQuery) -> QuerySet:
    scope = Scope(
        types=(query.type,) if query.type else (), collection=query.collection or "", folder=query.folder or ""
    )
    try:
        return scopes.in_scope(scope).values("pk")
    except BadRequest as error:
        raise wrong(error, "query") from None


@router.get("/{file_id}", response={200: schemas.ObjectDetailOut, **problems(404)}, summary="One document")
def one(request: ApiRequest, file_id: str) -> HttpResponse:
    """What it is, what each kind of output stands at, and its enrichments."""
    row = find_document(request, file_id)
    return reply(
        {
            "file_id": row.pk,
            "meta": shapes.meta(row),
            "processing": {"primary_id": row.primary_id, "steps": shown.processing(row)},
            "enrichments": _outputs(row, OutputKind.ENRICHMENT),
        }
    )


@router.get(
    "/{file_id}/manifest", response={200: schemas.RowsOut, **problems(404, 503)}, summary="Manifest of a version"
)
def manifest(request: ApiRequest, file_id: str, query: Query[schemas.RowsQuery]) -> HttpResponse:
    """Segments and artifacts with their spans in the text, in order."""
    row = find_document(request, file_id)
    extraction_id = _version(row, query.extraction_id)
    with told():
        rows = selectors.version_manifest(row.pk, extraction_id)
        found = list(islice(rows, query.offset, query.offset + query.limit + 1))
    next_offset = query.offset + query.limit if len(found) > query.limit else None
    body = {"file_id": row.pk, "extraction_id": extraction_id, "rows": found[: query.limit]}
    return reply(body | {"next_offset": next_offset})


@router.get("/{file_id}/texts", response={200: schemas.TextOut, **problems(404, 503)}, summary="Text of a version")
def texts(request: ApiRequest, file_id: str, query: Query[schemas.TextQuery]) -> HttpResponse:
    """Of the primary, or of the version that is named; spans count its characters."""
    row = find_document(request, file_id)
    extraction_id = _version(row, query.extraction_id)
    with told():
        text = selectors.version_text(row.pk, extraction_id)
    piece = text[query.offset : query.offset + query.limit]
    start_at = min(query.offset, len(text))
    return reply(
        {
            "file_id": row.pk,
            "extraction_id": extraction_id,
            "text": piece,
            "char_start": start_at,
            "char_end": start_at + len(piece),
            "total_chars": len(text),
        }
    )


@router.get("/{file_id}/syntheses", response={200: schemas.SynthesesOut, **problems(404)}, summary="Syntheses")
def syntheses(request: ApiRequest, file_id: str) -> HttpResponse:
    """Newest first, each current, or stale and why; those of former primaries too."""
    row = find_document(request, file_id)
    return reply({"file_id": row.pk, "syntheses": _outputs(row, OutputKind.SYNTHESIS)})


def _outputs(row: Document, kind: str) -> list[dict[str, Any]]:
    found = list(Output.objects.filter(document=row, kind=kind).order_by("-created_at", "-id")[:200])
    states = shown.states(row, found)
    return [shapes.output(one, states[one.pk]) for one in found]


@router.get("/{file_id}/source", response=problems(404, 503), openapi_extra=BYTES, summary="The file itself")
def source(request: ApiRequest, file_id: str) -> HttpResponse:
    """The bytes as they came, to be saved and not to be shown."""
    row = find_document(request, file_id)
    with told():
        path = library_store().source_path(row.pk)
    if path is None:
        raise Problem(404, f"The bytes of {row.pk} are not in the store: add the file again.")
    return _file(path, row.filename, row.mime)


def _file(path: Path, name: str, mime: str) -> HttpResponse:
    try:
        response = FileResponse(path.open("rb"), as_attachment=True, filename=as_download(name), content_type=mime)
    except OSError:
        raise Problem(404, f"{name} is not on the disk.") from None
    for header, value in SAFE_HEADERS.items():
        response[header] = value
    return response


@router.get(
    "/{file_id}/extractions",
    response={200: schemas.ExtractionsOut, **problems(404, 503)},
    summary="Versions of the text",
)
def extractions(request: ApiRequest, file_id: str) -> HttpResponse:
    """Newest first; failed ones with their reason."""
    row = find_document(request, file_id)
    with told():
        return reply(selectors.extractions(row.pk))


@router.post(
    "/{file_id}/extractions",
    response={202: schemas.ProcessingRunOut, **problems(403, 404, 409, body=True)},
    summary="Upgrade extraction",
    openapi_extra=FOR_STAFF,
)
def extract(request: ApiRequest, file_id: str, body: schemas.ExtractionIn) -> HttpResponse:
    """A run of this document alone; `GET /api/runs/{id}` tells how far it is. 409 when this extractor has made a version
    already, and `force` is not set."""
    staff_only(request)
    row = find_document(request, file_id)
    fields = {
        "scope": {"file_ids": [row.pk]},
        "run_extraction": True,
        "extract_mode": REPROCESS,
        "extractor_name": body.extractor_name,
        "extraction_policy": body.extraction_policy,
        "force": body.force,
    }
    run, _ = start(request, asked(fields))
    return reply(shapes.run(run, progress.of(run)), 202)


@router.post(
    "/{file_id}/extractions/{extraction_id}/primary",
    response={200: schemas.PromotedOut, **problems(403, 404, 409, 503, body=True)},
    summary="Make a version primary",
    openapi_extra=FOR_STAFF,
)
def promote(
    request: ApiRequest,
    file_id: str,
    extraction_id: str,
    body: schemas.PrimaryIn = schemas.PrimaryIn(),  # noqa: B008
) -> HttpResponse:
    """409 when the primary is not the one that was seen, or the version failed or is damaged."""
    staff_only(request)
    row = find_document(request, file_id)
    expected = body.expected_primary_id if "expected_primary_id" in body.model_fields_set else ...
    with told():
        promotion = services.promote(
            row.pk, extraction_id, actor=actor(request), reason=body.reason, expected_primary=expected
        )
    changed = row.primary_id != extraction_id
    left = Output.objects.filter(document=row, source_extraction=promotion.before_id, status="succeeded")
    return reply(
        {
            "file_id": row.pk,
            "primary_id": extraction_id,
            "before_id": promotion.before_id,
            "changed": changed,
            "actor": promotion.actor,
            "reason": promotion.reason,
            "created_at": moment(promotion.created_at),
            "stale_outputs": left.count() if changed else 0,
        }
    )


@router.get(
    "/{file_id}/extractions/{extraction_id}/artifacts",
    response={200: schemas.ArtifactsOut, **problems(404, 503)},
    summary="Artifacts of a version",
)
def artifacts(request: ApiRequest, file_id: str, extraction_id: str) -> HttpResponse:
    """Tables, images and what else the extractor kept beside the text."""
    row = find_document(request, file_id)
    version = _version(row, extraction_id)
    with told():
        found = [
            {"name": name, "size_bytes": size, "mime": mimetypes.guess_type(name)[0] or "application/octet-stream"}
            for name, size in selectors.version_artifacts(row.pk, version)
        ]
    return reply({"file_id": row.pk, "extraction_id": extraction_id, "artifacts": found})


@router.get(
    "/{file_id}/extractions/{extraction_id}/artifacts/{path:name}",
    response=problems(404, 503),
    openapi_extra=BYTES,
    summary="One artifact",
)
def artifact(request: ApiRequest, file_id: str, extraction_id: str, name: str) -> HttpResponse:
    """Its bytes, to be saved and not to be shown."""
    row = find_document(request, file_id)
    version = _version(row, extraction_id)
    with told():
        path = selectors.version_artifact(row.pk, version, name)
    return _file(path, path.name, mimetypes.guess_type(path.name)[0] or "application/octet-stream")


def _version(row: Document, extraction_id: str | None) -> str:
    """The id of a succeeded version of the document: the one that is named, or the primary. Raises Problem 404."""
    if extraction_id is None:
        if row.primary_id is None:
            raise Problem(404, f"{row.pk} has no text in force.")
        return row.primary_id
    succeeded = ExtractionVersion.Status.SUCCEEDED
    if "\0" in extraction_id or not row.versions.filter(pk=extraction_id, status=succeeded).exists():
        raise Problem(404, f"{row.pk} has no version {extraction_id!r} with a text.")
    return extraction_id


def _sentence(error: DocumentError) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."
