"""What type a file is, by its content first and its name second."""

import mimetypes
import re
from pathlib import PurePath

HEAD_BYTES = 1 << 16
BINARY = "application/octet-stream"

SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
)
SIGNED = {kind for _mark, kind in SIGNATURES} | {"image/webp", "image/bmp"}
"""Types that begin in their own way: a name alone makes no file one of them."""
ZIP = b"PK\x03\x04"
PDF, PDF_MARK = "application/pdf", b"%PDF-"
OLE = "application/x-ole-storage"
# The part that makes a zip file a package of this type.
OFFICE = "application/vnd.openxmlformats-officedocument."
PACKAGES = {
    b"word/document.xml": f"{OFFICE}wordprocessingml.document",
    b"ppt/presentation.xml": f"{OFFICE}presentationml.presentation",
    b"xl/workbook.xml": f"{OFFICE}spreadsheetml.sheet",
}
_MEMBER = rb"(word/document\.xml|ppt/presentation\.xml|xl/workbook\.xml)"
LOCAL = re.compile(rb"PK\x03\x04.{26}" + _MEMBER, re.DOTALL)
CENTRAL = re.compile(rb"PK\x01\x02.{42}" + _MEMBER, re.DOTALL)
GUESSED = (None, "text/plain", "application/zip")  # names that say little when the content does not bear them out
MAIL_FIRST = re.compile(
    rb"(?:from |return-path:|received:|delivered-to:|message-id:|mime-version:|from:|to:|date:|subject:)"
)
MAIL_HEADER = re.compile(rb"^(from|to|date|subject|message-id|received|return-path|mime-version):", re.MULTILINE)

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


def media_type(filename: str, head: bytes, tail: bytes = b"") -> str:
    """The media type of a file with this name, from its first HEAD_BYTES bytes and its last ones.

    The content decides where it is clear, the name among types that look alike. A file that begins as one type and
    hides another is what it begins as.
    """
    named = NAMES.guess_type(f"x{PurePath(filename.lower()).suffix}", strict=False)[0]
    signed = _signed(head)
    if signed is not None:
        # A password turns an Office package into an OLE file: its extractor says so.
        return named if named is not None and signed == OLE and named in PACKAGES.values() else signed
    if head.startswith(ZIP):
        return _package(head, tail, named)
    if named == PDF and PDF_MARK in head[:1024]:
        return PDF  # readers take a PDF with something before its mark
    if named in GUESSED:
        return (
            _by_words(head)
            or (named if named == "text/plain" else None)
            or ("text/plain" if looks_like_text(head) else BINARY)
        )
    if named in PACKAGES.values() or named in SIGNED:
        return named if not head else (_by_words(head) or "text/plain") if looks_like_text(head) else BINARY
    return named


def _signed(head: bytes) -> str | None:
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "image/bmp"
    return next((kind for mark, kind in SIGNATURES if head.startswith(mark)), None)


def _package(head: bytes, tail: bytes, named: str | None) -> str:
    """The type of a zip file by its members, whose names stand at its beginning and its end."""
    if head[30:58] == b"mimetypeapplication/epub+zip":
        return "application/epub+zip"
    members = {match[1] for part, pattern in ((head, LOCAL), (tail, CENTRAL)) for match in pattern.finditer(part)}
    found = next((kind for member, kind in PACKAGES.items() if member in members), None)
    if found is not None:
        return found
    if tail and named in PACKAGES.values() and b"PK\x05\x06" in tail:
        return "application/zip"  # a whole archive that lacks what makes it such a package
    kept = named is not None and (named in PACKAGES.values() or named == "application/epub+zip")
    return named if named is not None and kept else "application/zip"


def _by_words(head: bytes) -> str | None:
    """HTML and e-mails without a name that says so."""
    begin = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if begin.startswith(b"<?xml") and b"<html" in begin:
        return "application/xhtml+xml"
    headers = set(MAIL_HEADER.findall(head[:8192].split(b"\n\n", 1)[0].replace(b"\r", b"").lower()))
    first = MAIL_FIRST.match(begin)
    return "message/rfc822" if first is not None and len(headers) >= 3 else None


def looks_like_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    # Two control characters that text files do have beside line ends and tabs: form feed and escape.
    controls = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return b"\0" not in head and controls <= len(head) // 100
