"""Zip packages (DOCX, PPTX, XLSX, EPUB) opened with care: what they would expand to is known before anything is read."""

import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import ExtractionFailed
from ..limits import MIB

MAX_MEMBERS = 20_000
MAX_EXPANDED = 1024 * MIB
MAX_RATIO = 200
"""How far a member of more than RATIO_FROM bytes may expand. Office XML reaches 60; a bomb 1,000."""
RATIO_FROM = 4 * MIB
HEAD_BYTES = 4096

# What the libraries raise for parts that are missing, cut or no XML; SyntaxError is the base of their parsers' errors.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, KeyError, SyntaxError)

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
ENTITY = re.compile(rb"<!ENTITY|<\0!\0E\0N\0T\0I\0T\0Y")
DOCTYPE = re.compile(rb"<!DOCTYPE|<\0!\0D\0O\0C\0T\0Y\0P\0E")


@contextlib.contextmanager
def opened(path: Path, *, doctype_allowed: bool = False) -> Iterator[zipfile.ZipFile]:
    """The package, looked through; parts that turn out to be broken while it is open count as a damaged package.

    Raises ExtractionFailed: encrypted, older_office, damaged, expands_too_much, xml_entities.

    Office XML has no document type, so one is refused there: it is how entity bombs begin. zipfile reads no more of a
    member than the size that its entry tells, so sizes that lie do no harm.
    """
    _check_not_ole(path)
    try:
        with zipfile.ZipFile(path) as package:
            _check_sizes(package.infolist())
            for info in package.infolist():
                if info.filename.lower().endswith((".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")):
                    _check_xml(package, info, doctype_allowed=doctype_allowed)
            yield package
    except BROKEN as error:
        reason = str(error).replace(str(path), path.name)  # where our store lies is nobody's matter
        raise ExtractionFailed("damaged", f"the package cannot be read: {type(error).__name__}: {reason}") from error
    except RuntimeError as error:  # what zipfile raises for a member with a password
        if "encrypted" in str(error) or "password" in str(error).lower():
            raise ExtractionFailed("encrypted", "the package asks for a password: save it without one") from None
        raise


def _check_not_ole(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(OLE)) != OLE:
            return
        file.seek(0)
        found = ENCRYPTED_STREAM in file.read(8 * MIB) or _at_end(file, ENCRYPTED_STREAM)
    if found:
        raise ExtractionFailed("encrypted", "the file is protected by a password: save it without one")
    raise ExtractionFailed(
        "older_office", "this is a file of the older Office formats (.doc, .xls, .ppt): save it in the newer one"
    )


def _at_end(file: IO[bytes], mark: bytes) -> bool:
    file.seek(0, 2)
    file.seek(max(0, file.tell() - 8 * MIB))
    return mark in file.read()


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    if any(info.flag_bits & 1 for info in members):
        raise ExtractionFailed("encrypted", "the package asks for a password: save it without one")
    if len(members) > MAX_MEMBERS:
        raise ExtractionFailed("expands_too_much", f"the package has more than {MAX_MEMBERS:,} parts")
    expanded = sum(info.file_size for info in members)
    if expanded > MAX_EXPANDED:
        raise ExtractionFailed(
            "expands_too_much", f"the package would expand to {expanded:,} bytes; {MAX_EXPANDED:,} are the most"
        )
    for info in members:
        if info.file_size > RATIO_FROM and info.file_size > MAX_RATIO * max(1, info.compress_size):
            raise ExtractionFailed("expands_too_much", f"{info.filename[:200]} would expand more than {MAX_RATIO}-fold")


def _check_xml(package: zipfile.ZipFile, info: zipfile.ZipInfo, *, doctype_allowed: bool) -> None:
    with package.open(info) as member:
        head = member.read(HEAD_BYTES)
    if ENTITY.search(head) or (not doctype_allowed and DOCTYPE.search(head)):
        raise ExtractionFailed("xml_entities", f"{info.filename[:200]} declares entities of its own: it is not read")
