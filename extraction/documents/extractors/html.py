"""Web pages saved as HTML."""

from collections.abc import Mapping
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractionFailed
from ..limits import MIB, Limits
from .base import Extractor, Option, SourceFile
from .flow import Flow, Piece, lacking, tool
from .htmltext import decode_html, is_usual, parse, pieces, title_of

MAX_MAIN_CHARS = 4_000_000
"""Longer pages are kept whole: finding the main part reads the page many times."""
LEAST_MAIN = 200
"""A main part of fewer characters is not trusted when the page has twice as much."""


class HtmlExtractor(Extractor):
    name = "html"
    version = "1.1"
    label = "Web page"
    media_types = ("text/html", "application/xhtml+xml")
    options: ClassVar[Mapping[str, Option]] = {
        "content": Option(
            "main", "the main part, without navigation and footers, or all that is visible", ("main", "all")
        ),
    }
    limits = Limits(wall_seconds=300, cpu_seconds=300, memory_bytes=3072 * MIB)

    def ready(self) -> str:
        return lacking("lxml", "trafilatura")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        text, encoding, complaint = decode_html(source.path.read_bytes())
        bundle.errors += [complaint] if complaint else []
        root = parse(text)
        title = title_of(root)
        found, content = list(pieces(root)), "all"
        if options["content"] == "main":
            main = _main_pieces(text)
            if _length(main) >= min(LEAST_MAIN, _length(found) / 2):
                found, content = main, "main"
        if not found:
            raise ExtractionFailed("no_text", "the page has no visible text")
        if title and not any(piece.level and piece.text == title for piece in found):
            found.insert(0, Piece("title", title))
        bundle.source |= {"media_type": source.media_type, "encoding": encoding, "title": title, "content": content}
        bundle.tools |= tool("lxml", "trafilatura")
        bundle.units_attempted = bundle.units_completed = 1
        Flow(bundle, "html", "document").page(None, found)


def _main_pieces(text: str) -> list[Piece]:
    if len(text) > MAX_MAIN_CHARS or not is_usual(text):
        return []
    import trafilatura

    main = trafilatura.extract(
        text,
        output_format="html",
        include_comments=False,
        include_tables=True,
        include_formatting=True,
        favor_recall=True,
    )
    return list(pieces(parse(main))) if main else []


def _length(found: list[Piece]) -> int:
    return sum(len(piece.text) for piece in found)
