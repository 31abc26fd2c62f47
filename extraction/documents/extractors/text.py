"""Plain text and Markdown."""

from collections.abc import Mapping
from typing import Any

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, Option, SourceFile
from .blocks import Block, markdown_blocks, markdown_tool, plain_blocks
from .charsets import decode

MARKDOWN = "text/markdown"
# The block parser reads some 0.2 MB a second; longer texts are cut at blank lines only.
MARKDOWN_MAX_CHARS = 4_000_000

ENCODINGS = ("auto", "utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "cp1250", "cp1251", "koi8-r", "shift_jis",
             "euc-jp", "euc-kr", "gb18030", "big5")  # fmt: skip


class TextExtractor(Extractor):
    name = "text"
    version = "1.1"
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
