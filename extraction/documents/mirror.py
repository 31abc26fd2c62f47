"""Brings a document's files on disk up to the database: meta.toml, index.json, the compatibility mirrors.

The database decides; these files are for people, for other tools, and for the day when the database is lost.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..models import Document, ExtractionVersion
from . import files
from .bundle import MANIFEST, PROVENANCE, TEXT
from .store import DATA_ROOT, META, Store, utc

MIRRORED = (TEXT, MANIFEST, PROVENANCE)


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement between disk and database. ``healed`` tells whether it is gone now (or would be)."""

    subject: str
    what: str
    healed: bool

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}"

    def to_dict(self) -> dict[str, str | bool]:
        return asdict(self)


FURTHER: list[Callable[..., Iterator[Difference]]] = []
"""What higher apps mirror of a document, called as ``further(store, file_id, write=…)`` under its lock by `reconcile`."""


def meta(document: Document) -> dict[str, Any]:
    """meta.toml of a document, from its row and its sources."""
    sources = [
        {"path": source.path}
        | ({"mtime_utc": utc(source.modified_at)} if source.modified_at else {})
        | ({"replaces": source.replaces_id} if source.replaces_id else {})
        for source in document.sources.order_by("seen_at", "id")
    ]
    table = meta_table(document, sources)
    if document.learner is not None:
        table["learner"] = {"name": document.learner.name}
    return table


def meta_table(document: Document, sources: list[dict[str, str]]) -> dict[str, Any]:
    """The same for a row that need not be saved yet; ``sources`` = [{path, mtime_utc, replaces}], first seen first."""
    first = sources[0] if sources else {"path": document.filename}
    table: dict[str, dict[str, Any]] = {
        "file": {
            "source_relpath": first["path"].removeprefix(DATA_ROOT),
            "filename": document.filename,
            "mime": document.mime,
            "size_bytes": document.size_bytes,
        },
        "hash": {"sha256": document.file_id.removeprefix("sha256-")},
    }
    if "mtime_utc" in first:
        table["file"]["mtime_utc"] = first["mtime_utc"]
    return table | {"sources": sources}


def index(document: Document) -> dict[str, Any]:
    """index.json of a document: the primary pointer and a summary of each version that has files."""
    return {
        "primary_id": document.primary_id,
        "variants": [
            {
                "id": version.pk,
                "created_utc": utc(version.created_at),
                "extractor": {"name": version.extractor, "version": version.extractor_version},
                "status": version.status,
                "text_sha256": version.text_sha256,
                "text_chars": version.text_chars,
                "manifest_records": version.manifest_records,
            }
            for version in succeeded(document)
        ],
    }


def succeeded(document: Document) -> list[ExtractionVersion]:
    """The versions that have files, oldest first."""
    return list(document.versions.filter(status=ExtractionVersion.Status.SUCCEEDED).order_by("created_at", "id"))


def sync(store: Store, file_id: str, *, write: bool = True) -> Iterator[Difference]:
    """Rewrite what differs from the database's committed state; the caller holds the document's lock.

    index.json goes first: it names the primary, and a reader who follows it into the version's own folder is right
    at every moment. With ``write=False`` only says what differs.
    """
    document = Document.objects.select_related("learner", "primary").get(pk=file_id)
    directory = store.object_dir(file_id)
    versions = index(document)
    wanted_files = {directory / META: files.to_toml(meta(document))}
    if versions["variants"] or store.index_path(file_id).exists():  # else nothing was extracted yet
        wanted_files = {store.index_path(file_id): files.to_json(versions), **wanted_files}
    for path, wanted in wanted_files.items():
        if not path.exists() or path.read_bytes() != wanted:
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                files.replace(path, wanted, store.scratch)
            yield Difference(file_id, f"{path.relative_to(directory)} differs from the database", healed=True)
    yield from _sync_mirrors(store, document, write=write)


def _sync_mirrors(store: Store, document: Document, *, write: bool) -> Iterator[Difference]:
    directory = store.object_dir(document.pk)
    if document.primary is None:
        if _is_only_copy(document, directory / TEXT):
            what = f"{TEXT} is a text that no version has; it stays where it is until one is primary"
            yield Difference(document.pk, what, healed=False)
            return
        for path in (directory / name for name in MIRRORED):
            if path.exists():
                if write:
                    path.unlink()
                yield Difference(document.pk, f"{path.name} mirrors a version, but none is primary", healed=True)
        return
    version = store.version_dir(document.pk, document.primary.pk)
    for name in MIRRORED:
        source, mirror = version / name, directory / name
        if not _is_sound(source, document.primary):
            yield Difference(document.pk, f"{source.relative_to(directory)} is missing or damaged", healed=False)
        elif not _same(source, mirror):
            if write:
                files.replace_by_copy(mirror, source, store.scratch)
            yield Difference(document.pk, f"{name} is not that of the primary version", healed=True)


def _is_only_copy(document: Document, mirror: Path) -> bool:
    """Whether it may be all that is left of a version whose own files were lost or changed together with the database."""
    known = {version.text_sha256 for version in succeeded(document)}
    return mirror.is_file() and files.sha256_of(mirror) not in known


def _is_sound(path: Path, version: ExtractionVersion) -> bool:
    """Whether the version's own file may be mirrored: a damaged text must not replace a good mirror."""
    return path.is_file() and (path.name != TEXT or files.sha256_of(path) == version.text_sha256)


def _same(one: Path, other: Path) -> bool:
    """Whether both files hold the same bytes."""
    if not other.is_file() or one.stat().st_size != other.stat().st_size:
        return False
    return files.sha256_of(one) == files.sha256_of(other)
