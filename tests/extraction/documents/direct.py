"""Extractors called in this process, without store and database: what they write is validated as the core does."""

import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.documents import validation
from extraction.documents.bundle import MANIFEST, PROVENANCE, TEXT, Bundle
from extraction.documents.extractors import registry
from extraction.documents.extractors.base import SourceFile
from extraction.documents.media import HEAD_BYTES, media_type

SAMPLES = Path(__file__).resolve().parents[3] / "osii" / "samples" / "documents" / "formats"


@dataclass(frozen=True)
class Extracted:
    folder: Path
    text: str
    rows: list[dict[str, Any]]
    provenance: dict[str, Any]

    def of(self, type: str) -> list[str]:
        """The texts of the segments of a type."""
        return [self.said(row) for row in self.rows if row["kind"] == "text" and row["type"] == type]

    def said(self, row: dict[str, Any]) -> str:
        return self.text[row["span"]["char_start"] : row["span"]["char_end"]]

    def artifact(self, name: str) -> str:
        return (self.folder / "artifacts" / name).read_text(encoding="utf-8")


def type_of(path: Path) -> str:
    data = path.read_bytes()
    return media_type(path.name, data[:HEAD_BYTES], data[-HEAD_BYTES:])


def extract(name: str, path: Path, folder: Path, media_type: str = "", **options: Any) -> Extracted:
    """Raises ExtractionFailed as the extractor or the validation does."""
    extractor = registry.extractors()[name]
    target = Path(tempfile.mkdtemp(dir=folder)) / "bundle"
    bundle = Bundle(target)
    extractor.extract(SourceFile(path, path.name, media_type or type_of(path)), bundle, extractor.resolve(options))
    claimed = bundle.close(extractor.name, extractor.version, options)
    assert validation.validate(target, claimed) == claimed
    return Extracted(
        target,
        (target / TEXT).read_text(encoding="utf-8"),
        list(validation.rows(target / MANIFEST)),
        tomllib.loads((target / PROVENANCE).read_text(encoding="utf-8")),
    )
