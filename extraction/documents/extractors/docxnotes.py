"""What stands beside the body of a Word document: footnotes, endnotes, comments, headers and footers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .flow import Piece

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
KINDS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}
"""What is referred to by which name, and the relationship that leads to the part."""

PAGE_FIELDS = ("PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION")
ENOUGH_LETTERS = 12
"""A line of a header or footer with a page number says something else if it has so many letters beside it."""


class Notes:
    """Notes in the order in which the text refers to them. ``mark`` is what stands in the text for a reference."""

    def __init__(self, part: Any, *, comments: bool) -> None:
        self.errors: list[str] = []
        kinds = [kind for kind in KINDS if kind != "comment" or comments]
        self._elements = {kind: self._read(part, kind) for kind in kinds}
        self._numbers: dict[tuple[str, str], int] = {}
        self._waiting: list[tuple[str, str]] = []
        self._later: list[tuple[str, str]] = []

    def _read(self, part: Any, kind: str) -> dict[str, Any]:
        from lxml.etree import XMLSyntaxError

        try:
            return dict(_numbered(part, kind))
        except XMLSyntaxError as error:
            self.errors.append(f"the {KINDS[kind]} are damaged and left out: {error}")
            return {}

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind the text refers to, for provenance."""
        kinds = [kind for kind, _ in self._numbers]
        return {KINDS[kind]: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def mark(self, node: Any) -> str:
        """What a node of the text shows if it refers to a note, else nothing."""
        kind = node.tag.removeprefix(WORD).removesuffix("Reference") if isinstance(node.tag, str) else ""
        identity = node.get(f"{WORD}id")
        if identity is None or not node.tag.endswith("Reference") or identity not in self._elements.get(kind, {}):
            return ""
        key = (kind, identity)
        if key not in self._numbers:
            self._numbers[key] = 1 + sum(1 for other, _ in self._numbers if other == kind)
            (self._later if kind == "endnote" else self._waiting).append(key)
        return "" if kind == "comment" else f"[{self._label(key)}]"

    def waiting(self, text_of: Callable[[Any], str]) -> Iterator[Piece]:
        """The footnotes and comments that were referred to since this was asked last."""
        yield from self._pieces(self._waiting, text_of)

    def endnotes(self, text_of: Callable[[Any], str]) -> Iterator[Piece]:
        yield from self._pieces(self._later, text_of)

    def _pieces(self, keys: list[tuple[str, str]], text_of: Callable[[Any], str]) -> Iterator[Piece]:
        while keys:
            kind, identity = key = keys.pop(0)
            element = self._elements[kind][identity]
            text = text_of(element).strip()
            if not text:
                continue
            if kind == "comment":
                author = element.get(f"{WORD}author")
                yield Piece(kind, f"Comment{f' by {author}' if author else ''}: {text}")
            else:
                yield Piece(kind, f"[{self._label(key)}] {text}")

    def _label(self, key: tuple[str, str]) -> str:
        return f"{'note' if key[0] == 'footnote' else 'endnote'} {self._numbers[key]}"


def _numbered(part: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """The notes of a kind by their ids."""
    from docx.oxml import parse_xml

    for relation in part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{KINDS[kind]}"):
            for element in parse_xml(relation.target_part.blob).iter(f"{WORD}{kind}"):
                yield element.get(f"{WORD}id", ""), element


def margins(document: Any, blocks: Callable[[Any], Iterable[tuple[Any, str]]]) -> tuple[list[str], list[str]]:
    """(headers, footers): each text once, in the order of the sections; lines that only number pages are left out."""
    even = document.settings.odd_and_even_pages_header_footer
    found: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for section in document.sections:
        first = section.different_first_page_header_footer
        for texts, parts in zip(
            found,
            (
                (section.header, first and section.first_page_header, even and section.even_page_header),
                (section.footer, first and section.first_page_footer, even and section.even_page_footer),
            ),
            strict=True,
        ):
            for part in parts:
                if part and not part.is_linked_to_previous:
                    lines = [text for element, text in blocks(part._element) if text and not _numbers(element, text)]
                    texts.update({"\n".join(lines): None} if lines else {})
    return list(found[0]), list(found[1])


def _numbers(element: Any, text: str) -> bool:
    """Whether a line says nothing but which page this is."""
    fields = [node.text or "" for node in element.iter(f"{WORD}instrText")]
    fields += [node.get(f"{WORD}instr", "") for node in element.iter(f"{WORD}fldSimple")]
    pages = any(field.split()[:1] and field.split()[0].upper() in PAGE_FIELDS for field in fields)
    letters = sum(map(str.isalpha, text))
    return not letters or (pages and letters < ENOUGH_LETTERS)
