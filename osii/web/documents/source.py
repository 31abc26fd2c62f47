"""The Source tab: the kept bytes of a document, shown by the browser where that is safe and offered as a file elsewhere.

Whatever a file says of itself, it runs nothing here: its answer forbids scripts, forms, frames around it and guessing its type.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.http import FileResponse, Http404

from extraction.documents.errors import DocumentError
from extraction.documents.selectors import version_artifact
from extraction.documents.sources import as_download
from extraction.documents.store import library_store
from extraction.models import Document

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
TEXTS = frozenset({"application/json", "application/xml", "image/svg+xml", "message/rfc822", "application/x-yaml"})
PREVIEW_BYTES = 200_000
DOWNLOAD = "application/octet-stream"

LOCKED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'; form-action 'none'; "
)
# A sandbox keeps a browser's own reader of PDF files from starting. That reader gives a file no access to this site.
POLICIES = {PDF: f"{LOCKED}object-src 'self'; base-uri 'none'", "": f"{LOCKED}sandbox; base-uri 'none'"}


@dataclass(frozen=True, slots=True)
class Preview:
    """How the tab shows the file: ``kind`` is image, pdf, text, other or missing; ``cut`` when the text goes on."""

    kind: str
    text: str = ""
    cut: bool = False
    size: int = 0


def preview(document: Document) -> Preview:
    path = kept(document)
    if path is None:
        return Preview("missing")
    size = path.stat().st_size
    if document.mime in IMAGES:
        return Preview("image", size=size)
    if document.mime == PDF:
        return Preview("pdf", size=size)
    if document.mime.startswith("text/") or document.mime in TEXTS or document.mime.endswith(("+xml", "+json")):
        text = _beginning(path)
        return Preview("text", text, size > PREVIEW_BYTES, size) if text is not None else Preview("other", size=size)
    return Preview("other", size=size)


def kept(document: Document) -> Path | None:
    with suppress(DocumentError, OSError):
        return library_store().source_path(document.pk)
    return None


def _beginning(path: Path) -> str | None:
    """The first characters as text, or None when the bytes are none."""
    try:
        with path.open("rb") as file:
            head = file.read(PREVIEW_BYTES)
    except OSError:
        return None
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace")
    return None if b"\0" in head else head.decode("utf-8-sig", "replace")


def answer(document: Document, *, download: bool) -> FileResponse:
    """The bytes as they are. Only images and PDF keep their type, and only to be looked at. Raises Http404."""
    path = kept(document)
    if path is None:
        raise Http404("The bytes of this document are missing in the store.")
    shown = not download and (document.mime in IMAGES or document.mime == PDF)
    try:
        file = path.open("rb")
    except OSError as error:
        raise Http404("The bytes of this document cannot be read.") from error
    response = FileResponse(
        file,
        as_attachment=not shown,
        filename=as_download(document.filename),
        content_type=document.mime if shown else DOWNLOAD,
    )
    return _locked(response, POLICIES[document.mime if shown and document.mime == PDF else ""])


def artifact(document: Document, extraction_id: str, name: str) -> FileResponse:
    """What an extractor kept beside a version's text, as a download. Raises Http404."""
    try:
        path = version_artifact(document.pk, extraction_id, name)
        file = path.open("rb")
    except (DocumentError, OSError) as error:
        raise Http404("There is no such artifact.") from error
    return _locked(FileResponse(file, as_attachment=True, filename=path.name, content_type=DOWNLOAD), POLICIES[""])


def _locked(response: FileResponse, policy: str) -> FileResponse:
    response.headers["Content-Security-Policy"] = policy
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
