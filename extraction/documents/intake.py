"""Adding source files: the bytes into the store, the document and its source into the database."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from django.db import connection, transaction
from django.db.models import DateTimeField, Func

from coverage.models import Learner
from coverage.services import get_or_create_learner

from ..models import Document, DocumentSource
from . import files, mirror
from .errors import SourceRefused, StoreError
from .ids import file_id_of
from .reconcile import heal
from .removal import finish_removal
from .sources import Source, opened
from .store import META, SOURCE, Store, library_store, utc

logger = logging.getLogger(__name__)

CLOCK = Func(function="clock_timestamp", output_field=DateTimeField())


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """What adding a file did (or would do). ``replaces`` is the document that this path named before.

    "unchanged" with ``new_source`` means: these bytes were known under another path, and now under this one too.
    ``learner_set``: a known document without a learner got this one. ``new_learner``: it was not saved before.
    """

    file_id: str
    path: str
    status: Literal["added", "unchanged", "replaces"]
    media_type: str
    replaces: str | None = None
    new_source: bool = False
    learner_set: bool = False
    new_learner: bool = False


def add_file(
    path: str | PathLike[str],
    learner: Learner | None = None,
    *,
    dry_run: bool = False,
    check_new: Callable[[Document], object] | None = None,
) -> AddOutcome:
    """Take a file into the library; the same bytes are the same document, whatever their path.

    The bytes are copied into the store before the row is written, so a document in the database has its source.
    A ``learner`` that is not saved yet is made together with the document. ``check_new`` sees a document that is not
    known yet before anything is kept, and may raise a DocumentError to refuse it.
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
        stored = Document.objects.filter(pk=document.pk).first()
        if stored is not None:
            _check_learner(stored, learner)
        elif check_new is not None:
            check_new(document)
        if dry_run:
            return _outcome(document, source.path, stored, _named_before(source.path))
        while True:
            with _prepared(store, document, source) as prepared, store.changing(document.pk):
                # One hold of the lock, so that nobody meets an object on its way to its row.
                finish_removal(store, document.pk)
                if prepared is None and not _is_kept(store, document):
                    continue  # the document was removed since we looked: its bytes are needed after all
                placed = _place(store, document, prepared)
                outcome, changed = _record(document, source)
                if placed or changed:
                    _bring_up(store, document.pk)
                return outcome


def _bring_up(store: Store, file_id: str) -> None:
    """The committed rows are the truth: files that cannot follow now are repaired by reconcile."""
    try:
        for _ in heal(store, file_id, deep=False):
            pass
    except OSError as error:
        store.stay_marked(file_id)
        logger.warning("The files of %s are behind the database (%s): reconcile repairs them.", file_id, error)


def _named_before(path: str) -> DocumentSource | None:
    return DocumentSource.objects.filter(path=path).order_by("-seen_at", "-id").first()


def _outcome(document: Document, path: str, stored: Document | None, previous: DocumentSource | None) -> AddOutcome:
    """What adding ``document`` does where the database has ``stored`` of it, and ``previous`` at its path."""
    learner = document.learner
    replaces = previous.document_id if previous is not None and previous.document_id != document.pk else None
    return AddOutcome(
        document.pk,
        path,
        "replaces" if replaces else "unchanged" if stored is not None else "added",
        document.mime,
        replaces,
        new_source=previous is None or replaces is not None,
        learner_set=learner is not None and stored is not None and stored.learner_id is None,
        new_learner=learner is not None and learner._state.adding,
    )


@contextlib.contextmanager
def _prepared(store: Store, document: Document, source: Source) -> Iterator[Path | None]:
    """A complete object directory under tmp/, or None when the store has the bytes."""
    if _is_sound(store, document):
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
    if prepared is None or _is_sound(store, document):
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


def _is_sound(store: Store, document: Document) -> bool:
    """The same, and they are the document's: adding a file again mends bytes that were damaged."""
    kept = store.source_path(document.pk)
    if kept is None or not _is_kept(store, document):
        return False
    with _disk_errors(store):
        return file_id_of(files.sha256_of(kept)) == document.pk


def _record(document: Document, source: Source) -> tuple[AddOutcome, bool]:
    """Write the document and its source in one transaction; adds of one path queue up.

    The other value tells whether a row was written, so that meta.toml is behind.
    """
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 5))", [source.path])
        learner = document.learner
        if learner is not None and learner._state.adding:
            learner = get_or_create_learner(learner.name)
        values = {name: getattr(document, name) for name in ("filename", "mime", "size_bytes")}
        stored = None
        row, created = Document.objects.get_or_create(pk=document.pk, defaults=values | {"learner": learner})
        if not created:
            row = stored = Document.objects.select_for_update(no_key=True).get(pk=document.pk)
            _check_learner(stored, learner)
        previous = _named_before(source.path)
        outcome = _outcome(document, source.path, stored, previous)
        changed = created or outcome.new_source or outcome.learner_set
        if outcome.learner_set:
            row.learner = learner
            row.save(update_fields=("learner",))
        if previous is None or outcome.replaces is not None:
            DocumentSource.objects.update_or_create(
                document=row,
                path=source.path,
                defaults={"replaces_id": outcome.replaces, "modified_at": source.modified_at, "seen_at": CLOCK},
            )
        elif previous.modified_at != source.modified_at:
            changed = True
            previous.modified_at = source.modified_at
            previous.save(update_fields=("modified_at",))
    return outcome, changed


def _check_learner(stored: Document, learner: Learner | None) -> None:
    # By name, which is unique: a learner that was not saved when it was given may be by now.
    if learner is not None and stored.learner is not None and stored.learner.name != learner.name:
        raise SourceRefused(
            "other_learner", f"the same bytes are already a document of {stored.learner}; a document has one learner"
        )
