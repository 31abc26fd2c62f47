"""What type a file is, by its content first and its name second."""

import mimetypes
from pathlib import PurePath

HEAD_BYTES = 1 << 16
BINARY = "application/octet-stream"

SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
)
ZIP = b"PK\x03\x04"

# The table of the machine is not used: one name means one type everywhere.
NAMES = mimetypes.MimeTypes()
for _type, _suffixes in {
    "text/markdown": (".md", ".markdown", ".mdown", ".mkd"),
    "text/plain": (".txt", ".text", ".me"),
    "text/x-rst": (".rst",),
    "text/x-org": (".org",),
    "text/x-log": (".log",),
    "text/csv": (".csv",),
    "text/tab-separated-values": (".tsv", ".tab"),
    "text/html": (".html", ".htm"),
    "message/rfc822": (".eml",),
    "application/epub+zip": (".epub",),
    "application/json": (".json", ".jsonl"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (".docx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": (".pptx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (".xlsx",),
}.items():
    for _suffix in _suffixes:
        NAMES.add_type(_type, _suffix)


def media_type(filename: str, head: bytes) -> str:
    """The media type of a file with this name that begins with ``head`` (its first HEAD_BYTES bytes)."""
    named = NAMES.guess_type(f"x{PurePath(filename.lower()).suffix}", strict=False)[0]
    signed = next((kind for mark, kind in SIGNATURES if head.startswith(mark)), None)
    if signed is not None:
        return signed
    if head.startswith(ZIP):
        return named if named is not None and not named.startswith("text/") else "application/zip"
    if named is not None:
        return named
    return "text/plain" if _looks_like_text(head) else BINARY


def _looks_like_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    # Two control characters that text files do have beside line ends and tabs: form feed and escape.
    controls = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return b"\0" not in head and controls <= len(head) // 100
