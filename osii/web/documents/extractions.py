"""The Extractions tab: versions with their figures, two of them side by side, moving the primary and its history."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, ExpressionWrapper, F, Max
from django.db.models.fields import DurationField

from extraction.documents import files
from extraction.documents.bundle import PROVENANCE
from extraction.documents.errors import DocumentError
from extraction.documents.promotion import move_to_take_back
from extraction.documents.selectors import artifacts_of, version_text
from extraction.documents.store import library_store
from extraction.models import Document, ExtractionVersion, Removal
from osii.models import Output, OutputKind, ProcessingStep
from osii.web.access import PageRequest
from osii.web.paging import page_of

from . import diff

PROMOTE = "extraction.add_promotion"
VERSIONS_PER_PAGE = 20
MOVES_SHOWN = 50
DIFF_ROWS = 400
ARTIFACTS_SHOWN = 50


@dataclass(slots=True)
class VersionRow:
    """A version as the tab shows it. ``units`` are pages, slides or sheets: (read, of how many)."""

    version: ExtractionVersion
    size_bytes: int = 0
    units: tuple[int, int] | None = None
    segments: int = 0
    artifacts: list[tuple[str, int]] = field(default_factory=list)  # name, bytes
    more_artifacts: int = 0
    confidence: int | None = None  # of recognised text, in percent
    notes: list[str] = field(default_factory=list)
    took: timedelta | None = None
    outputs: int = 0

    @property
    def per_unit(self) -> int | None:
        return round(self.version.text_chars / self.units[0]) if self.units and self.units[0] else None


def context(request: PageRequest, document: Document) -> dict[str, Any]:
    """A fixed number of queries, whatever the number of versions; provenance is read for the page's versions only."""
    page = page_of(request, document.versions.all(), VERSIONS_PER_PAGE)
    outputs = outputs_of_versions(document)
    took = _took(page.object_list)
    shown = [_row(version, took.get(version.pk), outputs[version.pk]) for version in page.object_list]
    return {
        "page": page,
        "versions": shown,
        "promoting": request.user.has_perm(PROMOTE) and any(may_become_primary(row.version, document) for row in shown),
        "stale_outputs": outputs[document.primary_id] if document.primary_id else 0,
        "promotions": document.promotions.select_related("takes_back")[:MOVES_SHOWN],
        "take_back": move_to_take_back(document),
        "removals": Removal.objects.filter(file_id=document.pk)[:MOVES_SHOWN],
        **_offered([row.version for row in shown], document.primary_id),
        **_compared(request, document),
    }


def may_become_primary(version: ExtractionVersion, document: Document) -> bool:
    return version.status == ExtractionVersion.Status.SUCCEEDED and version.pk != document.primary_id


def outputs_of_versions(document: Document) -> defaultdict[str, int]:
    """How many succeeded outputs there are of each version."""
    rows = (
        Output.objects.filter(document=document, status=Output.Status.SUCCEEDED)
        .order_by()
        .values("source_extraction")
        .annotate(n=Count("pk"))
        .values_list("source_extraction", "n")
    )
    return defaultdict(int, rows)


def _took(versions: list[ExtractionVersion]) -> dict[str, timedelta]:
    """How long the versions took that a processing run made."""
    taken = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    made = ProcessingStep.objects.filter(
        extraction__in=[version.pk for version in versions], status__in=("succeeded", "failed"), step="extract"
    )
    return dict(made.order_by().values("extraction").annotate(took=Max(taken)).values_list("extraction", "took"))


def _row(version: ExtractionVersion, took: timedelta | None, outputs: int) -> VersionRow:
    row = VersionRow(version, took=took, outputs=outputs)
    if version.status != ExtractionVersion.Status.SUCCEEDED:
        return row
    with suppress(OSError, DocumentError):
        store = library_store()
        row.size_bytes = store.size_of_version(version.document_id, version.pk)
        provenance = files.read_toml(store.version_dir(version.document_id, version.pk) / PROVENANCE) or {}
        counts = _table(provenance.get("counts"))
        row.segments = _whole(counts.get("segments_written"))
        found = artifacts_of(version)
        row.artifacts, row.more_artifacts = found[:ARTIFACTS_SHOWN], len(found[ARTIFACTS_SHOWN:])
        confidence = _table(provenance.get("source")).get("mean_confidence")
        row.confidence = round(100 * confidence) if isinstance(confidence, float) and 0 <= confidence <= 1 else None
        if attempted := _whole(counts.get("units_attempted")):
            row.units = (_whole(counts.get("units_completed")), attempted)
        messages = _table(provenance.get("errors")).get("messages")
        row.notes = [str(note) for note in messages[:5]] if isinstance(messages, list) else []
    return row


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _offered(versions: list[ExtractionVersion], primary_id: str | None) -> dict[str, Any]:
    """What is compared where nobody has chosen yet: the text in force with the newest other one, the older at the left."""
    usable = [version for version in versions if version.status == ExtractionVersion.Status.SUCCEEDED]
    usable.sort(key=lambda version: version.pk != primary_id)  # stable: then the newest
    pair = sorted(usable[:2], key=lambda version: version.created_at)
    return dict(zip(("left", "right"), pair, strict=False))


def what_became_stale(document: Document, former_id: str | None) -> tuple[int, str]:
    """(number of outputs made of the former primary, query of the plan that makes them anew of the primary)."""
    rows = Output.objects.filter(document=document, source_extraction=former_id, status=Output.Status.SUCCEEDED)
    kinds = list(rows.order_by().values_list("kind", flat=True))
    steps = {kind: "default" if kind in {OutputKind.SYNTHESIS, OutputKind.ENRICHMENT} else "on" for kind in kinds}
    return len(kinds), urlencode({"ids": document.pk} | dict(sorted(steps.items())))


def _compared(request: PageRequest, document: Document) -> dict[str, Any]:
    """The two versions that the URL names, line by line."""
    ids = [request.GET.get(name, "") for name in ("a", "b")]
    if not any(ids):
        return {}
    known = {
        version.pk: version for version in document.versions.filter(pk__in=[one for one in ids if "\0" not in one])
    }
    chosen = [known.get(one) for one in ids]
    if None in chosen:
        return {"diff_error": "Choose two versions of this document to compare."}
    if any(version.status != ExtractionVersion.Status.SUCCEEDED for version in chosen):
        return {"diff_error": "A version that failed has no text to compare.", "left": chosen[0], "right": chosen[1]}
    try:
        found = diff.compare(*(version_text(document.pk, version.pk) for version in chosen))
    except DocumentError as error:
        return {"diff_error": f"The texts cannot be compared: {error}.", "left": chosen[0], "right": chosen[1]}
    page = page_of(request, found.rows, DIFF_ROWS, name="rows")
    return {"left": chosen[0], "right": chosen[1], "comparison": found, "diff_page": page}
