"""Files on this machine that an intake may add: those under the configured source roots, and no others."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from extraction.documents import routing
from extraction.documents.chat_exports import chat_export
from extraction.documents.errors import DocumentError, ExtractorRefused, SourceRefused
from extraction.documents.media import HEAD_BYTES, media_type
from extraction.documents.sources import walk
from extraction.documents.store import library_store

from .incoming import uploads_root
from .requests import BadRequest

CHAT_EXPORT = "chat_export"
"""Names the refusal of a file that is to be imported as chats."""

MOST = 10_000
"""Files that one intake takes; `manage.py add_files` takes any number."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that an intake would add, or why it cannot: ``refusal`` is "name: what is wrong"."""

    path: str
    size_bytes: int = 0
    media_type: str = ""
    extractor: str = ""
    refusal: str = ""

    @property
    def extension(self) -> str | None:
        return Path(self.path).suffix[1:].lower() or None


def check_path(path: str) -> None:
    """Raises SourceRefused unless the path, with every link on it followed, lies under a source root or was uploaded."""
    real = Path(os.path.realpath(path))
    for root in (*settings.OSII_SOURCE_ROOTS, uploads_root()):
        inside = Path(path).is_relative_to(root) or Path(path).is_relative_to(os.path.realpath(root))
        if inside and real.is_relative_to(os.path.realpath(root)):
            return
    raise SourceRefused("outside_roots", "the path is not under one of the source roots (OSII_SOURCE_ROOTS)")


def candidates(paths: Iterable[str], extractor: str = routing.AUTO) -> list[Candidate]:
    """The files at and under these paths, in a stable order. Raises BadRequest when a path is outside the source roots
    or there are too many files."""
    given = []
    for place, path in enumerate(paths):
        whole = os.path.normpath(path)
        try:
            check_path(whole)
        except SourceRefused as error:
            raise BadRequest(f"queue_paths[{place}]", str(error)) from None
        given.append(whole)
    table = routing.Table.load()
    found: list[Candidate] = []
    for entry in walk(given, library_store().root):
        if len(found) == MOST:
            raise BadRequest("queue_paths", f"there are more than {MOST:,} files: use manage.py add_files")
        found.append(
            _looked_at(entry.path, extractor, table) if entry.problem is None else _refused(entry.path, entry.problem)
        )
    return found


def _looked_at(path: str, extractor: str, table: routing.Table) -> Candidate:
    try:
        check_path(path)
        if Path(path).is_symlink():
            raise SourceRefused("symlink", "a symbolic link is not followed: add the file it points to")
        file = Path(path)
        if not file.is_file():
            raise SourceRefused("missing" if not file.exists() else "special_file", "there is no regular file here")
        size = file.stat().st_size
        if not size:
            raise SourceRefused("empty", "the file is empty")
        with file.open("rb") as opened:
            mime = media_type(file.name, opened.read(HEAD_BYTES))
    except OSError as error:
        return Candidate(path, refusal=f"unreadable: {error.strerror}")
    except SourceRefused as error:
        return _refused(path, error)
    if label := chat_export(file):
        return Candidate(path, size, mime, refusal=f"{CHAT_EXPORT}: these are chats ({label}): import them as chats")
    try:
        chosen = routing.choose(extractor, mime, file.name, table=table).name
    except ExtractorRefused as error:
        return Candidate(path, size, mime, refusal=f"{error.reason}: {error}")
    return Candidate(path, size, mime, chosen)


def _refused(path: str, error: DocumentError) -> Candidate:
    return Candidate(path, refusal=f"{error.reason}: {error}")
