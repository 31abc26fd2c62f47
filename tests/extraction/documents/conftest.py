"""A store of its own for each test, and extractors that misbehave."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from extraction.documents import services
from extraction.documents.extractors import registry
from extraction.documents.store import Store, library_store
from extraction.models import ExtractionVersion

from .extractors import ALL


@pytest.fixture
def store(settings, tmp_path: Path) -> Store:
    settings.OSII_HOME = tmp_path / "home of osii"
    return library_store()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Make a file: `write("a.txt", "text")`."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.fixture
def add(store: Store, write) -> Callable[..., str]:
    """Add a file and return its document's id."""
    return lambda name, content: services.add_file(write(name, content)).file_id


@pytest.fixture
def bad_extractors(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "BUILTIN", (*registry.BUILTIN, *ALL))
    registry.extractors.cache_clear()
    yield
    registry.extractors.cache_clear()


@pytest.fixture
def extracted(add, bad_extractors) -> Callable[..., ExtractionVersion]:
    """Add a file and extract it: the primary version."""
    return lambda name="notes.txt", content="One line.\n\nAnother.\n": services.extract(add(name, content))


def tree(root: Path) -> dict[str, bytes]:
    """Every file under ``root`` with its bytes, but for the locks and the marks of what was cut off or refused."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.parent.name not in {"locks", "unfinished"}
    }
