"""Moving the primary pointer: one transaction in the database, then the files that follow it."""

import logging
from types import EllipsisType

from django.db import transaction

from coverage.models import Learner

from ..models import Document, ExtractionVersion, Promotion
from . import evidence, files, mirror
from .bundle import TEXT
from .errors import PrimaryMoved, PromotionRefused, UnknownDocument, UnknownVersion
from .ids import check_extraction_id, check_file_id
from .store import Store, library_store

logger = logging.getLogger(__name__)


def promote(
    file_id: str,
    extraction_id: str,
    actor: str,
    reason: str = "",
    expected_primary: str | EllipsisType | None = ...,
) -> Promotion:
    """Make a succeeded version of the document its primary; returns the record of the move.

    ``expected_primary`` is the primary that the caller saw (None for none); when it is another one now, PrimaryMoved
    is raised and nothing happens. Promoting what is primary already changes nothing and returns the move that made it
    so. Raises UnknownDocument, UnknownVersion, PromotionRefused, StoreError.

    Once the transaction has committed the move holds: files that could not be written are repaired by reconcile.
    """
    store = library_store()
    check_file_id(file_id)
    check_extraction_id(extraction_id)
    with store.changing(file_id):
        _check_files(store, file_id, extraction_id)
        with transaction.atomic(durable=True):
            document = lock_document(file_id)
            version = _find_version(document, extraction_id)
            if document.primary_id == version.pk:
                promotion = _last_move(document) or move_primary(document, version, actor, reason)
            else:
                _check_expected(document, expected_primary)
                promotion = move_primary(document, version, actor, reason)
        bring_files_up(store, file_id)
    return promotion


def rollback(
    file_id: str, actor: str, reason: str = "", expected_primary: str | EllipsisType | None = ...
) -> Promotion:
    """Take back the last move that still stands: the version that was primary before it is primary again.

    Called again, it takes back the move before that one. ``expected_primary`` as for `promote`. Raises UnknownDocument,
    PrimaryMoved, StoreError; PromotionRefused when no move stands that has a version to go back to, or that version
    is gone or damaged.
    """
    store = library_store()
    check_file_id(file_id)
    with store.changing(file_id):
        with transaction.atomic(durable=True):
            document = lock_document(file_id)
            _check_expected(document, expected_primary)
            move, former = _former(document)
            check_text(store, former)
            promotion = move_primary(document, former, actor, reason, takes_back=move)
        bring_files_up(store, file_id)
    return promotion


def foresee(
    file_id: str, extraction_id: str | None = None, expected_primary: str | EllipsisType | None = ...
) -> tuple[str | None, str]:
    """(primary now, primary then) of `promote`, or without a version of `rollback`. Raises what they raise, writes nothing."""
    document = Document.objects.filter(pk=check_file_id(file_id)).first()
    if document is None:
        raise UnknownDocument(file_id)
    if extraction_id is None:
        _check_expected(document, expected_primary)
        version = _former(document)[1]
    else:
        version = _find_version(document, check_extraction_id(extraction_id))
        if document.primary_id != version.pk:
            _check_expected(document, expected_primary)
    check_text(library_store(), version)
    return document.primary_id, version.pk


def _check_expected(document: Document, expected: str | EllipsisType | None) -> None:
    if expected is not ... and document.primary_id != expected:
        raise PrimaryMoved(expected, document.primary_id)


def _former(document: Document) -> tuple[Promotion, ExtractionVersion]:
    """The move that is taken back next, and the version that it left."""
    move = move_to_take_back(document)
    if move is None or move.before_id is None:
        raise PromotionRefused("nothing_to_take_back", "no move of the primary stands that can be taken back")
    former = document.versions.filter(pk=move.before_id).first()
    if former is None:
        raise PromotionRefused(
            "version_removed", f"{move.before_id} was removed from the library: promote another version"
        )
    return move, former


def move_to_take_back(document: Document) -> Promotion | None:
    """The newest move that takes nothing back and was not taken back itself: what `rollback` would undo."""
    moves = document.promotions.filter(takes_back__isnull=True, taken_back_by__isnull=True)
    return moves.order_by("-created_at", "-id").first()


def lock_document(file_id: str) -> Document:
    """The document, locked until the transaction ends, after every learner whose graph has evidence from it (the order of
    docs/locks.md): whoever moves its primary changes what stands. Raises UnknownDocument.
    """
    list(Learner.objects.select_for_update(no_key=True).filter(pk__in=evidence.learners_of(file_id)).order_by("pk"))
    try:
        return Document.objects.select_for_update(no_key=True).get(pk=file_id)
    except Document.DoesNotExist:
        raise UnknownDocument(file_id) from None


def move_primary(
    document: Document, version: ExtractionVersion, actor: str, reason: str, takes_back: Promotion | None = None
) -> Promotion:
    """Point the locked document at ``version`` and record it. The caller holds the transaction."""
    promotion = Promotion.objects.create(
        document=document,
        before_id=document.primary_id,
        after=version,
        takes_back=takes_back,
        actor=actor,
        reason=reason,
    )
    document.primary = version
    document.save(update_fields=("primary",))
    evidence.refresh(document.pk)
    return promotion


def bring_files_up(store: Store, file_id: str) -> None:
    """Mirror the committed state to disk; a failure is logged, because the database has decided already."""
    try:
        for _ in mirror.sync(store, file_id):
            pass
    except OSError as error:
        store.stay_marked(file_id)
        logger.warning("The files of %s are behind the database (%s): reconcile repairs them.", file_id, error)


def _last_move(document: Document) -> Promotion | None:
    return document.promotions.filter(after=document.primary_id).order_by("-created_at", "-id").first()


def _find_version(document: Document, extraction_id: str) -> ExtractionVersion:
    version = ExtractionVersion.objects.filter(pk=extraction_id).first()
    if version is None:
        raise UnknownVersion("unknown_version", f"there is no extraction version {extraction_id!r}")
    if version.document_id != document.pk:
        raise UnknownVersion(
            "other_document", f"{extraction_id} is a version of {version.document_id}, not of {document.pk}"
        )
    if version.status != ExtractionVersion.Status.SUCCEEDED:
        raise PromotionRefused("failed_version", f"{extraction_id} failed and has no text ({version.error})")
    return version


def _check_files(store: Store, file_id: str, extraction_id: str) -> None:
    """A version whose text is gone or damaged on disk does not come into force."""
    version = ExtractionVersion.objects.filter(pk=extraction_id, document=file_id, status="succeeded").first()
    if version is None:
        return  # the transaction says exactly what is wrong
    check_text(store, version)


def check_text(store: Store, version: ExtractionVersion) -> None:
    """Raises PromotionRefused unless the version's text is on disk as it was recorded."""
    text = store.version_dir(version.document_id, version.pk) / TEXT
    try:
        sound = text.is_file() and files.sha256_of(text) == version.text_sha256
    except OSError:
        sound = False
    if not sound:
        raise PromotionRefused("version_damaged", f"the text of {version.pk} is missing or damaged on disk")
