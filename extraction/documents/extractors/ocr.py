"""Images and scanned PDF by text recognition: Tesseract where the system has it, RapidOCR, which pip brings, elsewhere."""

import csv
import io
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..bundle import Bundle
from ..errors import ExtractionFailed
from ..limits import MIB, Limits
from .base import Extractor, Option, SourceFile
from .flow import Flow, lacking, tool
from .images import DPI, Picture, count, pictures
from .pdf import PDF
from .pdfium import Line, paragraphs, united
from .svg import SVG

MAX_PAGES = 500
LEAST_CONFIDENCE = 0.5
"""A page that is read with less confidence on average is named in provenance."""


@dataclass(frozen=True, slots=True)
class Read:
    """A line as it was recognised, with a confidence of 0 to 1."""

    line: Line
    confidence: float


class OcrExtractor(Extractor):
    """What the engines share: pages in, lines with places out."""

    media_types = (
        "image/*", "image/png", "image/jpeg", "image/tiff", "image/gif", "image/webp", "image/bmp", PDF,
    )  # fmt: skip
    except_types = frozenset({SVG})  # it has no pixels
    options: ClassVar[Mapping[str, Option]] = {
        "pages": Option("scanned", "PDF pages to recognise: those without a text layer, or all", ("scanned", "all")),
    }

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        pages = count(source)
        if pages > MAX_PAGES:
            raise ExtractionFailed(
                "too_large",
                f"{pages:,} pages are more than the {MAX_PAGES} that are recognised at once: split the file",
            )
        self.prepare(bundle, options)
        kind = "pdf" if source.media_type == PDF else "image"
        bundle.source |= {"media_type": source.media_type, "pages": pages}
        flow = Flow(bundle, kind)
        recognised, confidences = 0, []
        for picture in pictures(source, every=options["pages"] == "all"):
            bundle.units_attempted += 1
            pieces = picture.pieces
            if picture.image is not None:
                recognised += 1
                found = list(self.read(picture))
                pieces = paragraphs([one.line for one in found])
                confidences += [one.confidence for one in found]
                _note_doubt(bundle, picture, found)
            flow.page(picture.number, pieces, recognised=picture.image is not None)
            bundle.units_completed += 1
        bundle.source |= {"pages_recognised": recognised, "mean_confidence": round(_mean(confidences), 3)}

    def prepare(self, bundle: Bundle, options: Mapping[str, Any]) -> None:
        """Get the engine ready and name it in ``bundle.tools``."""
        raise NotImplementedError

    def read(self, picture: Picture) -> Iterator[Read]:
        """The lines of one page in reading order."""
        raise NotImplementedError


def _note_doubt(bundle: Bundle, picture: Picture, found: list[Read]) -> None:
    mean = _mean([one.confidence for one in found])
    if found and mean < LEAST_CONFIDENCE:
        bundle.errors.append(f"page {picture.number} was read with a mean confidence of {mean:.2f}")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class TesseractExtractor(OcrExtractor):
    name = "tesseract"
    version = "1.0"
    label = "Text recognition (Tesseract, installed on the system)"
    options: ClassVar[Mapping[str, Option]] = {
        **OcrExtractor.options,
        "languages": Option(
            "", 'Tesseract\'s names with +, such as "eng+deu"; empty: eng, else the first installed one'
        ),
    }
    limits = Limits(wall_seconds=1800, cpu_seconds=3600, memory_bytes=3072 * MIB)

    def ready(self) -> str:
        if shutil.which("tesseract") is None:
            return "the program “tesseract” is not installed (Debian and Ubuntu: apt install tesseract-ocr)"
        return lacking("pypdfium2", "PIL")

    def prepare(self, bundle: Bundle, options: Mapping[str, Any]) -> None:
        bundle.tools |= tool("pypdfium2", "pillow") | {"tesseract": _call("--version").split()[1]}
        installed = [name for name in _call("--list-langs").splitlines()[1:] if name.strip() and name != "osd"]
        wanted = options["languages"] or ("eng" if "eng" in installed else installed[0] if installed else "eng")
        missing = [name for name in wanted.split("+") if name not in installed]
        if missing:
            raise ExtractionFailed(
                "language_missing",
                f"tesseract has no {', '.join(missing)[:200]} (installed: {', '.join(installed) or 'none'})",
            )
        bundle.source |= {"languages": wanted}
        self._languages = wanted

    def read(self, picture: Picture) -> Iterator[Read]:
        image = io.BytesIO()
        picture.image.save(image, "PNG")
        width, height = picture.image.size
        table = _call("stdin", "stdout", "-l", self._languages, "--dpi", str(DPI), "tsv", given=image.getvalue())
        lines: dict[tuple[str, ...], list[Any]] = {}
        for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["text"] and row["text"].strip():
                lines.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(row)
        paragraph = None
        for (block, number, _), words in lines.items():
            if paragraph not in {None, (block, number)}:
                yield Read(Line("", None), 1.0)  # a blank line ends the paragraph
            paragraph = (block, number)
            boxes = [
                (x / width, y / height, (x + w) / width, (y + h) / height)
                for x, y, w, h in ([int(word[side]) for side in ("left", "top", "width", "height")] for word in words)
            ]
            confidence = _mean([float(word["conf"]) / 100 for word in words])
            yield Read(Line(" ".join(word["text"] for word in words), united(boxes)), confidence)


def _call(*arguments: str, given: bytes = b"") -> str:
    """What tesseract prints. Raises ExtractionFailed with its last line when it fails."""
    done = subprocess.run(["tesseract", *arguments], capture_output=True, check=False, input=given)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ExtractionFailed("ocr_failed", f"tesseract: {lines[-1][:300] if lines else f'status {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")


class RapidOcrExtractor(OcrExtractor):
    name = "rapidocr"
    version = "1.0"
    label = "Text recognition (RapidOCR, installed with OSII)"
    # ONNX Runtime maps far more memory than it uses.
    limits = Limits(wall_seconds=3600, cpu_seconds=7200, memory_bytes=4096 * MIB, hard_memory=False)

    def ready(self) -> str:
        return lacking("rapidocr", "onnxruntime", "cv2", "pypdfium2", "PIL")

    def prepare(self, bundle: Bundle, options: Mapping[str, Any]) -> None:
        from rapidocr import RapidOCR

        bundle.tools |= tool("rapidocr", "onnxruntime", "pypdfium2", "pillow")
        self._engine = RapidOCR(
            params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1}
        )

    def read(self, picture: Picture) -> Iterator[Read]:
        import numpy

        found = self._engine(numpy.asarray(picture.image.convert("RGB")))
        if found.txts is None:
            return
        width, height = picture.image.size
        boxes = [
            (min(x for x, _ in box) / width, min(y for _, y in box) / height,
             max(x for x, _ in box) / width, max(y for _, y in box) / height)
            for box in found.boxes.tolist()
        ]  # fmt: skip
        for box, text, score in zip(boxes, found.txts, found.scores, strict=True):
            yield Read(Line(text, united([box])), float(score))
