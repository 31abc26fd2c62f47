"""Which extractors there are. Which one a file goes to is decided by `documents.routing`."""

import functools
import logging
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from ..errors import ExtractorRefused
from ..ids import SLUG
from .base import Extractor
from .docx import DocxExtractor
from .epub import EpubExtractor
from .html import HtmlExtractor
from .mail import MailExtractor
from .ocr import RapidOcrExtractor, TesseractExtractor
from .pdf import PdfExtractor, PdfTablesExtractor
from .pptx import PptxExtractor
from .svg import SvgExtractor
from .text import TextExtractor
from .xlsx import XlsxExtractor

logger = logging.getLogger(__name__)

AUTO = "auto"
GROUP = "osii.extractors"
BUILTIN: tuple[type[Extractor], ...] = (
    TextExtractor, HtmlExtractor, PdfExtractor, TesseractExtractor, RapidOcrExtractor, DocxExtractor, PptxExtractor,
    XlsxExtractor, MailExtractor, EpubExtractor, SvgExtractor, PdfTablesExtractor,
)  # fmt: skip


@functools.cache
def extractors() -> Mapping[str, Extractor]:
    """Every extractor by name, in order of preference: built in first, then those of installed packages."""
    found = {kind.name: kind() for kind in BUILTIN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            extractor = point.load()()
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything, and the others are needed
            logger.warning("Extractor %s (%s) cannot be loaded: %s", point.name, point.value, error)
            continue
        if not isinstance(extractor, Extractor) or SLUG.fullmatch(extractor.name) is None or extractor.name in found:
            logger.warning(
                "Extractor %s (%s) is not taken: wrong kind, bad name or name taken", point.name, point.value
            )
            continue
        found[extractor.name] = extractor
    return found


def declaring(media_type: str) -> list[Extractor]:
    """The extractors that say they read ``media_type``, in order of preference."""
    return [extractor for extractor in extractors().values() if extractor.declares(media_type)]


def named(name: str) -> Extractor:
    """The extractor called ``name``. Raises ExtractorRefused when there is none, or it is not ready."""
    extractor = extractors().get(name)
    if extractor is None:
        known = ", ".join((AUTO, *extractors()))
        raise ExtractorRefused("unknown_extractor", f"there is no extractor {name!r} (known: {known})")
    lack = extractor.ready()
    if lack:
        raise ExtractorRefused("extractor_not_ready", f"{name}: {lack}")
    return extractor


def described() -> list[dict[str, Any]]:
    """What pages, `doctor` and the API show of each extractor: {name, version, label, media_types, options, missing}.

    ``options`` = {name: {default, help, choices}}; ``missing`` is "" when it can run.
    """
    return [
        {
            "name": extractor.name,
            "version": extractor.version,
            "label": extractor.label,
            "media_types": list(extractor.media_types),
            "options": {name: option.to_dict() for name, option in extractor.options.items()},
            "missing": extractor.ready(),
        }
        for extractor in extractors().values()
    ]
