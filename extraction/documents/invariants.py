"""What must hold between documents in the database and on disk; each violation is one line of text."""

from collections.abc import Iterator

from django.db.models import F, OuterRef, Q, Subquery

from ..models import Document, Promotion
from . import evidence
from .reconcile import reconcile_all
from .store import GRACE_SECONDS

LEFT_SECONDS = GRACE_SECONDS + 120
"""The reconciler comes every few seconds, and removes what is older than its grace: what is still there then it does not see."""


def check() -> Iterator[str]:
    """Yield every violation. Reads the whole store, and takes each document's lock while it looks at it.

    One primary per document on disk as in the database; every succeeded version has its files with the recorded hash,
    characters and rows; mirrors equal the primary; sources have the bytes that the id names; no work is left over in
    tmp/; the last recorded promotion is the primary.
    """
    for difference in reconcile_all(dry_run=True, deep=True, grace=LEFT_SECONDS):
        yield str(difference)
    yield from evidence.check()
    last = Promotion.objects.filter(document=OuterRef("pk")).order_by("-created_at", "-id").values("after")[:1]
    moved = Document.objects.annotate(last=Subquery(last))
    apart = Q(primary__isnull=False, last__isnull=False) & ~Q(primary=F("last"))
    unrecorded = Q(primary__isnull=False, last__isnull=True)
    unset = Q(primary__isnull=True, last__isnull=False)
    for document in moved.filter(apart | unrecorded | unset).order_by("pk"):
        yield (
            f"{document.pk}: the primary is {document.primary_id}, but the last recorded promotion made it "
            f"{document.last or 'nothing'}"
        )
