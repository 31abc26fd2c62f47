"""Making extraction versions: run an extractor beside everything, validate, move, record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from django.db import transaction
from django.db.models import QuerySet

from ..models import Document, ExtractionVersion
from . import files, isolation, routing, validation
from .bundle import Summary
from .chat_exports import chat_export
from .errors import DocumentError, ExtractionFailed, ExtractorRefused, PrimaryMoved, StoreError, UnknownDocument
from .extractors.base import Extractor
from .ids import check_file_id, file_id_of, is_file_id, new_extraction_id
from .promotion import bring_files_up, lock_document, move_primary, promote
from .reconcile import reconcile_document
from .store import Store, library_store

Policy = Literal["make_primary", "save_variant"]
MAKE_PRIMARY: Policy = "make_primary"
SAVE_VARIANT: Policy = "save_variant"
POLICIES = (MAKE_PRIMARY, SAVE_VARIANT)
POLICY_LABELS: dict[Policy, str] = {
    MAKE_PRIMARY: "Make it primary and preserve the previous version",
    SAVE_VARIANT: "Save as another version",
}
"""What people are shown, in pages and commands."""
UPGRADE_LABEL = "Upgrade extraction"


def extract(
    file_id: str,
    extractor: str = routing.AUTO,
    policy: Policy = MAKE_PRIMARY,
    *,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    actor: str = "system",
    reason: str = "",
) -> ExtractionVersion:
    """Extract a document's text into a new immutable version; returns it, succeeded or failed.

    With "auto" the table of rules decides; when an extractor fails, its failed version is kept and the next one of
    the table is tried; the last one tried is returned. A succeeded version by the same extractor, version and options is returned as it is, unless ``force``.
    "make_primary" then makes the version primary, unless the primary moved while the extractor ran: then the version
    is kept and PrimaryMoved raised. "save_variant" never moves the pointer. A failure is a failed version with its
    reason in ``error``; nothing else changes. Raises UnknownDocument, ExtractorRefused, StoreError.
    """
    if policy not in POLICIES:
        raise ExtractorRefused("unknown_policy", f"the policy is {policy!r}, not one of {', '.join(POLICIES)}")
    store = library_store()
    document = find_document(store, file_id)
    _refuse_chats(store, document)
    jobs = [
        _Job(
            store=store,
            document=document,
            extractor=route.extractor,
            options=route.options,
            make_primary=policy == MAKE_PRIMARY,
            force=force,
            actor=actor,
            reason=reason,
            base=document.primary_id,
        )
        for route in routing.chain(extractor, document.mime, document.filename, options)
    ]
    return _first_success(jobs)


def _refuse_chats(store: Store, document: Document) -> None:
    source = store.source_path(document.pk)
    if source is not None and (found := chat_export(source)):
        raise ExtractorRefused(
            "chat_export", f"this is a chat export ({found}): import it with manage.py import_chats {source.name}"
        )


def _first_success(jobs: Sequence["_Job"]) -> ExtractionVersion:
    """Run one after the other until one succeeds; those that failed stay as failed versions with their reasons.

    Where a version of a later job is there and all before it have failed once, it is taken: nothing runs again.
    """
    for job in () if jobs[0].force else jobs:
        twin = job.twin()
        if twin is not None:
            return job.settle(twin)
        if not job.failed_before():
            break
    for job in jobs:
        version = job.run()
        if version.status == ExtractionVersion.Status.SUCCEEDED or version.error.partition(":")[0] in routing.FINAL:
            break
    return version


def find_document(store: Store, file_id: str) -> Document:
    """The document; one that only the disk knows, or one from before versions, is registered first."""
    document = Document.objects.filter(pk=check_file_id(file_id)).first()
    if _register_from_disk(store, file_id, document):
        document = Document.objects.filter(pk=file_id).first()
    if document is None:
        raise UnknownDocument(file_id)
    return document


def met_on_disk(file_id: str, known: Document | None) -> bool:
    """Whether the row ``known`` (None: there is none) is behind the disk; then it is brought up, so look again."""
    if known is None and Document.objects.filter(pk=file_id).exists():
        return False  # the caller may not see it
    try:
        return _register_from_disk(library_store(), file_id, known)
    except DocumentError:  # a reader who meets a store that cannot be used is told so by what it reads next
        return False


def _register_from_disk(store: Store, file_id: str, known: Document | None) -> bool:
    if not is_file_id(file_id) or not store.has_object(file_id):
        return False
    if known is not None and (known.primary_id is not None or not store.is_unversioned(file_id)):
        return False
    reconcile_document(file_id, deep=False)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One call of `extract`. ``base`` is the primary that was in force when it began."""

    store: Store
    document: Document
    extractor: Extractor
    options: dict[str, Any]
    make_primary: bool
    force: bool
    actor: str
    reason: str
    base: str | None

    def run(self) -> ExtractionVersion:
        twin = None if self.force else self.twin()
        if twin is not None:
            return self.settle(twin)
        source = self.store.source_path(self.document.pk)
        if source is None:
            raise StoreError(
                "source_missing", f"the bytes of {self.document.pk} are not in the store: add the file again"
            )
        extraction_id = new_extraction_id(self.extractor.name)
        try:
            self._check_bytes(source)
            with self.store.temporary() as temporary:
                bundle, summary = self._make_bundle(extraction_id, source, temporary)
                twin = self._register(extraction_id, bundle, summary)
        except ExtractionFailed as failure:
            return self._failed(extraction_id, failure)
        except OSError as error:
            what = f"the store {self.store.root} cannot be written: {error.strerror}"
            raise StoreError("store_unusable", what) from error
        return self.settle(twin) if twin is not None else ExtractionVersion.objects.get(pk=extraction_id)

    def _check_bytes(self, source: Path) -> None:
        """A version says what is in the bytes that the document is named by, and in no others."""
        if file_id_of(files.sha256_of(source)) != self.document.pk:
            raise StoreError(
                "source_damaged",
                f"the kept bytes are not those of {self.document.pk}: add the file again, or reconcile",
            )

    def _make_bundle(self, extraction_id: str, source: Path, temporary: Path) -> tuple[Path, Summary]:
        """Extract into a temporary store and validate what is there."""
        bundle = Store(temporary / "store").version_dir(self.document.pk, extraction_id)
        work = temporary / "work"
        work.mkdir()
        claimed = isolation.run(self.extractor, self.options, source, self.document.mime, bundle=bundle, work=work)
        return bundle, validation.validate(bundle, claimed)

    def _register(self, extraction_id: str, bundle: Path, summary: Summary) -> ExtractionVersion | None:
        """Move the bundle and record it; returns a twin that another process made meanwhile, and then does nothing."""
        file_id = self.document.pk
        with self.store.changing(file_id):
            twin = None if self.force else self.twin()
            if twin is not None:
                return twin
            if not Document.objects.filter(pk=file_id).exists():
                raise UnknownDocument(file_id)  # it was removed while the extractor ran
            self.store.place_version(file_id, extraction_id, bundle)
            with transaction.atomic(durable=True):
                document = lock_document(file_id)
                version = self._version(extraction_id, status="succeeded", **summary.to_dict())
                if self.make_primary and document.primary_id == self.base:
                    move_primary(document, version, self.actor, self.reason)
            bring_files_up(self.store, file_id)
        if self.make_primary and document.primary_id != extraction_id:
            raise PrimaryMoved(self.base, document.primary_id)
        return None

    def settle(self, version: ExtractionVersion) -> ExtractionVersion:
        """What the policy asks of a version that was there already."""
        if self.make_primary and self.base != version.pk:
            promote(self.document.pk, version.pk, self.actor, self.reason, expected_primary=self.base)
        return version

    def twin(self) -> ExtractionVersion | None:
        return self._attempts().filter(status=ExtractionVersion.Status.SUCCEEDED).first()

    def failed_before(self) -> bool:
        return self._attempts().filter(status=ExtractionVersion.Status.FAILED).exists()

    def _attempts(self) -> QuerySet[ExtractionVersion]:
        return self.document.versions.filter(
            extractor=self.extractor.name, extractor_version=self.extractor.version, options=self.options
        )

    def _failed(self, extraction_id: str, failure: ExtractionFailed) -> ExtractionVersion:
        with transaction.atomic():
            lock_document(self.document.pk)  # raises UnknownDocument when it was removed meanwhile
            return self._version(extraction_id, status="failed", error=_clean(f"{failure.reason}: {failure}"))

    def _version(self, extraction_id: str, **values: Any) -> ExtractionVersion:
        return ExtractionVersion.objects.create(
            id=extraction_id,
            document=self.document,
            extractor=self.extractor.name,
            extractor_version=self.extractor.version,
            options=self.options,
            **values,
        )


def _clean(text: str) -> str:
    """A message from outside, fit for a database column and a page."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable.encode("utf-8", "replace").decode()[:2000]
