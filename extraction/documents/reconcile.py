"""Finds and heals every disagreement between the store and the database.

Where the database has a document, it decides; where it has none, the disk does. Nothing is ever deleted but
unfinished work in tmp/, mirrors of a version that is not primary, and what a recorded removal left behind.
"""

import contextlib
from collections.abc import Callable, Iterator

from django.db import transaction

from ..models import Document, ExtractionVersion
from . import files, mirror, registration, removal, strays, validation
from .bundle import MANIFEST, PROVENANCE, TEXT
from .errors import ExtractionFailed, SourceRefused, StoreError
from .ids import check_file_id, file_id_of, is_legacy
from .mirror import Difference
from .sources import opened
from .store import GRACE_SECONDS, SOURCE, Store, library_store


def reconcile_document(file_id: str, *, dry_run: bool = False, deep: bool = True) -> list[Difference]:
    """Heal one document; returns what differed, in order. With ``dry_run`` nothing is written.

    ``deep`` also reads the source and the text of every version and compares their hashes.
    """
    check_file_id(file_id)
    store = library_store()
    with store.lock(file_id):
        return list(heal(store, file_id, dry_run=dry_run, deep=deep))


def all_documents() -> list[str]:
    """Ids of what the database or the store has, in the order in which `reconcile_all` goes through them."""
    in_database = set(Document.objects.values_list("pk", flat=True).iterator())
    return sorted(in_database.union(library_store().file_ids()))


def reconcile_all(
    *,
    dry_run: bool = False,
    deep: bool = True,
    grace: float = GRACE_SECONDS,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Difference]:
    """Heal every document, one at a time, and remove work that no living process owns; yields what differed.

    ``advance`` is called with the number of documents that are done since it was called last.
    """
    store = library_store()
    for file_id in all_documents():
        yield from _one_of_many(store, file_id, dry_run=dry_run, deep=deep)
        advance(1)
    yield from strays.beside(store)
    for path in store.leftovers(grace):
        if not dry_run:
            store.remove_leftover(path)
        yield Difference(f"tmp/{path.name}", "is left over from work that ended before its time", healed=True)


def _one_of_many(store: Store, file_id: str, *, dry_run: bool, deep: bool) -> list[Difference]:
    """As `reconcile_document`; what the files of one document refuse is told of it, and keeps no other one waiting."""
    found: list[Difference] = []
    try:
        with store.lock(file_id):
            found.extend(heal(store, file_id, dry_run=dry_run, deep=deep))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        what = f"its files cannot be read or written: {error.strerror}{where}"
        found.append(Difference(file_id, what, healed=False))
    except StoreError as error:
        found.append(Difference(file_id, str(error), healed=False))
    return found


def heal(store: Store, file_id: str, *, dry_run: bool = False, deep: bool = True) -> Iterator[Difference]:
    """The same for a caller who holds the document's lock; lazy, so it is to be run to its end."""
    yield from removal.settle(store, file_id, dry_run=dry_run)
    document = Document.objects.filter(pk=file_id).first()
    if document is None and (not store.has_object(file_id) or removal.is_removed(store, file_id)):
        return
    unread = False
    if document is None or _is_bare(document):
        yield from _from_disk(store, file_id, dry_run=dry_run)
        document = Document.objects.filter(pk=file_id).first()
        if document is None:
            return
    elif document.primary_id is None and store.is_unversioned(file_id):
        unread = dry_run
        yield from _from_before_versions(store, document, dry_run=dry_run)
    else:
        yield from registration.adopt_versions(store, document, dry_run=dry_run)
    yield from _check_source(store, document, dry_run=dry_run, deep=deep)
    for version in mirror.succeeded(document):
        yield from check_version(store, version, deep=deep)
    yield from strays.inside(store, document)
    if not unread:  # what a dry run left unregistered is said already
        yield from mirror.sync(store, file_id, write=not dry_run)
        for further in mirror.FURTHER:
            yield from further(store, file_id, write=not dry_run)


def _is_bare(document: Document) -> bool:
    """Intake writes a document with its first source: without any, the row was made from disk just now."""
    return not document.sources.exists() and not document.versions.exists()


def _from_disk(store: Store, file_id: str, *, dry_run: bool) -> list[Difference]:
    """Give the database what the disk has of a document that it does not know: all of it or nothing, in one
    transaction, so that whoever is interrupted begins again and index.json still decides which version is primary."""
    with transaction.atomic():
        found = list(registration.register_document(store, file_id, dry_run=dry_run))
        document = Document.objects.filter(pk=file_id).first()
        if document is None:
            return found
        if not dry_run:
            registration.restore_sources(store, document)
        if store.is_unversioned(file_id):
            found += registration.register_legacy(store, file_id, dry_run=dry_run)
        found += registration.adopt_versions(store, document, dry_run=dry_run)
        if not dry_run:
            registration.choose_primary(store, file_id)
    return found


def _from_before_versions(store: Store, document: Document, *, dry_run: bool) -> list[Difference]:
    """The text of a known document becomes a version, and the primary."""
    with transaction.atomic():
        found = list(registration.register_legacy(store, document.pk, dry_run=dry_run))
        found += registration.adopt_versions(store, document, dry_run=dry_run)
        if not dry_run:
            registration.choose_primary(store, document.pk)
    return found


def _check_source(store: Store, document: Document, *, dry_run: bool, deep: bool) -> Iterator[Difference]:
    """The kept bytes; what is missing or wrong is copied again from a path where these bytes still lie."""
    source = store.source_path(document.pk)
    if source is None and _never_had_source(store, document):
        return
    if source is None:
        what = "the source bytes are missing"
    elif file_id_of(files.sha256_of(source)) != document.pk if deep else source.stat().st_size != document.size_bytes:
        what = "the source bytes are not those of the document"
    else:
        return
    if path := _copied_again(store, document, dry_run=dry_run):
        yield Difference(document.pk, f"{what}: they still lie at {path}", healed=True)
    else:
        yield Difference(document.pk, f"{what}: add the file again", healed=False)


def _never_had_source(store: Store, document: Document) -> bool:
    """Stores from before versions kept no bytes: all of such a document is its text."""
    if (store.object_dir(document.pk) / SOURCE).exists():
        return False
    versions = list(document.versions.values_list("pk", flat=True))
    return bool(versions) and all(map(is_legacy, versions))


def _copied_again(store: Store, document: Document, *, dry_run: bool) -> str:
    """The path at which the document's bytes still lie, and from which they were copied; "" when there is none."""
    for path in document.sources.order_by("-seen_at", "-id").values_list("path", flat=True):
        with contextlib.suppress(SourceRefused, OSError), opened(path, store.root) as source:
            if file_id_of(source.sha256()) != document.pk:
                continue
            if not dry_run:
                with store.temporary() as temporary:
                    prepared = temporary / "object"
                    (prepared / SOURCE).mkdir(parents=True)
                    if file_id_of(source.copy_to(prepared / SOURCE / source.filename)) != document.pk:
                        continue  # it changed meanwhile
                    store.place_object(document.pk, prepared)
            return path
    return ""


def check_version(store: Store, version: ExtractionVersion, *, deep: bool) -> Iterator[Difference]:
    """What is wrong with the files of a succeeded version."""
    directory = store.version_dir(version.document_id, version.pk)
    missing = [name for name in (TEXT, MANIFEST, PROVENANCE) if not (directory / name).is_file()]
    if missing:
        yield Difference(version.document_id, f"version {version.pk} has lost {', '.join(missing)}", healed=False)
    elif deep:
        try:
            found = validation.validate(directory)
        except ExtractionFailed as error:
            yield Difference(version.document_id, f"version {version.pk} is damaged: {error}", healed=False)
            return
        for name, value in found.to_dict().items():
            if getattr(version, name) != value:
                what = f"version {version.pk}: {name} is {value} on disk, {getattr(version, name)} in the database"
                yield Difference(version.document_id, what, healed=False)
