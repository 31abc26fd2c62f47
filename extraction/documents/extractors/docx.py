"""Word documents: headings, paragraphs, lists and tables in order, with their notes, headers and footers."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, Option, SourceFile
from .docxnotes import Notes, margins
from .flow import Flow, Piece, lacking, table, tool
from .packages import opened


class DocxExtractor(Extractor):
    name = "docx"
    version = "1.1"
    label = "Word document"
    media_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)
    options: ClassVar[Mapping[str, Option]] = {
        "comments": Option(default=False, help="whether reviewers' comments are kept, after what they are about"),
    }

    def ready(self) -> str:
        return lacking("docx", "lxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        from docx import Document
        from docx.opc.exceptions import PackageNotFoundError

        with opened(source.path):
            try:
                document = Document(str(source.path))
            except PackageNotFoundError:
                raise ExtractionFailed("damaged", "this is no Word document") from None
            bundle.source |= {"media_type": source.media_type, "title": document.core_properties.title or ""}
            bundle.tools |= tool("python-docx", "lxml")
            flow = Flow(bundle, "docx")
            body = _Body(document, comments=bool(options["comments"]))
            for number, pieces in body.pages():
                bundle.units_attempted += 1
                flow.page(number, pieces)
                bundle.units_completed += 1
            bundle.source |= body.notes.counts
            bundle.errors += body.notes.errors


class _Body:
    """Walks the body. `iter_inner_content` passes over content controls and inserted text; this does not."""

    def __init__(self, document: Any, *, comments: bool) -> None:
        from docx.oxml.ns import qn

        self._document = document
        self._name = qn
        self.notes = Notes(document.part, comments=comments)
        self._body = document.element.body
        self._styles = {style.style_id: style.name or "" for style in document.styles if style.type == 1}
        # Word notes where pages ended when it last laid them out; else only breaks that were set by hand are known.
        self._laid_out = self._body.find(f".//{qn('w:lastRenderedPageBreak')}") is not None

    def pages(self) -> Iterator[tuple[int | None, list[Piece]]]:
        """(page number, pieces); one page without a number when no page break is known.

        Headers stand once before everything, footers once after it; footnotes after the block that refers to them, and
        endnotes after the last one.
        """
        headers, footers = margins(self._document, lambda part: map(self._shown, self._blocks(part)))
        pages: list[list[Piece]] = [[Piece("header", text) for text in headers]]
        for element in self._blocks(self._body):
            breaks = self._breaks(element)
            if breaks and self._begins_with_break(element):
                pages += [[] for _ in range(breaks)]
                breaks = 0
            piece = self._piece(element)
            if piece is not None:
                pages[-1].append(piece)
            pages[-1] += self.notes.waiting(self._note)
            pages += [[] for _ in range(breaks)]
        pages[-1] += self.notes.endnotes(self._note)
        pages[-1] += [Piece("footer", text) for text in footers]
        if len(pages) == 1:
            yield None, pages[0]
        else:
            yield from enumerate(pages, start=1)

    def _blocks(self, container: Any) -> Iterator[Any]:
        """Paragraphs and tables, also those in content controls and insertions."""
        for child in container:
            if child.tag in {self._name("w:p"), self._name("w:tbl")}:
                yield child
            elif child.tag == self._name("w:sdt"):
                content = child.find(self._name("w:sdtContent"))
                if content is not None:
                    yield from self._blocks(content)
            elif child.tag in {self._name("w:ins"), self._name("w:customXml"), self._name("w:smartTag")}:
                yield from self._blocks(child)

    def _piece(self, element: Any) -> Piece | None:
        if element.tag == self._name("w:tbl"):
            return table(self._rows(element))
        text = self._text(element).strip()
        if not text:
            return None
        style = self._styles.get(element.style or "", "")
        if style.startswith("Heading ") and style[8:].isdigit():
            return Piece("heading", text, int(style[8:]))
        if style == "Title":
            return Piece("heading", text, 1)
        if style.startswith("List") or element.find(f"{self._name('w:pPr')}/{self._name('w:numPr')}") is not None:
            return Piece("list_item", f"- {text}")
        return Piece("quote" if "Quote" in style else "paragraph", text)

    def _shown(self, element: Any) -> tuple[Any, str]:
        """A block of a header or footer, and its text."""
        piece = self._piece(element)
        return element, "" if piece is None else piece.text

    def _note(self, element: Any) -> str:
        """The text of a note or comment."""
        pieces = (self._piece(block) for block in self._blocks(element))
        return "\n".join(piece.text for piece in pieces if piece is not None)

    def _rows(self, element: Any) -> Iterator[list[str]]:
        """The rows of a table, a cell that spans several columns once."""
        for row in element.iter(self._name("w:tr")):
            if next(row.iterancestors(self._name("w:tbl"))) is element:
                cells = [
                    cell for cell in row.iter(self._name("w:tc")) if next(cell.iterancestors(self._name("w:tr"))) is row
                ]
                yield ["\n".join(map(self._text, cell.iter(self._name("w:p")))) for cell in cells]

    def _text(self, paragraph: Any) -> str:
        """What is shown of a paragraph: inserted text is, deleted text is not; text boxes stand twice and count once."""
        qn = self._name
        shown = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
        fallback = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
        parts: list[str] = []
        passed: set[Any] = set()
        for node in paragraph.iter():
            if node.getparent() in passed or node.tag in {fallback, qn("w:pPr")}:
                passed.add(node)
            elif node.tag == qn("w:t"):
                parts.append(node.text or "")
            elif node.tag in shown:
                parts.append(shown[node.tag])
            elif mark := self.notes.mark(node):
                parts.append(mark)
        return "".join(parts)

    def _breaks(self, element: Any) -> int:
        if self._laid_out:
            return sum(1 for _ in element.iter(self._name("w:lastRenderedPageBreak")))
        return sum(1 for mark in element.iter(self._name("w:br")) if mark.get(self._name("w:type")) == "page")

    def _begins_with_break(self, element: Any) -> bool:
        """Whether the page ends before the first letter of the block."""
        for node in element.iter():
            if node.tag == self._name("w:lastRenderedPageBreak") or (
                node.tag == self._name("w:br") and node.get(self._name("w:type")) == "page"
            ):
                return True
            if node.tag == self._name("w:t") and (node.text or "").strip():
                return False
        return False
