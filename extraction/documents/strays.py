"""What lies in the store and belongs to nothing: named, never deleted."""

import os
from collections.abc import Iterator
from pathlib import Path

from ..models import Document
from .bundle import ARTIFACTS, MANIFEST, PROVENANCE, TEXT
from .ids import is_file_id
from .mirror import Difference
from .sources import shown
from .store import INDEX, META, REMOVING, SOURCE, VERSIONS, Store

OUTPUTS = {"syntheses", "enrichments", "chunks"}
"""Folders of what higher apps made of versions, as <method>--<extraction_id>.<suffix>."""
OBJECT = {META, TEXT, MANIFEST, PROVENANCE, ARTIFACTS, SOURCE, VERSIONS, REMOVING} | OUTPUTS


def beside(store: Store) -> Iterator[Difference]:
    """Entries of objects/ that are no document."""
    for name in sorted(os.listdir(store.objects)):  # noqa: PTH208 - names alone, of very many
        if not is_file_id(name):
            yield Difference(f"objects/{shown(name)}", "is not the folder of a document", healed=False)


def inside(store: Store, document: Document) -> Iterator[Difference]:
    """Entries of a document's folder that nothing put there, and outputs of versions that the document has not."""
    directory = store.object_dir(document.pk)
    if not directory.is_dir():
        return
    versions = set(document.versions.values_list("pk", flat=True))
    for path in sorted(directory.iterdir()):
        if path.name not in OBJECT:
            yield _stray(document, directory, path, "does not belong in the folder of a document")
        elif path.name in OUTPUTS and path.is_dir():
            for file in sorted(path.iterdir()):
                if version_of(file) not in versions:
                    yield _stray(document, directory, file, "is an output of a version that is not there")
        elif path.name == VERSIONS and path.is_dir():
            for file in sorted(path.iterdir()):
                if not file.is_dir() and file.name != INDEX:
                    yield _stray(document, directory, file, "does not belong among the versions")


def _stray(document: Document, directory: Path, path: Path, what: str) -> Difference:
    return Difference(document.pk, f"{shown(path.relative_to(directory))} {what}", healed=False)


def version_of(path: Path) -> str:
    """The extraction id in the name of an output's file, "" when there is none."""
    return path.name.split(".")[0].rpartition("--")[2]


def output_files(directory: Path, extraction_id: str) -> Iterator[Path]:
    """Files of outputs of one version in the folder of its document."""
    for name in sorted(OUTPUTS):
        if (directory / name).is_dir():
            yield from (path for path in (directory / name).iterdir() if version_of(path) == extraction_id)
