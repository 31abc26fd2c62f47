"""Adding source files: the bytes into the store, the document and its source into the database."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from django.db import connection, transaction
from django.db.models.functions import Now

from coverage.models import Learner

from ..models import Document, DocumentSource
from . import files, mirror
from .errors import SourceRefused, StoreError
from .ids import file_id_of
from .reconcile import heal
from .sources import Source, opened
from .store import META, SOURCE, Store, library_store, utc


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """What adding a file did (or would do). ``replaces`` is the document that this path named before.

    "unchanged" with ``new_source`` means: these bytes were known under another path, and now under this one too.
    """

    file_id: str
    path: str
    status: Literal["added", "unchanged", "replaces"]
    media_type: str
    replaces: str | None = None
    new_source: bool = False


def add_file(path: str | PathLike[str], learner: Learner | None = None, *, dry_run: bool = False) -> AddOutcome:
    """Take a file into the library; the same bytes are the same document, whatever their path.

    The bytes are copied into the store before the row is written, so a document in the database has its source.
    Raises SourceRefused (see `sources`; also "changed", "other_learner") and StoreError; then nothing was added.
    """
    store = library_store()
    with opened(path, store.root) as source:
        document = Document(
            file_id=file_id_of(source.sha256()),
            filename=source.filename,
            mime=source.media_type(),
            size_bytes=source.size_bytes,
            learner=learner,
        )
        if dry_run:
            return _outcome(document, source.path, known=_known(document), previous=_named_before(source.path))
        with _prepared(store, document, source) as prepared, store.lock(document.pk):
            # One hold of the lock, so that nobody meets an object on its way to its row.
            placed = _place(store, document, prepared)
            outcome = _record(document, source)
            if placed or outcome.status != "unchanged" or outcome.new_source:
                for _ in heal(store, document.pk, deep=False):
                    pass
    return outcome


def _known(document: Document) -> bool:
    stored = Document.objects.filter(pk=document.pk).first()
    if stored is not None:
        _check_learner(stored, document.learner)
    return stored is not None


def _named_before(path: str) -> DocumentSource | None:
    return DocumentSource.objects.filter(path=path).order_by("-seen_at", "-id").first()


def _outcome(document: Document, path: str, *, known: bool, previous: DocumentSource | None) -> AddOutcome:
    if previous is not None and previous.document_id != document.pk:
        return AddOutcome(document.pk, path, "replaces", document.mime, previous.document_id, new_source=True)
    return AddOutcome(document.pk, path, "unchanged" if known else "added", document.mime, new_source=previous is None)


@contextlib.contextmanager
def _prepared(store: Store, document: Document, source: Source) -> Iterator[Path | None]:
    """A complete object directory under tmp/, or None when the store has the bytes."""
    if _is_kept(store, document):
        yield None
        return
    with store.temporary() as temporary:
        prepared = temporary / "objects" / document.pk
        with _disk_errors(store):
            (prepared / SOURCE).mkdir(parents=True)
            copied = source.copy_to(prepared / SOURCE / source.filename)
            first = {"path": source.path, "mtime_utc": utc(source.modified_at)}
            (prepared / META).write_bytes(files.to_toml(mirror.meta_table(document, [first])))
        if file_id_of(copied) != document.pk:
            raise SourceRefused("changed", "the file changed while it was read: add it again")
        yield prepared


def _place(store: Store, document: Document, prepared: Path | None) -> bool:
    if prepared is None or _is_kept(store, document):
        return False
    with _disk_errors(store):
        store.place_object(document.pk, prepared)
    return True


@contextlib.contextmanager
def _disk_errors(store: Store) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError("store_unusable", f"the bytes cannot be kept in {store.root}: {error.strerror}") from error


def _is_kept(store: Store, document: Document) -> bool:
    kept = store.source_path(document.pk)
    return kept is not None and kept.stat().st_size == document.size_bytes


def _record(document: Document, source: Source) -> AddOutcome:
    """Write the document and its source in one transaction; adds of one path queue up."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 5))", [source.path])
        values = {name: getattr(document, name) for name in ("filename", "mime", "size_bytes", "learner")}
        stored, created = Document.objects.get_or_create(pk=document.pk, defaults=values)
        if not created:
            stored = Document.objects.select_for_update(no_key=True).get(pk=document.pk)
            _check_learner(stored, document.learner)
            if stored.learner_id is None and document.learner is not None:
                stored.learner = document.learner
                stored.save(update_fields=("learner",))
        previous = _named_before(source.path)
        outcome = _outcome(document, source.path, known=not created, previous=previous)
        if previous is None or previous.document_id != document.pk:
            DocumentSource.objects.update_or_create(
                document=stored,
                path=source.path,
                defaults={"replaces_id": outcome.replaces, "modified_at": source.modified_at, "seen_at": Now()},
            )
        elif previous.modified_at != source.modified_at:
            previous.modified_at = source.modified_at
            previous.save(update_fields=("modified_at",))
    return outcome


def _check_learner(stored: Document, learner: Learner | None) -> None:
    if learner is not None and stored.learner_id not in {None, learner.pk}:
        raise SourceRefused(
            "other_learner", f"the same bytes are already a document of {stored.learner}; a document has one learner"
        )
