"""Where the blocks of a text are: headings, paragraphs, list items, code, tables.

Every non-blank character of the text lies in exactly one block; blocks are in order and do not overlap.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINE = re.compile(r"[^\n]*\n|[^\n]+")
FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")

TYPES = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "list_item_open": "list_item",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
}


@dataclass(frozen=True, slots=True)
class Block:
    """``text[start:end]``; lines count from 1, both inclusive; ``page`` where the text has page breaks."""

    start: int
    end: int
    type: str
    line_start: int
    line_end: int
    level: int = 0
    page: int | None = None


def plain_blocks(text: str) -> list[Block]:
    """Paragraphs between blank lines; a form feed ends a page."""
    pages = text.split("\f")
    blocks: list[Block] = []
    offset, line = 0, 1
    for number, page in enumerate(pages, start=1):
        found = _paragraphs(page, offset, line)
        blocks += (_on_page(block, number) for block in found) if len(pages) > 1 else found
        offset += len(page) + 1
        line += page.count("\n")
    return blocks


def _on_page(block: Block, page: int) -> Block:
    return Block(block.start, block.end, block.type, block.line_start, block.line_end, page=page)


def _paragraphs(text: str, offset: int, first_line: int) -> Iterator[Block]:
    start: int | None = None
    end = 0
    started = line = first_line
    for match in LINE.finditer(text):
        content = match[0].rstrip()
        if content:
            if start is None:
                start, started = match.start(), line
            end = match.start() + len(content)
        elif start is not None:
            yield Block(offset + start, offset + end, "paragraph", started, line - 1)
            start = None
        line += 1
    if start is not None:
        yield Block(offset + start, offset + end, "paragraph", started, line - 1)


def markdown_blocks(text: str) -> list[Block]:
    """The top-level blocks of CommonMark with tables; lists by item; YAML front matter is one block."""
    starts = [match.start() for match in LINE.finditer(text)] + [len(text)]
    front = FRONT_MATTER.match(text)
    blocks: list[Block] = []
    skip = 0
    if front is not None:
        skip = front[0].count("\n") + (not front[0].endswith("\n"))
        blocks.append(_cut(text, starts, 0, skip, "front_matter"))
    for first, last, kind, level in _parse(text[starts[skip] :]):
        blocks.append(_cut(text, starts, first + skip, last + skip, kind, level))
    return _with_gaps(text, [block for block in blocks if block.end > block.start])


def _parse(text: str) -> Iterator[tuple[int, int, str, int]]:
    """(first line, line after the last, type, heading level) of each block, lines from 0."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])  # inline markup does not move block borders
    in_list = 0
    for token in parser.parse(text):
        if token.level == 0 and token.type in {"bullet_list_open", "ordered_list_open"}:
            in_list = 1
        elif token.level == 0 and token.nesting != -1:
            in_list = 0
        if token.map and token.type in TYPES and token.level == in_list:
            first, last = token.map
            yield first, last, TYPES[token.type], int(token.tag[1]) if token.type == "heading_open" else 0


def _cut(text: str, starts: list[int], first: int, last: int, kind: str, level: int = 0) -> Block:
    """The block of the lines ``first`` to ``last`` (exclusive), without the white space at its end."""
    start = starts[first]
    content = text[start : starts[min(last, len(starts) - 1)]].rstrip()
    return Block(start, start + len(content), kind, first + 1, first + 1 + content.count("\n"), level)


def _with_gaps(text: str, blocks: Iterable[Block]) -> list[Block]:
    """The blocks, and as paragraphs what lies between them (link definitions have no block of their own)."""
    complete: list[Block] = []
    offset, line = 0, 1
    for block in blocks:
        complete += _paragraphs(text[offset : block.start], offset, line)
        complete.append(block)
        offset = block.end
        line = block.line_end
    complete += _paragraphs(text[offset:], offset, line)
    return complete


def markdown_tool() -> dict[str, str]:
    """The block parser and its version, for provenance."""
    from markdown_it import __version__

    return {"markdown-it-py": __version__}
