"""results.json: the latest figures of each benchmark, of the quick ones and of the full ones, with their date and machine."""

import json
from pathlib import Path
from typing import Any

QUICK, FULL = "quick", "full"

Figures = dict[str, dict[str, dict[str, Any]]]
"""Part → benchmark → {measured_at, seconds, machine, results}."""


def read(path: Path) -> Figures:
    """What is recorded; nothing where there is no file, or one of another form."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        found = {}
    return {part: found[part] if isinstance(found.get(part), dict) else {} for part in (QUICK, FULL)}


def keep(path: Path, part: str, name: str, figures: dict[str, Any]) -> None:
    """Put one benchmark's figures in place of its earlier ones; all others stay as they are."""
    known = read(path)
    known[part][name] = figures
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)
