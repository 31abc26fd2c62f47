"""What must always hold of imports; each violation is one line of text."""

from collections.abc import Iterator

from django.db.models.functions import Now

from osii.models import ChatImport

from . import uploads


def check() -> Iterator[str]:
    for row in ChatImport.objects.filter(status=ChatImport.Status.RUNNING, lease_expires_at__lt=Now()):
        yield f"import {row.pk} is running, but its lease ended at {row.lease_expires_at:%Y-%m-%d %H:%M:%S} UTC"
    for row in ChatImport.objects.filter(status__in=ChatImport.ACTIVE):
        missing = len(row.files) - sum(
            (uploads.folder_of(row.pk) / str(n + 1)).is_file() for n in range(len(row.files))
        )
        if missing:
            yield f"import {row.pk} is {row.status}, but {missing} of its files are not in {uploads.root()}"
