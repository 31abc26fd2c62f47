"""Clean-up of old versions: a preview of what would go and what stays and why, and then exactly that."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from ..models import ExtractionVersion, Removal
from . import needs
from .removal import remove_versions
from .store import Store, library_store

NO_PRIMARY = "its document has no primary"
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Rule:
    """Which versions a clean-up is about: not the primary, not the ``keep`` newest others, made before ``before``.

    ``failed`` adds failed attempts made before then. ``even_needed`` also takes what `needs` would keep.
    """

    keep: int = 0
    before: datetime | None = None
    failed: bool = False
    even_needed: bool = False
    file_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that the rule names; ``kept`` says why it stays all the same, "" when it goes."""

    file_id: str
    filename: str
    extraction_id: str
    status: str
    created_at: datetime
    size_bytes: int
    kept: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(rule: Rule) -> Iterator[Candidate]:
    """What the rule names, by document and oldest first. Changes nothing."""
    store = library_store()
    rows = list(_named(rule).values_list("pk", flat=True))
    for start in range(0, len(rows), _AT_ONCE):
        versions = ExtractionVersion.objects.filter(pk__in=rows[start : start + _AT_ONCE])
        needed = needs.needed_versions(versions)
        for version in versions.select_related("document").order_by("document", "created_at", "id"):
            yield _candidate(store, version, needed.get(version.pk, ""), rule)


def clean_up(candidates: Iterable[Candidate], rule: Rule, actor: str, reason: str = "") -> Iterator[Removal]:
    """Remove those of a plan that go, one document after the other; yields the record of each.

    What became primary or needed since the plan was made stops its document with RemovalRefused; the ones before it are
    done. Raises StoreError, UnknownDocument likewise.
    """
    going = [candidate for candidate in candidates if not candidate.kept]
    for file_id, rows in groupby(going, key=lambda candidate: candidate.file_id):
        ids = [candidate.extraction_id for candidate in rows]
        yield remove_versions(file_id, ids, actor, reason, even_needed=rule.even_needed)


def _named(rule: Rule) -> QuerySet[ExtractionVersion]:
    old = Q(created_at__lt=rule.before) if rule.before else Q()
    versions = ExtractionVersion.objects.exclude(pk=F("document__primary")).order_by("document", "created_at", "id")
    if rule.file_ids is not None:
        versions = versions.filter(document__in=rule.file_ids)
    place = Window(
        RowNumber(), partition_by=[F("document"), F("status")], order_by=[F("created_at").desc(), F("id").desc()]
    )
    succeeded = Q(status=ExtractionVersion.Status.SUCCEEDED, place__gt=rule.keep)
    wanted = succeeded | Q(status=ExtractionVersion.Status.FAILED) if rule.failed else succeeded
    return versions.annotate(place=place).filter(old, wanted)


def _candidate(store: Store, version: ExtractionVersion, needed: str, rule: Rule) -> Candidate:
    kept = "" if rule.even_needed else needed
    if version.document.primary_id is None:
        kept = NO_PRIMARY
    return Candidate(
        version.document_id,
        version.document.filename,
        version.pk,
        version.status,
        version.created_at,
        store.size_of_version(version.document_id, version.pk),
        kept,
    )
