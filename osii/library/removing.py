"""What erasing a document would take with it, counted before anybody confirms it. Nothing is written here."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q

from extraction.documents.errors import DocumentError
from extraction.documents.store import library_store
from extraction.erasure import Fate, foreseen
from extraction.models import Document

from .models import Chunk, Output
from .run_models import ProcessingItem


@dataclass(frozen=True, slots=True)
class Removing:
    """``counts`` are rows that go, by plain words; ``fate`` is that of the propositions with evidence in the document.

    ``size_bytes`` are the kept file and its versions; ``in_hand`` are items of runs that work on it just now.
    """

    file_id: str
    filename: str
    size_bytes: int
    counts: dict[str, int]
    fate: Fate
    in_hand: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def preview(document: Document) -> Removing:
    """A fixed number of queries, and the sizes of the versions on the disk."""
    versions = list(document.versions.values_list("pk", flat=True))
    instances, fate = foreseen(Q(document_id=document.pk))
    counts = {
        "sources": document.sources.count(),
        "versions": len(versions),
        "promotions": document.promotions.count(),
        "outputs": Output.objects.filter(document=document).count(),
        "chunks": Chunk.objects.filter(document=document).count(),
        "instances": instances,
        "propositions": fate.removed,
    }
    running = ProcessingItem.objects.filter(document=document, status=ProcessingItem.Status.RUNNING)
    return Removing(document.pk, document.filename, _size(document, versions), counts, fate, running.count())


def _size(document: Document, versions: list[str]) -> int:
    size = document.size_bytes
    with suppress(OSError, DocumentError):  # what is damaged on the disk can be removed all the same
        size += sum(library_store().size_of_version(document.pk, one) for one in versions)
    return size
