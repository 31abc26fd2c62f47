"""From disk to database: documents and versions that only the store knows.

That is a lost database, a crash between moving a bundle and recording it, or an object from before versions. Where
the database already has the document, what is found is added beside; where it had none, index.json decides which
version is primary.
"""

import json
import posixpath
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import transaction

from coverage.services import get_or_create_learner

from ..models import Document, DocumentSource, ExtractionVersion
from . import files, media, validation
from .bundle import ARTIFACTS, MANIFEST, PROVENANCE, TEXT
from .errors import ExtractionFailed
from .ids import check_file_id, is_extraction_id, is_file_id, legacy_extraction_id, time_of
from .mirror import Difference
from .promotion import lock_document, move_primary
from .sources import shown
from .store import DATA_ROOT, META, ROOT, Store, from_utc

ACTOR = "reconcile"
LEGACY_MANIFEST = b""
LEGACY_PROVENANCE = {
    "provenance": {"pipeline_version": "unknown", "status": "legacy"},
    "extractor": {"name": "unknown", "version": "unknown"},
}


def register_document(store: Store, file_id: str, *, dry_run: bool) -> Iterator[Difference]:
    """Give an object on disk its row, from meta.toml and the kept bytes; one that has a row keeps it."""
    if Document.objects.filter(pk=file_id).exists():
        return
    try:
        document = read_document(store, file_id)
    except ValueError as error:
        yield Difference(file_id, f"is on disk only and cannot be registered: {error}", healed=False)
        return
    if not dry_run:
        Document.objects.get_or_create(pk=file_id, defaults=_columns(document))
    yield Difference(file_id, f"{document.filename} is on disk and not in the database", healed=True)


def read_document(store: Store, file_id: str) -> Document:
    """An unsaved row for the object on disk. Raises ValueError when it is not what its name says."""
    source = store.source_path(file_id)
    if source is not None and f"sha256-{files.sha256_of(source)}" != file_id:
        raise ValueError("its source has other bytes than its id names")
    described = _table(files.read_toml(store.object_dir(file_id) / META), "file")
    filename = _text(described.get("filename")) or (source.name if source else "")
    if not filename:
        raise ValueError(f"it has neither a usable {META} nor its source")
    size = described.get("size_bytes")
    return Document(
        file_id=file_id,
        filename=filename[:500],
        mime=_text(described.get("mime"))[:200] or media.media_type(filename, b""),
        size_bytes=source.stat().st_size if source else size if type(size) is int and size >= 0 else 0,
    )


def _columns(document: Document) -> dict[str, Any]:
    return {name: getattr(document, name) for name in ("filename", "mime", "size_bytes")}


def _table(data: object, key: str) -> dict[str, Any]:
    """The table ``key`` of a file that anyone may have written, or an empty one."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _entries(data: object, key: str) -> list[dict[str, Any]]:
    value = data.get(key) if isinstance(data, dict) else None
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """A string that a database column takes, or ""."""
    return value if isinstance(value, str) and "\0" not in value else ""


def restore_sources(store: Store, document: Document) -> None:
    """Sources and learner of a document that was just registered, from meta.toml."""
    table = files.read_toml(store.object_dir(document.pk) / META)
    learner = _text(_table(table, "learner").get("name"))
    if learner and document.learner_id is None:
        document.learner = get_or_create_learner(learner[:200])
        document.save(update_fields=("learner",))
    relative = _text(_table(table, "file").get("source_relpath"))
    first = [{"path": posixpath.join(_data_root(store), relative)}] if relative else []
    for entry in _entries(table, "sources") or first:
        path = _text(entry.get("path"))
        if path:
            DocumentSource.objects.get_or_create(
                document=document,
                path=path,
                defaults={
                    "modified_at": from_utc(entry.get("mtime_utc")),
                    "replaces_id": _replaced(store, entry.get("replaces")),
                },
            )


def _data_root(store: Store) -> str:
    """What source_relpath counts from, where meta.toml names no whole paths: a store of another origin has its own."""
    root = _text((files.read_toml(store.root / ROOT) or {}).get("data_root"))
    return root if root.startswith("/") else DATA_ROOT


def _replaced(store: Store, file_id: object) -> str | None:
    """The document a source replaces, given a row now if it has none yet; its own sources follow in its turn."""
    if not isinstance(file_id, str) or not is_file_id(file_id):
        return None
    if Document.objects.filter(pk=file_id).exists():
        return file_id
    registered = list(register_document(store, file_id, dry_run=False)) if store.has_object(file_id) else []
    return file_id if any(difference.healed for difference in registered) else None


def adopt_versions(store: Store, document: Document, *, dry_run: bool) -> Iterator[Difference]:
    """Record validated versions that lie in the document's folder and have no row."""
    file_id = document.pk
    known = dict(document.versions.values_list("pk", "status"))
    for name in store.version_names(file_id):
        if name in known:
            if known[name] == ExtractionVersion.Status.FAILED:
                yield Difference(file_id, f"extractions/{name} has files, but that extraction failed", healed=False)
            continue
        try:
            version = _read_version(store, file_id, name)
        except (ExtractionFailed, ValueError) as error:
            yield Difference(
                file_id, f"extractions/{shown(name)} is not a version that can be registered: {error}", healed=False
            )
            continue
        if not dry_run:
            version.save(force_insert=True)
        yield Difference(file_id, f"version {name} is on disk and not in the database", healed=True)


def _read_version(store: Store, file_id: str, name: str) -> ExtractionVersion:
    """An unsaved row for the version on disk, validated. Raises ExtractionFailed or ValueError."""
    if not is_extraction_id(name):
        raise ValueError("its name is not an extraction id")
    if ExtractionVersion.objects.filter(pk=name).exists():
        raise ValueError("another document has a version of this id")
    bundle = store.version_dir(file_id, name)
    summary = validation.validate(bundle)
    listed = _listed(store, file_id, name).get("text_sha256")
    if isinstance(listed, str) and listed != summary.text_sha256:
        raise ValueError("its text is not the one that index.json lists")
    provenance = files.read_toml(bundle / PROVENANCE)
    extractor = _table(provenance, "extractor")
    return ExtractionVersion(
        id=name,
        document_id=file_id,
        extractor=_text(extractor.get("name"))[:80] or "unknown",
        extractor_version=_text(extractor.get("version"))[:40] or "unknown",
        options=json.loads(json.dumps(_table(provenance, "config"), default=str).replace("\\u0000", "")),
        status=ExtractionVersion.Status.SUCCEEDED,
        created_at=_made_at(store, file_id, name),
        **summary.to_dict(),
    )


def _made_at(store: Store, file_id: str, name: str) -> datetime:
    bundle = store.version_dir(file_id, name)
    generated = _table(files.read_toml(bundle / PROVENANCE), "provenance").get("generated_utc")
    found = from_utc(_listed(store, file_id, name).get("created_utc")) or from_utc(generated) or time_of(name)
    return found or datetime.fromtimestamp((bundle / TEXT).stat().st_mtime, UTC)


def _listed(store: Store, file_id: str, name: str) -> dict[str, Any]:
    """What index.json says of a version; empty where it does not know it."""
    variants = _entries(_index(store, file_id), "variants")
    return next((variant for variant in variants if variant.get("id") == name), {})


def _index(store: Store, file_id: str) -> dict[str, Any]:
    return files.read_json(store.index_path(file_id)) or {}


def register_legacy(store: Store, file_id: str, *, dry_run: bool) -> Iterator[Difference]:
    """Move an object from before versions into a legacy-* version of its own; its mirrors stay as they are."""
    if not store.is_unversioned(file_id):
        return
    directory = store.object_dir(file_id)
    try:
        with store.temporary() as temporary:
            bundle = temporary / "bundle"
            _copy_legacy(directory, bundle)
            summary = validation.validate(bundle)
            name = _table(files.read_toml(bundle / PROVENANCE), "extractor").get("name")
            extraction_id = legacy_extraction_id(_text(name), summary.text_sha256)
            if not dry_run and extraction_id not in store.version_names(file_id):
                store.place_version(file_id, extraction_id, bundle)
    except ExtractionFailed as error:
        yield Difference(file_id, f"has a text from before versions that cannot be registered: {error}", healed=False)
        return
    yield Difference(file_id, f"is from before versions: its text becomes {extraction_id}", healed=True)


def _copy_legacy(directory: Path, bundle: Path) -> None:
    bundle.mkdir()
    shutil.copyfile(directory / TEXT, bundle / TEXT)
    for name, default in ((MANIFEST, LEGACY_MANIFEST), (PROVENANCE, files.to_toml(LEGACY_PROVENANCE))):
        if (directory / name).is_file():
            shutil.copyfile(directory / name, bundle / name)
        else:
            (bundle / name).write_bytes(default)
    if (directory / ARTIFACTS).is_dir():
        shutil.copytree(directory / ARTIFACTS, bundle / ARTIFACTS, symlinks=True)
    (bundle / ARTIFACTS).mkdir(exist_ok=True)


def choose_primary(store: Store, file_id: str) -> None:
    """Set the primary of a document that the database did not know: index.json decides, else the mirrored text."""
    wanted = _index(store, check_file_id(file_id)).get("primary_id")
    with transaction.atomic():
        document = lock_document(file_id)
        versions = document.versions.filter(status=ExtractionVersion.Status.SUCCEEDED)
        version = versions.filter(pk=wanted).first() if isinstance(wanted, str) else None
        mirror = store.object_dir(file_id) / TEXT
        if version is None and mirror.is_file():
            version = versions.filter(text_sha256=files.sha256_of(mirror)).first()
        if version is not None and document.primary_id is None:
            move_primary(document, version, ACTOR, "found in the store")
