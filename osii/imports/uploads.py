"""Uploaded files in ``OSII_HOME/uploads``: one directory per import, files under numbers.

What a browser calls a file is only ever a label. A file is received beside its place and moved into it in one step.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, TemporaryFileUploadHandler
from django.http import HttpRequest

from coverage.importers.sources import File, Folder, Source, is_zip
from coverage.importers.values import printable

LONGEST_NAME = 200
ALL_FILES = "all files"
"""The label of several files that were uploaded together."""
ABANDONED_SECONDS = 24 * 3600
"""Files that nothing names: their request or its process died. No upload takes longer than this."""
_INCOMING = "incoming"
_DISK_RESERVE = 512 * 2**20


def root() -> Path:
    return settings.OSII_HOME / "uploads"


def incoming() -> Path:
    """Where files lie on their way in."""
    return root() / _INCOMING


def folder_of(import_id: UUID) -> Path:
    return root() / str(import_id)


def max_bytes() -> int:
    return settings.OSII_UPLOAD_MAX_MB * 2**20


class IncomingFile(TemporaryUploadedFile):
    """A file on its way in, on the disk that it stays on; deleted when the request ends unless it was moved."""

    def __init__(self, name: str, content_type: str, charset: str | None, extra: dict[str, Any] | None):
        directory = incoming()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = tempfile.NamedTemporaryFile(suffix=".upload", dir=directory)  # noqa: SIM115 - Django closes it
        UploadedFile.__init__(self, file, name, content_type, 0, charset, extra)


class ImportUploadHandler(TemporaryFileUploadHandler):
    """Streams each file to disk. ``refusal`` says why nothing is taken: the body is then read and dropped, so that
    the browser gets to show the answer."""

    refusal = ""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self._received = 0

    def handle_raw_input(self, input_data: Any, META: dict, content_length: int, *args: Any) -> None:
        if content_length > max_bytes():
            self.refusal = too_large()
        elif content_length > _free_bytes() - _DISK_RESERVE:
            self.refusal = "There is not enough room on the server's disk for these files."

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        FileUploadHandler.new_file(self, *args, **kwargs)
        if self.refusal:
            raise SkipFile
        self.file = IncomingFile(self.file_name, self.content_type, self.charset, self.content_type_extra)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._received += len(raw_data)
        if self._received > max_bytes():
            self.refusal = too_large()
            raise SkipFile
        super().receive_data_chunk(raw_data, start)


def too_large() -> str:
    return f"The files are larger than {settings.OSII_UPLOAD_MAX_MB:,} MB together. Upload them in parts, or zipped."


def _free_bytes() -> int:
    place = next(path for path in (root(), *root().parents) if path.exists())
    return shutil.disk_usage(place).free


def keep(import_id: UUID, files: Sequence[TemporaryUploadedFile]) -> list[dict[str, Any]]:
    """Move received files to their places; returns ``ChatImport.files``. Raises OSError."""
    folder = folder_of(import_id)
    folder.mkdir(mode=0o700, parents=True)
    for number, file in enumerate(files, start=1):
        file.flush()
        os.replace(file.temporary_file_path(), folder / str(number))  # noqa: PTH105 - it is a path in a text
        file.close()
    return named(files)


def named(files: Sequence[TemporaryUploadedFile]) -> list[dict[str, Any]]:
    """The files as ``ChatImport.files`` lists them."""
    return [{"name": clean_name(file.name or "", n), "size": file.size} for n, file in enumerate(files, start=1)]


def clean_name(name: str, number: int) -> str:
    """A browser's name for a file as a label: its last part, printable, short, never empty."""
    last = name.replace("\\", "/").rpartition("/")[2]
    text = printable(last).strip()
    return (text if text.strip(".") else f"file {number}")[-LONGEST_NAME:]


def share(old: UUID, new: UUID) -> None:
    """Give the files of one import to another as well, without copying. Raises OSError when they are gone."""
    folder = folder_of(new)
    folder.mkdir(mode=0o700, parents=True)
    for path in folder_of(old).iterdir():
        os.link(path, folder / path.name)


def remove(import_id: UUID) -> None:
    """Delete an import's files; those that are gone already are no error."""
    shutil.rmtree(folder_of(import_id), ignore_errors=True)


def stored_imports() -> Iterator[tuple[UUID, float]]:
    """The imports that have files, and how old (in seconds) their directories are."""
    if not root().is_dir():
        return
    for path in sorted(root().iterdir()):
        try:
            yield UUID(path.name), time.time() - path.stat().st_mtime
        except (ValueError, FileNotFoundError):
            continue


def sweep_incoming(older_than: float) -> None:
    """Delete what requests left behind whose process was killed; ``older_than`` in seconds."""
    directory = incoming()
    for path in directory.iterdir() if directory.is_dir() else ():
        try:
            if time.time() - path.stat().st_mtime > older_than:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue


class _Upload(File):
    """An uploaded file: its label is the browser's name, its place is ours."""

    def __init__(self, path: Path, label: str, name: str, *, named: bool):
        super().__init__(path, label, named=named)
        self.file_name = name


def given(import_id: UUID, files: Sequence[dict[str, Any]]) -> list[Source | Folder]:
    """What the importers read. Several files are one folder: what in it holds no chats is passed over."""
    folder = folder_of(import_id)
    labels: set[str] = set()
    sources: list[Source] = []
    for number, file in enumerate(files, start=1):
        label = file["name"] if file["name"] not in labels else f"{file['name']} ({number})"
        labels.add(label)
        sources.append(_Upload(folder / str(number), label, file["name"], named=len(files) == 1))
    if len(sources) == 1:
        return list(sources)
    archives = tuple(source for source in sources if is_zip(source))
    return [Folder(ALL_FILES, tuple(source for source in sources if source not in archives), archives)]
