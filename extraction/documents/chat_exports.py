"""Chat exports among the documents: told by their content, so that they are imported as chats and not read as text."""

import zipfile
from itertools import islice
from pathlib import Path

from coverage.importers import archives, formats, sources
from coverage.importers.documents import UnreadableFile, open_document

MEMBERS = 20
"""So many JSON files of an archive are looked at."""

_STARTS = (b"{", b"[")
_PACKED = (b"PK\x03\x04", b"\x1f\x8b")
_WHITE = b"\xef\xbb\xbf \t\r\n"


def chat_export(path: Path) -> str:
    """The name of the chat format that the file at ``path`` has, for people; "" when it has none.

    Looks at the content alone: JSON, lines of JSON, or an archive of these. Reads no more than the beginning.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        if not (head.startswith(_PACKED) or head.lstrip(_WHITE).startswith(_STARTS)):
            return ""
        source = sources.File(path, path.name)
        return _in_archive(source) if sources.is_zip(source) else _format(source)
    except (OSError, UnreadableFile, zipfile.BadZipFile):
        return ""


def _in_archive(source: sources.Source) -> str:
    with archives.opened(source) as (folder, _problems):
        for member in islice((file for file in folder.files if file.looks_like_json), MEMBERS):
            try:
                return _format(member)
            except UnreadableFile:
                continue
    return ""


def _format(source: sources.Source) -> str:
    return formats.detect(open_document(source)).LABEL
