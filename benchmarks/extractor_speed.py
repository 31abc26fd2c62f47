"""Each extractor on a sample repeated to a useful size, beside the library alone that it uses, or a rival of it.

The extractor is measured in this process, from bytes to a finished bundle. What its child process adds (a new
interpreter, and importing the libraries) is a row of its own.
"""

import logging
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from functools import partial
from pathlib import Path
from typing import Any

from extraction.documents import isolation
from extraction.documents.bundle import Bundle
from extraction.documents.extractors import registry
from extraction.documents.extractors.base import SourceFile
from extraction.documents.media import HEAD_BYTES, media_type

from .measure import median_ratio, spread, take_turns
from .result import Result

SAMPLES = Path(__file__).resolve().parents[1] / "osii" / "samples" / "documents"
FORMATS = SAMPLES / "formats"
ROUNDS = 7
PDF_COPIES = 25
TEXT_COPIES = 400
OCR = ("tesseract", "rapidocr")


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        return list(_results(Path(folder)))


def _results(folder: Path) -> Iterator[Result]:
    pdf = _many_pages(FORMATS / "inspecting-a-heat-pump.pdf", folder / "long.pdf")
    text = folder / "long.txt"
    text.write_text((SAMPLES / "describing-data.md").read_text(encoding="utf-8") * TEXT_COPIES, encoding="utf-8")
    page = folder / "long.html"
    article = (FORMATS / "sourdough.html").read_text(encoding="utf-8")
    middle = article[article.index("<p>") : article.index("<table>")]
    page.write_text(article.replace(middle, middle * 60), encoding="utf-8")
    pages = 2 * PDF_COPIES
    yield from _pair(
        "text", text, "MB", text.stat().st_size / 1e6, folder, ("read and decode", lambda: text.read_text("utf-8"))
    )
    yield from _pair(
        "html", page, "MB", page.stat().st_size / 1e6, folder, ("trafilatura, plain text", lambda: _trafilatura(page))
    )
    yield from _pair("pdf", pdf, "pages", pages, folder, ("pdfminer.six, text alone", lambda: _pdfminer(pdf)))
    yield from _pair(
        "pdf-tables", pdf, "pages", pages, folder, ("pdfplumber, text and tables", lambda: _pdfplumber(pdf))
    )
    yield from _pair(
        "docx", FORMATS / "watering-plan.docx", "files", 1, folder, ("python-docx, paragraphs alone", _docx)
    )
    for name, sample, rival, alone in (
        ("pptx", "limiting-factors.pptx", "python-pptx, text frames alone", _pptx),
        ("xlsx", "meter-readings.xlsx", "openpyxl, values alone", _xlsx),
        ("eml", "bicycle-workshop.eml", "the standard library, the body alone", _eml),
        ("epub", "circle-of-fifths.epub", "unpacking all of it", _epub),
    ):
        path = FORMATS / sample
        yield from _pair(name, path, "files", 1, folder, (rival, partial(alone, path)))
    for name in OCR:
        if not registry.extractors()[name].ready():
            yield from _pair(name, FORMATS / "soil-samples-scanned.pdf", "pages", 1, folder, rounds=3)
    yield from _child(folder)


def _pair(
    name: str,
    path: Path,
    unit: str,
    amount: float,
    folder: Path,
    rival: tuple[str, Callable[[], Any]] | None = None,
    *,
    rounds: int = ROUNDS,
) -> Iterator[Result]:
    """Throughput of an extractor, of its rival and of reading the bytes in the same rounds; higher is better."""
    limit = "reading the bytes"
    calls = {limit: path.read_bytes, **(dict([rival]) if rival else {}), name: lambda: _extract(name, path, folder)}
    times = take_turns(calls, rounds=rounds, warm_up=1)
    rates = {case: [amount / (milliseconds / 1000) for milliseconds in taken] for case, taken in times.items()}
    for case, values in rates.items():
        yield Result(
            "extractors",
            name if case == name else f"{name}: {case}",
            f"{unit}/s",
            **spread(values),
            beside="" if case == limit else f"{name}: {limit}",
            ratio=None if case == limit else median_ratio(values, rates[limit]),
            to_rival=median_ratio(values, rates[rival[0]]) if rival and case == name else None,
        )


def _extract(name: str, path: Path, folder: Path) -> None:
    extractor = registry.extractors()[name]
    target = folder / "bundle"
    bundle = Bundle(target)
    data = path.read_bytes()
    kind = media_type(path.name, data[:HEAD_BYTES], data[-HEAD_BYTES:])
    extractor.extract(SourceFile(path, path.name, kind), bundle, extractor.resolve(None))
    bundle.close(extractor.name, extractor.version, {})
    shutil.rmtree(target)


def _child(folder: Path) -> Iterator[Result]:
    """The whole way through a child process, for the smallest file."""
    small = folder / "small.txt"
    small.write_text("One line.\n", encoding="utf-8")
    times = take_turns({"child": lambda: _isolated("text", small, folder)}, rounds=ROUNDS, warm_up=1)["child"]
    yield Result("extractors", "a child process for one line of text", "ms", **spread(times))


def _isolated(name: str, path: Path, folder: Path) -> None:
    extractor = registry.extractors()[name]
    with _scratch(folder) as scratch:
        isolation.run(
            extractor,
            extractor.resolve(None),
            path,
            "text/plain",
            bundle=scratch / "bundle",
            work=_made(scratch / "work"),
        )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        yield Path(scratch)


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def _many_pages(source: Path, target: Path) -> Path:
    import pypdfium2

    pages, long = pypdfium2.PdfDocument(source), pypdfium2.PdfDocument.new()
    for _ in range(PDF_COPIES):
        long.import_pages(pages)
    long.save(target)
    return target


def _trafilatura(path: Path) -> str | None:
    import trafilatura

    return trafilatura.extract(path.read_text(encoding="utf-8"))


def _pdfminer(path: Path) -> str:
    from pdfminer.high_level import extract_text

    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    return extract_text(path)


def _pdfplumber(path: Path) -> list[Any]:
    import pdfplumber

    with pdfplumber.open(path) as document:
        return [(page.extract_text(), page.extract_tables()) for page in document.pages]


def _pptx(path: Path) -> list[str]:
    from pptx import Presentation

    slides = Presentation(str(path)).slides
    return [shape.text_frame.text for slide in slides for shape in slide.shapes if shape.has_text_frame]


def _xlsx(path: Path) -> list[Any]:
    from openpyxl import load_workbook

    return [list(sheet.values) for sheet in load_workbook(path, data_only=True).worksheets]


def _eml(path: Path) -> str:
    message = message_from_bytes(path.read_bytes(), policy=policy.default)
    return message.get_body(("plain", "html")).get_content()


def _epub(path: Path) -> list[bytes]:
    with zipfile.ZipFile(path) as package:
        return [package.read(name) for name in package.namelist()]


def _docx() -> list[str]:
    from docx import Document

    return [paragraph.text for paragraph in Document(str(FORMATS / "watering-plan.docx")).paragraphs]
