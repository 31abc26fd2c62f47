"""What the core checks before a bundle may become a version. It trusts nothing that the child process says."""

import codecs
import hashlib
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from .bundle import ARTIFACTS, MANIFEST, PROVENANCE, TEXT, Summary
from .errors import ExtractionFailed
from .files import blocks, read_toml

MAX_GIBBERISH = 0.05
"""Largest share of gibberish among the non-blank characters."""
KINDS = {"text", "image", "table"}

# Control characters that no text file has (tab, line ends, form feed and escape are fine), the replacement character,
# non-characters and private use (fonts without a character map), and the marks PDF readers leave for unmapped glyphs.
GIBBERISH = re.compile(
    "[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd\ufffe\uffff\ue000-\uf8ff]"
    r"|GLYPH<[^<>\n]{0,40}>|\(cid:\d{1,6}\)"
)
MAX_ROW_CHARS = 1 << 20


def validate(bundle: Path, claimed: Summary | None = None) -> Summary:
    """Check a bundle and count what it holds. Raises ExtractionFailed naming what is wrong.

    ``claimed`` is what its writer says it wrote; a bundle that holds anything else was damaged on the way.
    """
    _check_files(bundle)
    sha256, chars = check_text(bundle / TEXT)
    records = sum(1 for _ in check_manifest(bundle, chars))
    if read_toml(bundle / PROVENANCE) is None:
        raise ExtractionFailed("bad_bundle", f"{PROVENANCE} is missing or is not TOML")
    found = Summary(sha256, chars, records)
    if claimed is not None and claimed != found:
        raise ExtractionFailed("bad_bundle", "the files differ from what the extractor says it wrote")
    return found


def _check_files(bundle: Path) -> None:
    """Only the bundle's own names, only plain files and folders: a link would lead out of the store."""
    for path in bundle.rglob("*"):
        relative = path.relative_to(bundle)
        mode = path.lstat().st_mode
        known = str(relative) in {TEXT, MANIFEST, PROVENANCE} or relative.parts[0] == ARTIFACTS
        if not known or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ExtractionFailed("bad_bundle", f"{relative} does not belong in a bundle")
    for name in (TEXT, MANIFEST):
        if not (bundle / name).is_file():
            raise ExtractionFailed("bad_bundle", f"{name} is missing")


def check_text(path: Path) -> tuple[str, int]:
    """(hex SHA-256, characters) of a text file that may become primary. Raises ExtractionFailed."""
    digest = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    chars = visible = gibberish = 0
    with path.open("rb") as file:
        for block in (*blocks(file), b""):
            digest.update(block)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError:
                raise ExtractionFailed("bad_bundle", f"{TEXT} is not UTF-8") from None
            if "\0" in text:
                raise ExtractionFailed("binary", f"character {chars + text.index(chr(0)) + 1} of the text is NUL")
            chars += len(text)
            visible += sum(map(len, text.split()))
            gibberish += sum(map(len, GIBBERISH.findall(text)))
    if not visible:
        raise ExtractionFailed("no_text", "the extractor found no text")
    if gibberish > MAX_GIBBERISH * visible:
        raise ExtractionFailed("gibberish", f"{gibberish} of {visible} characters are control or unmapped characters")
    return digest.hexdigest(), chars


def check_manifest(bundle: Path, chars: int) -> Iterator[dict[str, Any]]:
    """The rows of manifest.jsonl, each checked against the text and the artifacts. Raises ExtractionFailed."""
    seen: set[str] = set()
    for number, row in enumerate(rows(bundle / MANIFEST), start=1):
        complaint = _row_complaint(row, bundle, chars, seen)
        if complaint:
            raise ExtractionFailed("bad_manifest", f"{MANIFEST} line {number}: {complaint}")
        seen.add(row["id"])
        yield row


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON lines file. Raises ExtractionFailed naming the line that is none."""
    number = 1
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            while line := file.readline(MAX_ROW_CHARS + 1):
                row = json.loads(line) if len(line) <= MAX_ROW_CHARS else None
                if not isinstance(row, dict):
                    raise ExtractionFailed(
                        "bad_manifest", f"{path.name} line {number} is not an object of moderate size"
                    )
                yield row
                number += 1
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested without end
        raise ExtractionFailed("bad_manifest", f"{path.name} line {number} is not JSON") from None


def _row_complaint(row: dict[str, Any], bundle: Path, chars: int, seen: set[str]) -> str:
    if row.get("kind") not in KINDS:
        return f"kind is {row.get('kind')!r}, not one of {', '.join(sorted(KINDS))}"
    if not isinstance(row.get("id"), str) or not row["id"] or row["id"] in seen:
        return f"id {row.get('id')!r} is missing or occurs twice"
    if not _is_inside(row.get("path"), bundle):
        return f"path {row.get('path')!r} names no file of the bundle"
    span = row.get("span")
    if span is None:
        return "a text row needs a span" if row["kind"] == "text" else ""
    if not isinstance(span, dict):
        return "span is not an object"
    start, end = span.get("char_start"), span.get("char_end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= chars:
        return f"the span {start}–{end} does not lie in the text of {chars} characters"
    return ""


def _is_inside(path: object, bundle: Path) -> bool:
    if path == TEXT:
        return True
    if not isinstance(path, str) or "\0" in path or "\\" in path:
        return False
    parts = PurePosixPath(path).parts
    return len(parts) > 1 and parts[0] == ARTIFACTS and ".." not in parts and (bundle / path).is_file()
