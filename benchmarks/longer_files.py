"""The sample documents, made longer: what they hold is repeated so many times, in a file of the same kind."""

import copy
import zipfile
from collections.abc import Callable
from email import message_from_bytes, policy
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[1] / "osii" / "samples" / "documents"
FORMATS = SAMPLES / "formats"


def longer(name: str, copies: int, folder: Path) -> Path:
    """A file in ``folder`` with ``copies`` times the text of the sample of this extractor's name."""
    source, make = _MAKERS[name]
    target = folder / f"{name}-{copies}{source.suffix}"
    make(source, target, copies)
    return target


def _text(source: Path, target: Path, copies: int) -> None:
    target.write_text(source.read_text(encoding="utf-8") * copies, encoding="utf-8")


def _html(source: Path, target: Path, copies: int) -> None:
    article = source.read_text(encoding="utf-8")
    middle = article[article.index("<p>") : article.index("<table>")]
    target.write_text(article.replace(middle, middle * copies), encoding="utf-8")


def _pdf(source: Path, target: Path, copies: int) -> None:
    import pypdfium2

    pages, long = pypdfium2.PdfDocument(source), pypdfium2.PdfDocument.new()
    for _ in range(copies):
        long.import_pages(pages)
    long.save(target)


def _docx(source: Path, target: Path, copies: int) -> None:
    from docx import Document

    document = Document(str(source))
    *elements, end = document.element.body
    for element in elements * (copies - 1):
        end.addprevious(copy.deepcopy(element))
    document.save(str(target))


def _pptx(source: Path, target: Path, copies: int) -> None:
    from pptx import Presentation

    presentation = Presentation(str(source))
    for frame in [shape.text_frame for slide in presentation.slides for shape in slide.shapes if shape.has_text_frame]:
        for paragraph in [one.text for one in frame.paragraphs] * (copies - 1):
            frame.add_paragraph().text = paragraph
    presentation.save(str(target))


def _xlsx(source: Path, target: Path, copies: int) -> None:
    from openpyxl import load_workbook

    book = load_workbook(source)
    for sheet in book.worksheets:
        for row in list(sheet.values) * (copies - 1):
            sheet.append(row)
    book.save(target)


def _eml(source: Path, target: Path, copies: int) -> None:
    message = message_from_bytes(source.read_bytes(), policy=policy.default)
    for part in message.walk():
        if part.get_content_maintype() == "text":
            part.set_content(part.get_content() * copies, subtype=part.get_content_subtype())
    target.write_bytes(message.as_bytes())


def _epub(source: Path, target: Path, copies: int) -> None:
    with zipfile.ZipFile(source) as book, zipfile.ZipFile(target, "w") as long:
        for name in book.namelist():
            data = book.read(name)
            if name.endswith(".xhtml"):
                middle = data[data.index(b"<p>") : data.index(b"</body>")]
                data = data.replace(middle, middle * copies)
            long.writestr(name, data)


_MAKERS: dict[str, tuple[Path, Callable[[Path, Path, int], None]]] = {
    "text": (SAMPLES / "describing-data.md", _text),
    "html": (FORMATS / "sourdough.html", _html),
    "pdf": (FORMATS / "inspecting-a-heat-pump.pdf", _pdf),
    "pdf-tables": (FORMATS / "inspecting-a-heat-pump.pdf", _pdf),
    "docx": (FORMATS / "watering-plan.docx", _docx),
    "pptx": (FORMATS / "limiting-factors.pptx", _pptx),
    "xlsx": (FORMATS / "meter-readings.xlsx", _xlsx),
    "eml": (FORMATS / "bicycle-workshop.eml", _eml),
    "epub": (FORMATS / "circle-of-fifths.epub", _epub),
}
