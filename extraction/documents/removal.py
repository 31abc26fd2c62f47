"""Removing a document, or old versions of one: only on request, recorded, and whole whatever happens meanwhile.

A mark in the document's folder names the record that will be written; then one transaction deletes the rows and writes
it; then the files go. Whoever meets the mark later (reconcile, the next add) looks for the record: with it the files
still have to go, without it nothing happened and only the mark does.
"""

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import NullIf

from coverage.guards import allow_erase
from coverage.ids import new_id
from coverage.models import Learner
from graphctx import links
from graphctx.models import Instance

from .. import erasure
from ..models import Document, DocumentSource, ExtractionVersion, Removal
from . import files, mirror
from .errors import RemovalRefused, StoreError, UnknownDocument
from .ids import check_file_id, is_extraction_id
from .mirror import Difference
from .needs import needed_versions
from .promotion import lock_document
from .store import REMOVING, Store, library_store
from .strays import output_files

ERASED_NAME = "(erased)"


def remove_document(file_id: str, actor: str, reason: str = "", *, name_it: bool = True) -> Removal:
    """Erase a document for good: its bytes, versions, outputs, promotions, and the evidence read from it.

    Propositions that have no other evidence go too. Without ``name_it`` the record says nothing of its name, for the
    erasure of a learner. Raises UnknownDocument, StoreError; then nothing was removed.
    """
    store = library_store()

    def erase(identity: UUID) -> Removal:
        document = lock_document(file_id)
        versions = list(document.versions.order_by("created_at", "id").values_list("pk", flat=True))
        removal = _record(identity, Removal.What.DOCUMENT, document, versions, actor, reason)
        removal.filename = removal.filename if name_it else ERASED_NAME
        allow_erase()
        evidence = _erase_evidence(Instance.objects.filter(document_id=file_id))
        removal.counts = {"sources": document.sources.count(), **_delete_document(document), **evidence}
        removal.save(force_insert=True)
        return removal

    with store.removals(), store.changing(check_file_id(file_id)):
        return _carry_out(store, file_id, None, erase)


def remove_versions(
    file_id: str, extraction_ids: Collection[str], actor: str, reason: str = "", *, even_needed: bool = False
) -> Removal:
    """Remove versions of a document with their files and the outputs made from them; the others stay as they are.

    The primary is never removed; a version that is needed (see `needs`) only with ``even_needed``. Evidence that was
    first read in a removed version stays: it stands or falls with the text in force. Raises UnknownDocument,
    RemovalRefused, StoreError; then nothing was removed.
    """
    store = library_store()

    def erase(identity: UUID) -> Removal:
        document = lock_document(file_id)
        versions = _removable(document, extraction_ids, even_needed=even_needed)
        ids = [version.pk for version in versions]
        removal = _record(identity, Removal.What.VERSIONS, document, ids, actor, reason)
        allow_erase()
        removal.counts = _counts(ExtractionVersion.objects.filter(pk__in=ids).delete()[1])
        removal.save(force_insert=True)
        return removal

    with store.removals(), store.changing(check_file_id(file_id)):
        removal = _carry_out(store, file_id, list(extraction_ids), erase)
        for _ in mirror.sync(store, file_id):
            pass
    return removal


def finish_removal(store: Store, file_id: str) -> None:
    """Bring a removal that was interrupted to its end; the caller holds the document's lock."""
    for _ in settle(store, file_id, dry_run=False):
        pass


def _told(mark: Path) -> dict[str, Any]:
    """What the mark says; {} where it was cut off. Raises StoreError where it cannot be read now: a removal that is on
    record would be taken for one that is not, and its document come back."""
    try:
        told = json.loads(mark.read_bytes())
    except (ValueError, RecursionError):
        return {}
    except OSError as error:
        raise StoreError("store_unusable", f"{mark} cannot be read: {error.strerror}") from error
    return told if isinstance(told, dict) else {}


def settle(store: Store, file_id: str, *, dry_run: bool) -> Iterator[Difference]:
    """The same, saying what it does."""
    mark = store.object_dir(file_id) / REMOVING
    if not mark.is_file():
        return
    told = _told(mark)
    if _is_recorded(told.get("removal"), file_id):
        yield Difference(file_id, "files of what was removed are still there", healed=True)
        if not dry_run:
            _remove_files(store, file_id, told.get("versions"))
    else:
        yield Difference(file_id, "a removal was begun and not carried out", healed=True)
        if not dry_run:
            store.discard(mark)


def is_removed(store: Store, file_id: str) -> bool:
    """Whether what is left on disk of a document is that of a recorded removal (a dry run leaves it)."""
    mark = store.object_dir(file_id) / REMOVING
    told = _told(mark) if mark.is_file() else {}
    return told.get("versions") is None and _is_recorded(told.get("removal"), file_id)


def _carry_out(store: Store, file_id: str, versions: list[str] | None, erase: Callable[[UUID], Removal]) -> Removal:
    """Mark, delete the rows, remove the files. ``versions`` None is the whole document."""
    finish_removal(store, file_id)
    identity = new_id()
    directory = store.object_dir(file_id)
    if not Document.objects.filter(pk=file_id).exists():
        raise UnknownDocument(file_id)
    if directory.is_dir():
        _mark(store, directory / REMOVING, {"removal": str(identity), "versions": versions})
    try:
        with transaction.atomic(durable=True):
            removal = erase(identity)
    except BaseException:
        # The commit itself may have been what was interrupted: the database says what happened.
        with contextlib.suppress(DatabaseError):
            finish_removal(store, file_id)
        raise
    finish_removal(store, file_id)
    return removal


def _mark(store: Store, path: Path, told: dict[str, Any]) -> None:
    try:
        files.replace(path, files.to_json(told), store.scratch)
    except OSError as error:
        raise StoreError("store_unusable", f"the store {store.root} cannot be written: {error.strerror}") from error


def _erase_evidence(evidence: Any) -> dict[str, int]:
    """Delete instances, and the propositions that have no others; says how many."""
    touched = set(evidence.values_list("proposition", flat=True))
    learners = set(evidence.values_list("proposition__learner", flat=True))
    replaced = links.below(touched)
    instances = evidence.delete()[1].get(Instance._meta.label, 0)
    removed, forgotten = erasure.remove_bare(touched, "the proposition it was merged into was erased with its document")
    links.refresh_states(touched | replaced)
    Learner.objects.filter(pk__in=learners).update(graph_revision=F("graph_revision") + 1)
    return {"instances": instances, "propositions": len(removed), "forgotten": len(forgotten)}


def _delete_document(document: Document) -> dict[str, int]:
    document.primary = None  # the pointer protects its version
    document.save(update_fields=("primary",))
    # What came in its place under a path came in the place of what it had replaced there itself.
    before = DocumentSource.objects.filter(document=document, path=OuterRef("path")).values("replaces")
    followers = DocumentSource.objects.filter(replaces=document)
    followers.update(replaces=NullIf(Subquery(before), F("document")))
    return _counts(document.delete()[1])


def _counts(deleted: dict[str, int]) -> dict[str, int]:
    """What Django says it deleted, by plain words: {"versions": 2, "outputs": 3, …}."""
    names = {"extractionversion": "versions", "documentsource": "sources"}
    found: dict[str, int] = {}
    for label, count in deleted.items():
        model = label.rpartition(".")[2].lower()
        if count:
            found[names.get(model, f"{model}s")] = count
    return found


def _removable(document: Document, extraction_ids: Iterable[str], *, even_needed: bool) -> list[ExtractionVersion]:
    """The versions, oldest first, checked under the document's lock."""
    wanted = set(extraction_ids)
    versions = list(document.versions.filter(pk__in=wanted).order_by("created_at", "id"))
    unknown = wanted.difference(version.pk for version in versions)
    if unknown or not wanted:
        raise RemovalRefused("unknown_version", f"{document.pk} has no version {', '.join(sorted(unknown)) or 'named'}")
    if document.primary_id in wanted:
        raise RemovalRefused("is_primary", f"{document.primary_id} is the primary: promote another version first")
    needed = {} if even_needed else needed_versions(ExtractionVersion.objects.filter(pk__in=wanted))
    if needed:
        why = "; ".join(f"{pk} {reason}" for pk, reason in sorted(needed.items()))
        raise RemovalRefused("is_needed", f"{why}: say that even needed versions are to go")
    return versions


def _record(identity: UUID, what: str, document: Document, versions: list[str], actor: str, reason: str) -> Removal:
    return Removal(
        id=identity,
        what=what,
        file_id=document.pk,
        filename=document.filename,
        versions=versions,
        actor=actor,
        reason=reason,
    )


def _is_recorded(identity: object, file_id: str) -> bool:
    try:
        return Removal.objects.filter(pk=UUID(str(identity)), file_id=file_id).exists()
    except ValueError:
        return False


def _remove_files(store: Store, file_id: str, versions: object) -> None:
    directory = store.object_dir(file_id)
    if not isinstance(versions, list):
        store.discard(directory)
        return
    for extraction_id in versions:
        if isinstance(extraction_id, str) and is_extraction_id(extraction_id):
            store.discard(store.version_dir(file_id, extraction_id))
            for path in list(output_files(directory, extraction_id)):
                store.discard(path)
    store.discard(directory / REMOVING)
