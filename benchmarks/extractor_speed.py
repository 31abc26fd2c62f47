"""Each extractor on a sample repeated to a useful size, beside the library alone that it uses, or a rival of it.

The extractor is measured in this process, from bytes to a finished bundle, and on a file of a tenth as well. What its child
process adds (a new interpreter, and importing the libraries) is a row of its own.
"""

import logging
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

from extraction.documents import isolation
from extraction.documents.bundle import Bundle
from extraction.documents.extractors import registry
from extraction.documents.extractors.base import SourceFile
from extraction.documents.media import HEAD_BYTES, media_type

from .longer_files import FORMATS, longer
from .measure import cost_of, growth, median_ratio, spread, take_turns
from .result import Result

ROUNDS = 7
SHORTER = 10
"""A file of so much less is measured too."""
COPIES = {
    "text": 400,
    "html": 60,
    "pdf": 20,
    "pdf-tables": 20,
    "docx": 10,
    "pptx": 10,
    "xlsx": 10,
    "eml": 10,
    "epub": 10,
}
"""Extractor: how often its sample is repeated, a multiple of SHORTER."""
PAGES = 2  # of the PDF sample
OCR = ("tesseract", "rapidocr")
LIMIT = "reading the bytes"


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        return list(_results(Path(folder)))


def _results(folder: Path) -> Iterator[Result]:
    for name, copies in COPIES.items():
        path, short = longer(name, copies, folder), longer(name, copies // SHORTER, folder)
        unit, amount = _amount(name, path, copies)
        yield from _pair(name, path, short, unit, amount, folder)
    for name in OCR:
        if not registry.extractors()[name].ready():
            yield from _pair(name, FORMATS / "soil-samples-scanned.pdf", None, "pages", 1, folder, rounds=3)
    yield from _child(folder)


def _amount(name: str, path: Path, copies: int) -> tuple[str, float]:
    """The unit of the throughput, and how much of it the file has."""
    if name in ("text", "html"):
        return "MB", path.stat().st_size / 1e6
    return ("pages", PAGES * copies) if name.startswith("pdf") else ("files", 1)


def _pair(
    name: str, path: Path, short: Path | None, unit: str, amount: float, folder: Path, *, rounds: int = ROUNDS
) -> Iterator[Result]:
    """Throughput of an extractor, of its rival and of reading the bytes in the same rounds; higher is better."""
    rival, alone = RIVALS.get(name, ("", None))
    calls: dict[str, Callable[[], object]] = {LIMIT: path.read_bytes}
    calls |= {rival: lambda: alone(path)} if alone else {}
    calls[name] = lambda: _extract(name, path, folder)
    calls |= {"short": lambda: _extract(name, short, folder)} if short else {}
    times = take_turns(calls, rounds=rounds, warm_up=1)
    shorter = times.pop("short", None)
    factor = path.stat().st_size / short.stat().st_size if short and unit == "MB" else SHORTER
    rates = {case: [amount / (milliseconds / 1000) for milliseconds in taken] for case, taken in times.items()}
    for case in [case for case in rates if case != name]:
        yield Result(
            "extractors", f"{name}: {case}", f"{unit}/s", **spread(rates[case]),
            beside="" if case == LIMIT else f"{name}: {LIMIT}",
            ratio=None if case == LIMIT else median_ratio(rates[case], rates[LIMIT]),
        )  # fmt: skip
    yield Result(
        "extractors", name, f"{unit}/s", **spread(rates[name]), beside=f"{name}: {LIMIT}",
        ratio=median_ratio(rates[name], rates[LIMIT]),
        to_rival=median_ratio(rates[name], rates[rival]) if alone else None,
        growth=growth(shorter, times[name], factor) if shorter else None, peak_mb=cost_of(calls[name]).peak_mb,
    )  # fmt: skip


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


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


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


def _docx(path: Path) -> list[str]:
    from docx import Document

    return [paragraph.text for paragraph in Document(str(path)).paragraphs]


RIVALS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "text": ("read and decode", _read),
    "html": ("trafilatura, plain text", _trafilatura),
    "pdf": ("pdfminer.six, text alone", _pdfminer),
    "pdf-tables": ("pdfplumber, text and tables", _pdfplumber),
    "docx": ("python-docx, paragraphs alone", _docx),
    "pptx": ("python-pptx, text frames alone", _pptx),
    "xlsx": ("openpyxl, values alone", _xlsx),
    "eml": ("the standard library, the body alone", _eml),
    "epub": ("unpacking all of it", _epub),
}
