"""The embedders that OSII_EMBEDDER can name. Each is made once per process, on first use, and stays warm."""

from collections.abc import Callable
from pathlib import Path

from .base import Embedder, EmbedderSpec, EmbeddingError, UnusableVectors

__all__ = ["REGISTRY", "Embedder", "EmbedderSpec", "EmbeddingError", "UnusableVectors"]


def _minilm(_home: Path) -> Embedder:
    from .local_model import minilm

    return minilm()


def _embeddinggemma(home: Path) -> Embedder:
    from .local_model import embeddinggemma

    return embeddinggemma(home / "models" / "embeddinggemma-300m")


def _endpoint(_home: Path) -> Embedder:
    from .endpoint import endpoint

    return endpoint()


def _hashing(_home: Path) -> Embedder:
    from .hashing import HashingEmbedder

    return HashingEmbedder()


REGISTRY: dict[str, Callable[[Path], Embedder]] = {
    "minilm": _minilm,
    "embeddinggemma": _embeddinggemma,
    "endpoint": _endpoint,
    "hashing": _hashing,
}
"""Name → factory that takes OSII_HOME. A factory finds the model and describes it; weights load on the first text."""
