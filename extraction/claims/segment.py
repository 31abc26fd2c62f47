"""From a message's text to its sentences, each with its exact place.

Hidden first (same length, so that offsets hold): injected steer blocks, code, quoted and pasted text, tables, formulas.
Then lines become blocks (paragraphs and list items), and `sentencex` cuts each block.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sentencex import segment as cut

from extraction.claims.model import MAX_QUOTE, Sentence
from graphctx import fence

# Fences whose content nobody said. A fence that is never closed hides the rest of the text.
_PASTED_TAGS = "document|documents|context|file|attachment|attachments|system|instructions?|transcript|source|data|tool_result|search_results?|retrieved"
FENCES = (
    re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(rf"<({_PASTED_TAGS})(?:\s[^<>]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE),
    re.compile(r"\"\"\".*?(?:\"\"\"|\Z)", re.DOTALL),
    re.compile(r"\$\$.*?(?:\$\$|\Z)", re.DOTALL),
    re.compile(r"\\\[.*?(?:\\\]|\Z)", re.DOTALL),
    re.compile(f"{fence.MASK}+"),  # a block covered
    re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL),
    # Whole sentences in quotation marks or in italics: what somebody else says, a role, a pasted page, an example.
    re.compile(r"(?<!\w)\"(?=[^\"\n]{20})[^\"\n]{1,2000}[.!?…]\"(?!\w)"),
    re.compile(r"[“„](?=[^“”„\n]{20})[^“”„\n]{1,2000}[.!?…][“”](?!\w)"),
    re.compile(r"(?<![\w*])\*(?=[^\s*])(?=[^*\n]{12})[^*\n]{1,2000}[.!?…]\*(?![\w*])"),
    re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL),
)
# Somebody plays a part: `*She bows.* "Welcome."`. Nothing in such a message is meant.
_IN_ROLE = re.compile(r"\s*(?:\*(?!\*)[^*\n]{6,400}[.!?…]?\*|\"[^\"\n]{10,1000}[.!?…]\")(?=\s|$)")
# Lines that are not speech: quotations, tables, headings, rules, indented code.
_SILENT_LINE = re.compile(r"[ \t]*(?:>|\||#{1,6}[ \t]|(?:[-*_=][ \t]*){3,}$|!\[|@@|diff --git)|.*\|.*\|")
_CODE_LINE = re.compile(r"(?: {4}|\t)\S.*|.*[{};]\s*$|\s*(?:\$ |>>> |\.\.\. ).*")
_CODE_SIGNS = re.compile(r"[{};=<>()\[\]]")
_BULLET = re.compile(r"[ \t]*(?:[-*+•–‣◦▪·]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]+")
_FULL_STOP = re.compile(r"[.!?:;。！？：；…][\"'”’»)\]*_]*$")
# Words that the segmenter takes for abbreviations but that end sentences in chats.
_MISSED_BOUNDARY = re.compile(r"\b(?:me|us|it|no|so|am|an|ab|del|con|la)\.\s+(?=[A-ZÄÖÜÉÀ¿¡])")
_MISSED_AFTER_UNIT = re.compile(r"\d\s?[a-zA-Zµ°%²³/]{1,4}\.\s+(?=[A-ZÄÖÜÉÀ¿¡])")
_MISSED_AFTER_LETTER = re.compile(
    r"\b[A-ZÄÖÜ]\.\s+(?=(?:The|A|An|In|It|This|That|When|If|For|So|But|Der|Die|Das|Ein|Eine|Im|Von|Wenn|El|La|Los|Le|Les|Il)\b)"
)
# Who writes without capitals still ends sentences.
_MISSED_IN_LOWER_CASE = re.compile(
    r"(?:(?<!incl)(?<!approx)(?<!etc)(?<!max)(?<!min)(?<!usw)(?<!bzw)(?<!evtl)(?<!inkl)(?<!aprox)(?<=[a-zà-ÿ]{3})\.|(?<=\w)[!?]{1,3}+|(?<=\w\))\.)\s+(?=[a-zà-ÿ])"
)
_STARTS_IN_LOWER_CASE = re.compile(r"\W*[a-zà-ÿ]")
_MISSED = (_MISSED_BOUNDARY, _MISSED_AFTER_UNIT, _MISSED_AFTER_LETTER)
# German writes ordinals with a full stop: "der 7. und 8. Stufe".
_ORDINAL_END = re.compile(r"\b\d{1,2}\.\s*$")
_EMPHASIS = re.compile(r"\*\*|__")
# The segmenter's time grows with the square of what it is given at once; a paragraph is hardly ever longer than this.
_AT_ONCE = 4000
_BREAKS = ("。", "！", "？", ". ", "! ", "? ")


@dataclass(frozen=True)
class Block:
    """A paragraph or list item: `text[start:end]`."""

    start: int
    end: int
    bullet: bool
    paragraph: int


def hide(text: str) -> str:
    """The text with everything that was not said in it replaced by line breaks, character for character."""
    (text,) = fence.masked([text])
    for hidden in FENCES:
        text = hidden.sub(lambda match: "\n" * len(match.group()), text)
    return text


def _is_silent(line: str) -> bool:
    """Whether a line is quotation, table, heading or code."""
    if _SILENT_LINE.match(line):
        return True
    return bool(_CODE_LINE.fullmatch(line)) and len(_CODE_SIGNS.findall(line)) >= 2 and not _BULLET.match(line)


def _continues(previous: str, line: str) -> bool:
    """Whether a line goes on with the sentence of the line before (hard-wrapped text)."""
    if _FULL_STOP.search(previous.rstrip()):
        return len(previous) > 40 and previous.rstrip()[-1] not in ":："
    first = line.lstrip()[:1]
    return first.islower() or len(previous.strip()) >= 60


def blocks(hidden: str) -> Iterator[Block]:
    """The blocks of a text in order. Blank, silent and list lines end a block."""
    paragraph = position = 0
    current: Block | None = None
    last_line = ""
    for line in hidden.splitlines(keepends=True):
        start, position = position, position + len(line)
        body = line.rstrip()
        bullet = _BULLET.match(body)
        silent = not body.strip() or _is_silent(body)
        if current and not silent and not bullet and _continues(last_line, body):
            current = Block(current.start, start + len(body), current.bullet, current.paragraph)
            last_line = body
            continue
        if current:
            yield current
            current = None
        if silent:
            paragraph += 1
            continue
        offset = bullet.end() if bullet else len(body) - len(body.lstrip())
        current = Block(start + offset, start + len(body), bool(bullet), paragraph)
        last_line = body
    if current:
        yield current


_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_MARKS = re.compile(
    r"\*\*|(?<!_)__(?!_)|~~|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=[^\s_])|(?<=[^\s_])_(?!\w)|`"
)
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]")
_FOOTNOTE = re.compile(r"\[\^?\d+\]")


def plain(markdown: str) -> str:
    """A sentence without Markdown marks, pictures and doubled spaces."""
    text = _LINK.sub(r"\1", markdown)
    text = _FOOTNOTE.sub("", text)
    text = _MARKS.sub("", text)
    text = _PICTURES.sub("", text)
    return " ".join(text.split())


def _rejoined(pieces: list[str], language: str) -> list[str]:
    """The pieces with German sentences that were cut after an ordinal number put together again."""
    if language != "de":
        return pieces
    whole: list[str] = []
    for piece in pieces:
        if whole and _ORDINAL_END.search(whole[-1]) and not whole[-1].strip().rstrip(".").isdigit():
            whole[-1] += piece
        else:
            whole.append(piece)
    return whole


def _boundaries(piece: str, *, no_capitals: bool) -> list[int]:
    """Ends of sentences inside a piece that the segmenter left whole."""
    patterns = (*_MISSED, _MISSED_IN_LOWER_CASE) if no_capitals else _MISSED
    ends = {match.end() for pattern in patterns for match in pattern.finditer(piece)}
    return sorted(ends)


def _cut(language: str, text: str) -> Iterator[str]:
    """The segmenter's pieces of a text of any length; a long one is given to it in stretches that end with a sentence."""
    at = 0
    while len(text) - at > _AT_ONCE:
        end = max(text.rfind(mark, at, at + _AT_ONCE) + len(mark) for mark in _BREAKS)
        if end <= at + len(_BREAKS[-1]):
            end = text.rfind(" ", at, at + _AT_ONCE) + 1
        if end <= at:
            end = at + _AT_ONCE
        yield from cut(language, text[at:end])
        at = end
    yield from cut(language, text[at:])


def _pieces(block: str, language: str) -> Iterator[tuple[int, str]]:
    """Offset and text of each sentence of a block. Emphasis marks are blanked so that they do not hide a boundary."""
    blanked = _EMPHASIS.sub("  ", block).replace("\n", " ")
    blanked = blanked.encode("utf-8", "replace").decode("utf-8")
    code = "en" if language == "und" else language
    no_capitals = blanked == blanked.lower() or _STARTS_IN_LOWER_CASE.match(blanked) is not None
    at = 0
    for piece in _rejoined(list(_cut(code, blanked)), language):
        found = blanked.find(piece, at)
        if found < 0:
            continue
        at = found + len(piece)
        start = found
        for end in _boundaries(piece, no_capitals=no_capitals):
            yield start, block[start : found + end]
            start = found + end
        yield start, block[start:at]


def _trimmed(piece: str) -> tuple[int, str]:
    """A piece without outer space and without an emphasis mark whose partner is in another sentence: (offset, quote)."""
    quote = piece.strip()
    head = len(piece) - len(piece.lstrip())
    if quote.count("**") % 2:
        if quote.startswith("**"):
            return head + 2 + len(quote[2:]) - len(quote[2:].lstrip()), quote[2:].strip()
        quote = quote.removesuffix("**").rstrip()
    return head, quote


def sentences(text: str, language: str) -> list[Sentence]:
    """Every sentence of a text that was really said in it.

    `text[s.start:s.start + len(s.quote)] == s.quote` holds for each; quotes longer than `MAX_QUOTE` are left out.
    """
    found: list[Sentence] = []
    if _IN_ROLE.match(text):
        return found
    for number, block in enumerate(blocks(hide(text))):
        for offset, piece in _pieces(text[block.start : block.end], language):
            head, quote = _trimmed(piece)
            shown = plain(quote)
            if not shown or len(quote) > MAX_QUOTE:
                continue
            start = block.start + offset + head
            found.append(Sentence(shown, quote, start, number, block.bullet, block.paragraph))
    return found
