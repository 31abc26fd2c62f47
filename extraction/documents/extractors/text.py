"""Plain text and Markdown."""

import codecs
from collections.abc import Mapping
from typing import Any

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, Option, SourceFile
from .blocks import Block, markdown_blocks, markdown_tool, plain_blocks

MARKDOWN = "text/markdown"
# The block parser reads some 0.2 MB a second; longer texts are cut at blank lines only.
MARKDOWN_MAX_CHARS = 4_000_000

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
ENCODINGS = ("auto", "utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "cp1250", "cp1251", "koi8-r", "shift_jis",
             "euc-jp", "euc-kr", "gb18030", "big5")  # fmt: skip


class TextExtractor(Extractor):
    name = "text"
    version = "1.0"
    label = "Plain text and Markdown"
    media_types = (
        "text/plain", MARKDOWN, "text/x-rst", "text/csv", "text/tab-separated-values", "text/x-log", "text/x-org",
    )  # fmt: skip
    options = {"encoding": Option("auto", "character encoding of the file", ENCODINGS)}

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        data = source.path.read_bytes()
        text, encoding, complaint = decode(data, options["encoding"])
        del data
        newline = "crlf" if "\r\n" in text else "cr" if "\r" in text and "\n" not in text else "lf"
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "\0" in text:
            raise ExtractionFailed("binary", f"the file is not text: character {text.index(chr(0)) + 1} is NUL")
        if not text.strip():
            raise ExtractionFailed("no_text", "the file has nothing but white space")
        bundle.write(text)
        bundle.errors += [complaint] if complaint else []
        bundle.units_attempted = bundle.units_completed = 1
        kind = "markdown" if source.media_type == MARKDOWN and len(text) <= MARKDOWN_MAX_CHARS else "plain"
        bundle.source |= {"media_type": source.media_type, "encoding": encoding, "newline": newline, "blocks": kind}
        if kind == "markdown":
            bundle.tools |= markdown_tool()
            _write_segments(bundle, markdown_blocks(text), kind)
        else:
            _write_segments(bundle, plain_blocks(text), kind)


def _write_segments(bundle: Bundle, blocks: list[Block], kind: str) -> None:
    """One manifest row per block, each related to the heading it stands under."""
    headings: list[tuple[int, str]] = []
    for block in blocks:
        while block.level and headings and headings[-1][0] >= block.level:
            headings.pop()
        identity = bundle.segment(
            block.start,
            block.end,
            type=block.type,
            origin={
                "source_type": kind,
                "unit_type": "page" if block.page else "lines",
                "page": block.page,
                "bbox": None,
                "line_start": block.line_start,
                "line_end": block.line_end,
            },
            related=[headings[-1][1]] if headings else [],
            **({"level": block.level} if block.level else {}),
        )
        if block.level:
            headings.append((block.level, identity))


def decode(data: bytes, encoding: str = "auto") -> tuple[str, str, str]:
    """The text of ``data`` without its byte order mark, the encoding it was read as, and a complaint or "".

    Auto: the byte order mark, then UTF-8, then Windows-1252, then Latin-1. UTF-8 with a few broken bytes (a cut-off
    end, one pasted byte) is still read as UTF-8: taking it for Windows-1252 would garble every accented letter.
    Raises ExtractionFailed when the mark or the named encoding does not fit.
    """
    mark, marked = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", ""))
    if encoding != "auto" or marked:
        chosen = marked or encoding
        try:
            return data[len(mark) :].decode(chosen), chosen, ""
        except UnicodeDecodeError as error:
            raise ExtractionFailed("encoding", f"byte {len(mark) + error.start + 1} is not {chosen}") from None
    try:
        return data.decode("utf-8"), "utf-8", ""
    except UnicodeDecodeError as error:
        broken = error
    mended = data.decode("utf-8", "replace")
    bad = mended.count("\ufffd")
    good = len(mended) - len(mended.encode("ascii", "ignore")) - bad
    if good >= 10 * bad:
        return mended, "utf-8", f"{bad} places are not valid UTF-8, the first at byte {broken.start + 1}"
    try:
        return data.decode("cp1252"), "cp1252", ""
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1", ""
