"""The list of shards that newer ChatGPT exports carry, to notice a shard that did not come along."""

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from .records import Problem
from .sources import Folder, Source

NAME = "export_manifest.json"
_SHARD = re.compile(r"conversations(-\d+)?\.json")
_LARGEST = 16 * 1024 * 1024


def manifest_problems(folder: Folder) -> Iterator[Problem]:
    """A problem for each shard that a manifest in the folder names and that is not beside it."""
    for source in folder.files:
        if source.name != NAME or source.size > _LARGEST:
            continue
        present = {other.name for other in folder.files if other.folder == source.folder}
        for shard in sorted(_shards(_read(source)) - present):
            yield Problem(source.label, "", f"it names {shard}, which is missing", "unpack the whole export")


def _read(source: Source) -> Any:
    try:
        with source.open() as stream:
            return json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None


def _shards(value: Any) -> set[str]:
    """The names of shards anywhere in the manifest; its layout has changed before."""
    if isinstance(value, str):
        name = PurePosixPath(value).name
        return {name} if _SHARD.fullmatch(name) else set()
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return set().union(*map(_shards, value)) if isinstance(value, list) else set()
