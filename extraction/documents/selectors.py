"""Reading documents: texts, manifests, versions."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from ..models import Document, DocumentSource, ExtractionVersion
from . import validation
from .bundle import ARTIFACTS, MANIFEST, PROVENANCE, TEXT
from .errors import ExtractionFailed, StoreError, UnknownVersion
from .ids import check_extraction_id
from .store import library_store, utc
from .versions import find_document

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def primary_text(file_id: str) -> str:
    """The text in force. Raises UnknownDocument; UnknownVersion when no version is primary; StoreError."""
    document = find_document(library_store(), file_id)
    if document.primary_id is None:
        raise UnknownVersion("no_primary", f"{file_id} has no primary version")
    return _read(file_id, document.primary_id, TEXT)


def version_text(file_id: str, extraction_id: str) -> str:
    """The text of one version; spans of its manifest count its characters. Raises UnknownVersion, StoreError."""
    return _read(file_id, _succeeded(file_id, extraction_id).pk, TEXT)


def version_provenance(file_id: str, extraction_id: str) -> str:
    """provenance.toml of one version, as text."""
    return _read(file_id, _succeeded(file_id, extraction_id).pk, PROVENANCE)


def version_manifest(file_id: str, extraction_id: str) -> Iterator[dict[str, Any]]:
    """The manifest rows of one version, in order."""
    version = _succeeded(file_id, extraction_id)
    path = library_store().version_dir(file_id, version.pk) / MANIFEST
    if not path.is_file():
        raise StoreError("version_damaged", f"{MANIFEST} of {extraction_id} is missing on disk")
    return _sound(path, extraction_id)


def extractions(file_id: str) -> dict[str, Any]:
    """{file_id, primary_id, variants}: every version, newest first, failed ones with their reason.

    Paths are relative to the store, and null where a failed version has no files.
    """
    store = library_store()
    document = find_document(store, file_id)
    return {
        "file_id": file_id,
        "primary_id": document.primary_id,
        "variants": [_variant(version, document.primary_id) for version in document.versions.all()],
    }


def replaced() -> Q:
    """On documents: every path that the document was seen under names a newer document by now."""
    later = DocumentSource.objects.filter(path=OuterRef("path"), seen_at__gt=OuterRef("seen_at")).exclude(
        document=OuterRef("document")
    )
    own = DocumentSource.objects.filter(document=OuterRef("pk"))
    return Exists(own.filter(Exists(later))) & ~Exists(own.filter(~Exists(later)))


def source_changed() -> QuerySet[Document]:
    """Documents whose source file changed: what they were read from now holds another document."""
    return Document.objects.filter(replaced())


def names_now(file_id: str) -> dict[str, str]:
    """{path: file_id} of every path that the document was seen under: the document that it names now. One query."""
    paths = DocumentSource.objects.filter(document=file_id).values("path")
    newest = DocumentSource.objects.filter(path__in=paths).order_by("path", "-seen_at", "-id").distinct("path")
    return dict(newest.values_list("path", "document"))


def known_files(folder: str) -> dict[str, tuple[int, int]]:
    """{path: (size in bytes, microseconds of the last change)} of files below ``folder`` whose newest document has a
    text in force: what need not be read again while the file is like that. One query."""
    below = DocumentSource.objects.filter(path__startswith=folder.rstrip("/") + "/", modified_at__isnull=False)
    newest = below.order_by("path", "-seen_at", "-id").distinct("path")
    rows = newest.values_list("path", "document__size_bytes", "modified_at", "document__primary")
    return {
        path: (size, (modified - EPOCH) // timedelta(microseconds=1))
        for path, size, modified, primary in rows.iterator()
        if primary is not None
    }


def _variant(version: ExtractionVersion, primary_id: str | None) -> dict[str, Any]:
    folder = f"objects/{version.document_id}/extractions/{version.pk}"
    has_files = version.status == ExtractionVersion.Status.SUCCEEDED
    return {
        "id": version.pk,
        "created_utc": utc(version.created_at),
        "extractor": {"name": version.extractor, "version": version.extractor_version},
        "options": version.options,
        "status": version.status,
        "error": version.error,
        "text_sha256": version.text_sha256,
        "text_chars": version.text_chars,
        "manifest_records": version.manifest_records,
        "primary": version.pk == primary_id,
        "text_path": f"{folder}/{TEXT}" if has_files else None,
        "manifest_path": f"{folder}/{MANIFEST}" if has_files else None,
        "provenance_path": f"{folder}/{PROVENANCE}" if has_files else None,
        "artifacts_path": f"{folder}/{ARTIFACTS}" if has_files else None,
    }


def version_artifacts(file_id: str, extraction_id: str) -> list[tuple[str, int]]:
    """(name, bytes) of what the extractor kept beside the text, by name. Raises UnknownVersion, StoreError."""
    return artifacts_of(_succeeded(file_id, extraction_id))


def artifacts_of(version: ExtractionVersion) -> list[tuple[str, int]]:
    """The same for a succeeded version's row; no query."""
    folder = _artifacts_dir(version)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [(path.relative_to(folder).as_posix(), path.stat().st_size) for path in files]


def version_artifact(file_id: str, extraction_id: str, name: str) -> Path:
    """One of them. Raises UnknownVersion, also for a name that is none of theirs; StoreError."""
    folder = _artifacts_dir(_succeeded(file_id, extraction_id))
    path = folder / name
    # os.path.isfile is false also for a name that no file can have
    if "\0" in name or not path.resolve().is_relative_to(folder.resolve()) or not os.path.isfile(path):  # noqa: PTH113
        raise UnknownVersion("unknown_artifact", f"{extraction_id} has no artifact of this name")
    return path


def _artifacts_dir(version: ExtractionVersion) -> Path:
    return library_store().version_dir(version.document_id, version.pk) / ARTIFACTS


def _succeeded(file_id: str, extraction_id: str) -> ExtractionVersion:
    version = find_document(library_store(), file_id).versions.filter(pk=check_extraction_id(extraction_id)).first()
    if version is None:
        raise UnknownVersion("unknown_version", f"{file_id} has no extraction version {extraction_id!r}")
    if version.status != ExtractionVersion.Status.SUCCEEDED:
        raise UnknownVersion("failed_version", f"{extraction_id} failed and has no text ({version.error})")
    return version


def _read(file_id: str, extraction_id: str, name: str) -> str:
    path = library_store().version_dir(file_id, extraction_id) / name
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise StoreError("version_damaged", f"{name} of {extraction_id} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StoreError("version_damaged", f"{name} of {extraction_id} is damaged: it is not UTF-8") from error


def _sound(path: Path, extraction_id: str) -> Iterator[dict[str, Any]]:
    """The rows of a manifest that passed validation once: what is no row now was damaged since."""
    try:
        yield from validation.rows(path)
    except ExtractionFailed as error:
        raise StoreError("version_damaged", f"{MANIFEST} of {extraction_id} is damaged: {error}") from error
    except OSError as error:
        raise StoreError(
            "version_damaged", f"{MANIFEST} of {extraction_id} cannot be read: {error.strerror}"
        ) from error
