"""The bundle that an extractor writes: text.txt, manifest.jsonl, provenance.toml, artifacts/.

Runs in the child process: no Django here. Spans are counted in characters (code points) of text.txt.
"""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import PIPELINE_VERSION
from .errors import ExtractionFailed
from .files import to_toml

TEXT, MANIFEST, PROVENANCE, ARTIFACTS = "text.txt", "manifest.jsonl", "provenance.toml", "artifacts"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a bundle holds: the writer claims it, the core counts it again."""

    text_sha256: str
    text_chars: int
    manifest_records: int

    def to_dict(self) -> dict[str, str | int]:
        return asdict(self)


class Bundle:
    """Writes one bundle into ``directory``, text first, in one pass."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tools: dict[str, str] = {"python": platform.python_version()}
        self.source: dict[str, Any] = {}
        self.errors: list[str] = []
        self.units_attempted = 0
        self.units_completed = 0
        self._chars = 0
        self._segments = 0
        self._artifacts = 0
        self._sha = hashlib.sha256()
        directory.mkdir(parents=True)
        self._text = (directory / TEXT).open("xb")
        self._manifest = (directory / MANIFEST).open("x", encoding="utf-8", newline="\n")

    def write(self, text: str) -> tuple[int, int]:
        """Append to text.txt; returns where it stands, (char_start, char_end)."""
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise ExtractionFailed(
                "lone_surrogate", f"character {self._chars + error.start + 1} of the text is half a surrogate pair"
            ) from None
        self._text.write(data)
        self._sha.update(data)
        start = self._chars
        self._chars += len(text)
        return start, self._chars

    def segment(
        self, start: int, end: int, *, type: str, origin: Mapping[str, Any], related: Sequence[str] = (), **more: Any
    ) -> str:
        """Describe a piece of the written text; returns its id. ``origin`` = {source_type, unit_type, page, bbox, …}."""
        self._segments += 1
        identity = f"seg-{self._segments:06d}"
        row = {"kind": "text", "id": identity, "path": TEXT, "type": type, "span": _span(start, end)}
        self._row({**row, "source_origin": dict(origin), "related_ids": list(related), **more})
        return identity

    def artifact(
        self,
        name: str,
        data: bytes,
        *,
        kind: str,
        type: str,
        origin: Mapping[str, Any],
        span: tuple[int, int] | None = None,
        related: Sequence[str] = (),
    ) -> str:
        """Keep a file beside the text (a table, an image), ``name`` relative to artifacts/; returns its id."""
        self._artifacts += 1
        identity = f"artifact-{self._artifacts:06d}"
        path = self.directory / ARTIFACTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
        row: dict[str, Any] = {"kind": kind, "id": identity, "path": f"{ARTIFACTS}/{name}", "type": type}
        row |= {"span": _span(*span)} if span else {}
        self._row({**row, "source_origin": dict(origin), "related_ids": list(related)})
        return identity

    def close(self, extractor: str, version: str, options: Mapping[str, Any]) -> Summary:
        """Write provenance.toml and say what the bundle holds."""
        self._text.close()
        self._manifest.close()
        (self.directory / ARTIFACTS).mkdir(exist_ok=True)
        provenance = {
            "provenance": {
                "generated_utc": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
                "pipeline_version": PIPELINE_VERSION,
                "status": "succeeded",
            },
            "extractor": {"name": extractor, "version": version},
            "source": self.source,
            "tools": self.tools,
            "config": dict(options),
            "counts": {
                "segments_written": self._segments,
                "artifacts_written": self._artifacts,
                "units_attempted": self.units_attempted,
                "units_completed": self.units_completed,
            },
            "errors": {"messages": self.errors},
        }
        (self.directory / PROVENANCE).write_bytes(to_toml(provenance))
        return Summary(self._sha.hexdigest(), self._chars, self._segments + self._artifacts)

    def _row(self, row: Mapping[str, Any]) -> None:
        self._manifest.write(json.dumps(row, ensure_ascii=False) + "\n")


def _span(start: int, end: int) -> dict[str, int]:
    return {"char_start": start, "char_end": end}
