"""What must always hold of imports; each violation is one line of text."""

from collections.abc import Iterator

from django.db.models.functions import Now

from osii.intake import staging
from osii.models import ChatImport

from . import uploads

LATE_SECONDS = uploads.ABANDONED_SECONDS + 3600
"""The reconciler deletes what nothing names after a day; what is older it does not see."""


def check() -> Iterator[str]:
    for row in ChatImport.objects.filter(status=ChatImport.Status.RUNNING, lease_expires_at__lt=Now()):
        yield f"import {row.pk} is running, but its lease ended at {row.lease_expires_at:%Y-%m-%d %H:%M:%S} UTC"
    for row in ChatImport.objects.filter(status__in=ChatImport.ACTIVE):
        missing = len(row.files) - sum(
            (uploads.folder_of(row.pk) / str(n + 1)).is_file() for n in range(len(row.files))
        )
        if missing:
            yield f"import {row.pk} is {row.status}, but {missing} of its files are not in {uploads.root()}"
    yield from _orphans()


def _orphans() -> Iterator[str]:
    """Uploaded files that no import and no upload names."""
    old = {key for key, age in uploads.stored_imports() if age > LATE_SECONDS}
    for key in sorted(old.difference(ChatImport.objects.filter(pk__in=old).values_list("pk", flat=True))):
        yield f"{uploads.folder_of(key)} holds files of an import that there is not"
    for path, age in staging.remains():
        if age > LATE_SECONDS:
            yield f"{path} holds files of an upload that nothing names"
