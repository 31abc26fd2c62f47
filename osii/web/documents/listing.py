"""The documents list: its filters, its order, and the columns that are added to a page of it."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower
from django_filters import CharFilter, ModelChoiceFilter

from extraction.models import Document, DocumentSource, ExtractionVersion
from osii.library import staleness
from osii.models import Collection, CollectionDocument
from osii.web.documents.stale import stale_outputs
from osii.web.filters import ListFilter, NamedFilter, SortFilter, choice_filter, learner_filter

FAILED = ExtractionVersion.Status.FAILED

# What people call types of files, as patterns of media types; "other" is what none of them is.
TYPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "pdf": ("PDF", ("application/pdf",)),
    "word": ("Word", ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/msword")),
    "slides": ("slides", ("application/vnd.openxmlformats-officedocument.presentationml.presentation",)),
    "sheets": (
        "sheets",
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "text/csv", "text/tab-separated-values"),
    ),
    "markdown": ("Markdown", ("text/markdown",)),
    "text": ("plain text", ("text/plain", "text/x-log", "text/x-rst", "text/x-org")),
    "html": ("HTML", ("text/html", "application/xhtml+xml")),
    "mail": ("e-mail", ("message/rfc822",)),
    "epub": ("EPUB", ("application/epub+zip",)),
    "image": ("image", ("image/png", "image/jpeg", "image/gif", "image/tiff", "image/webp", "image/svg+xml")),
}
OTHER = "other"


def mimes(kind: str) -> tuple[str, ...]:
    return TYPES[kind][1] if kind in TYPES else ()


def type_name(mime: str) -> str:
    """What people call this media type; the type itself where there is no word for it."""
    return next((shown for shown, known in TYPES.values() if mime in known), mime)


def named(q: str) -> QuerySet[Any]:
    """Ids of documents with this in their name or path, or at the start of their id: each asked of an index of its own, which
    one condition with OR could not be.
    """
    rows = Document.objects.order_by()
    paths = DocumentSource.objects.filter(path__icontains=q).order_by().values("document")
    return rows.filter(filename__icontains=q).values("pk").union(rows.filter(file_id__startswith=q).values("pk"), paths)


def last_failed() -> QuerySet[Any]:
    """Ids of documents whose newest version failed: from the failed versions, which are few."""
    later = ExtractionVersion.objects.filter(document=OuterRef("document")).filter(
        Q(created_at__gt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__gt=OuterRef("pk"))
    )
    return ExtractionVersion.objects.filter(~Exists(later), status=FAILED).order_by().values("document")


def ever_replaced() -> QuerySet[Any]:
    """Ids of documents in whose place another one came under some path, which are few."""
    return DocumentSource.objects.filter(replaces__isnull=False).order_by().values("replaces")


def _of_type(rows: QuerySet[Document], name: str, value: str) -> QuerySet[Document]:
    if value == OTHER:
        return rows.exclude(mime__in=[mime for kind in TYPES for mime in mimes(kind)])
    return rows.filter(mime__in=mimes(value))


def _in_collection(rows: QuerySet[Document], name: str, value: Collection) -> QuerySet[Document]:
    return rows.filter(pk__in=CollectionDocument.objects.filter(collection=value).order_by().values("document"))


def _in_folder(rows: QuerySet[Document], name: str, value: str) -> QuerySet[Document]:
    inside = DocumentSource.objects.filter(path__startswith=f"{value.rstrip('/')}/").order_by()
    return rows.filter(pk__in=inside.values("document"))


class DocumentFilter(ListFilter):
    """Over documents, without the columns of `with_columns`."""

    learner = learner_filter()
    type = choice_filter(
        [*((name, shown) for name, (shown, _) in TYPES.items()), (OTHER, "other")], "Type", method=_of_type
    )
    state = NamedFilter(
        {
            "primary": ("text in force", lambda rows: rows.filter(primary__isnull=False)),
            "no_primary": ("no text in force", lambda rows: rows.filter(primary__isnull=True)),
            "failed": ("last extraction failed", lambda rows: rows.filter(pk__in=last_failed())),
            "replaced": ("source file changed", lambda rows: rows.filter(staleness.replaced(), pk__in=ever_replaced())),
        }
    )
    collection = ModelChoiceFilter(
        queryset=Collection.objects.all(), method=_in_collection, label="Collection", empty_label="any"
    )
    folder = CharFilter(
        method=_in_folder,
        label="Folder",
        max_length=1000,
        widget=forms.TextInput(attrs={"placeholder": "/path/of/a/folder"}),
    )
    sort = SortFilter(
        {
            "": ("added last", ("-added_at", "file_id")),
            "oldest": ("added first", ("added_at", "file_id")),
            "name": ("name", (Lower("filename"), "file_id")),
            "-name": ("name, from the end", (Lower("filename").desc(), "-file_id")),
            "largest": ("largest", ("-size_bytes", "file_id")),
            "-largest": ("smallest", ("size_bytes", "-file_id")),
        }
    )

    def search(self, rows: QuerySet[Document], name: str, value: str) -> QuerySet[Document]:
        return rows.filter(pk__in=named(value))


def with_columns(documents: Sequence[Document]) -> list[Document]:
    """The documents of a page with ``version_count``, ``newest_failed``, ``is_replaced``, and ``stale``: what of them is stale
    and why. A fixed number of queries.
    """
    ids = [document.pk for document in documents]
    full = Document.objects.select_related("primary", "learner").in_bulk(ids)
    counted = ExtractionVersion.objects.filter(document__in=ids).order_by().values("document").annotate(n=Count("pk"))
    versions = dict(counted.values_list("document", "n"))
    failed = set(last_failed().filter(document__in=ids).values_list("document", flat=True))
    replaced = set(Document.objects.filter(staleness.replaced(), pk__in=ids).order_by().values_list("pk", flat=True))
    stale = stale_outputs(ids)
    shown = [full[pk] for pk in ids if pk in full]
    for document in shown:
        document.version_count = versions.get(document.pk, 0)
        document.newest_failed = document.pk in failed
        document.is_replaced = document.pk in replaced
        document.stale = stale.get(document.pk, [])
    return shown


def collections_with_counts() -> QuerySet[Collection]:
    """Each with ``size``: how many documents are in it."""
    return Collection.objects.annotate(size=Count("entries")).select_related("created_by")


class CollectionFilter(ListFilter):
    """Over ``collections_with_counts``."""

    sort = SortFilter(
        {
            "": ("name", (Lower("name"), "id")),
            "-name": ("name, from the end", (Lower("name").desc(), "-id")),
            "largest": ("most documents", ("-size", "id")),
            "smallest": ("fewest documents", ("size", "-id")),
            "newest": ("made last", ("-created_at", "id")),
            "oldest": ("made first", ("created_at", "-id")),
        }
    )

    def search(self, rows: QuerySet[Collection], name: str, value: str) -> QuerySet[Collection]:
        return rows.filter(name__icontains=value)
