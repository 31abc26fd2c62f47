"""Uploaded documents in ``OSII_HOME/uploads/documents/<id>/``: kept until they were added, or nobody decided for a week.

Nothing of the library is written before a person has seen what would happen. Each upload has a folder of its own, so that
no upload takes the place of another one's file of the same name.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from django.core.files.uploadedfile import TemporaryUploadedFile

from coverage.ids import new_id
from osii.imports import uploads
from osii.library.incoming import KEPT_DAYS, uploads_root
from osii.library.run_models import ProcessingItem, ProcessingRun

LONGEST_NAME_BYTES = 200
INDEX = "upload.json"


class UploadGone(Exception):
    """The files of this upload are not kept any more."""


@dataclass(slots=True)
class Upload:
    """One upload. ``files`` lie under ``folder`` in numbered folders; ``options`` is the query string of the form."""

    id: UUID
    by: str
    options: str
    created_at: datetime
    files: list[str] = field(default_factory=list)  # relative to the folder
    runs: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return uploads_root() / str(self.id)

    @property
    def paths(self) -> list[str]:
        return [str(self.folder / name) for name in self.files]


def keep(files: Sequence[TemporaryUploadedFile], *, by: str, options: str) -> Upload:
    """Move received files to their places. Raises OSError; then nothing is kept."""
    made = Upload(new_id(), by, options, datetime.now(UTC))
    made.folder.mkdir(mode=0o700, parents=True)
    try:
        for number, file in enumerate(files, start=1):
            name = f"{number:04d}/{file_name(file.name or '', number)}"
            place = made.folder / name
            place.parent.mkdir(mode=0o700)
            file.flush()
            os.replace(file.temporary_file_path(), place)  # noqa: PTH105 - it is a path in a text
            file.close()
            made.files.append(name)
        save(made)
    except BaseException:
        shutil.rmtree(made.folder, ignore_errors=True)
        raise
    return made


def file_name(name: str, number: int) -> str:
    """A browser's name for a file as a name on disk: its last part, printable, with its ending, of at most 200 bytes."""
    clean = uploads.clean_name(name, number).strip()
    stem, dot, suffix = clean.rpartition(".")
    if not stem:
        stem, dot, suffix = clean, "", ""
    ending = f"{dot}{suffix}" if len(suffix.encode()) <= 20 else ""
    room = LONGEST_NAME_BYTES - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore") + ending


def save(upload: Upload) -> None:
    data = asdict(upload) | {"id": str(upload.id), "created_at": upload.created_at.isoformat()}
    fresh = upload.folder / f"{INDEX}.new"
    fresh.write_text(json.dumps(data), encoding="utf-8")
    fresh.replace(upload.folder / INDEX)


def load(upload_id: UUID) -> Upload:
    """Raises UploadGone."""
    try:
        data = json.loads((uploads_root() / str(upload_id) / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UploadGone(str(upload_id)) from None
    return Upload(
        UUID(data["id"]),
        data["by"],
        data["options"],
        datetime.fromisoformat(data["created_at"]),
        data["files"],
        data["runs"],
    )


def discard(upload: Upload) -> None:
    shutil.rmtree(upload.folder, ignore_errors=True)


def sweep() -> int:
    """Delete uploads whose runs have added everything, those that nobody decided on, and what is left of others; returns how many."""
    swept = 0
    for path, age in remains():
        if age > uploads.ABANDONED_SECONDS:
            _remove(path)
            swept += 1
    for upload, age in kept():
        if _is_done(upload, age):
            discard(upload)
            swept += 1
    return swept


def kept() -> Iterator[tuple[Upload, float]]:
    """Every upload and its age in seconds."""
    root = uploads_root()
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        with contextlib.suppress(ValueError, OSError, UploadGone, KeyError, TypeError):
            yield load(UUID(folder.name)), time.time() - folder.stat().st_mtime


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remains() -> Iterator[tuple[Path, float]]:
    """What no index names, and its age in seconds: its request was killed before there was one, or while it was deleted."""
    root = uploads_root()
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            load(UUID(path.name))
        except (ValueError, KeyError, TypeError, UploadGone):
            with contextlib.suppress(OSError):
                yield path, time.time() - path.stat().st_mtime


def _is_done(upload: Upload, age: float) -> bool:
    if not upload.runs:
        return age > KEPT_DAYS * 86_400
    runs = ProcessingRun.objects.filter(pk__in=upload.runs)
    if runs.filter(status__in=ProcessingRun.ACTIVE).exists():
        return False
    failed = ProcessingItem.objects.filter(run__in=upload.runs).exclude(status="succeeded").exists()
    return not failed or age > KEPT_DAYS * 86_400  # what failed can be tried again for a while


class StagedFile:
    """A file on this machine as the import of chats takes one that was just uploaded: a copy, the file stays."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.size = path.stat().st_size
        self._path = path

    def flush(self) -> None:
        """Nothing waits to be written."""

    def temporary_file_path(self) -> str:
        """Where a copy of the file lies, to be moved away."""
        place = uploads.incoming()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        copied = place / f"{new_id()}.upload"
        shutil.copyfile(self._path, copied)
        return str(copied)

    def close(self) -> None:
        """Nothing is open."""
